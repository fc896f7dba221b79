package azuresim

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What is kept of answers is what a server answers that has kept nothing, whatever is done to machines and however time goes by.
func TestWhatIsKeptIsWhatIsThere(t *testing.T) {
	const sets = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets"
	const version = "?api-version=2024-11-01"
	reads := []string{
		sets + version, sets + "/flexible" + version, sets + "/uniform/virtualMachines" + version + "&$expand=instanceView",
		"/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines" + version + "&$expand=instanceView",
	}
	for seed := range uint64(5) {
		luck := rand.New(rand.NewPCG(seed, 1))
		now := time.Date(2026, 5, 1, 22, 0, 0, 0, time.UTC)
		server := func() *Server {
			return &Server{Now: func() time.Time { return now }, Seed: seed, AnyToken: true, Delete: Fixed(40 * time.Second)}
		}
		ask := func(s *Server, method, url, body string) string {
			r := httptest.NewRequest(method, "https://azure.test"+strings.ReplaceAll(url, " ", "%20"), strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer x")
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			return w.Body.String()
		}
		s := server()
		for _, mode := range []string{"Uniform", "Flexible"} {
			d := ScaleSet{Subscription: "s", ResourceGroup: "g", Name: strings.ToLower(mode), Location: "l", Size: "Standard_D4s_v5", OrchestrationMode: mode, Priority: "Spot", Capacity: 2}
			if err := s.AddScaleSet(d); err != nil {
				t.Fatal(err)
			}
		}
		look, seen := 0, []MachineState(nil)
		for range 200 {
			set := []string{"uniform", "flexible"}[luck.IntN(2)]
			machines := s.Machines()
			target := set
			if len(machines) > 0 {
				target = machines[luck.IntN(len(machines))].ID
			}
			switch luck.IntN(8) {
			case 0:
				ask(s, http.MethodPatch, sets+"/"+set+version, `{"sku":{"capacity":`+string(rune('0'+luck.IntN(6)))+`}}`)
			case 1:
				_ = s.Perform(Act{Do: []string{"delete", "deallocate", "start", "protect", "evict"}[luck.IntN(5)], Target: target, Notice: 30 * time.Second, FromScaleIn: true}) // or not
			case 2:
				_ = s.Perform(Act{Do: "touch", Target: set, Updating: 20 * time.Second, At: now.Add(time.Duration(luck.IntN(9)) * time.Second)})
			case 3:
				s.Inject(Fault{MachineError: "AllocationFailed", Times: 1})
			case 4, 5:
				now = now.Add(time.Duration(luck.IntN(60)) * time.Second)
			default:
				if next, under := s.NextChange(); under {
					now = next
				}
			}
			s.Machines() // what is due is done
			fresh := server()
			fresh.store = s.store.clone()
			for _, path := range reads {
				for range 2 { // the second is what was kept
					if d := cmp.Diff(ask(fresh, http.MethodGet, path, ""), ask(s, http.MethodGet, path, "")); d != "" {
						t.Fatalf("seed %d, %s (-there +kept)\n%s", seed, path, d)
					}
				}
			}
			if all, number := s.MachinesSince(look); number != look {
				look, seen = number, all
			}
			if d := cmp.Diff(fresh.Machines(), seen); d != "" {
				t.Fatalf("seed %d (-there +kept)\n%s", seed, d)
			}
		}
	}
}
