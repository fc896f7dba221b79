package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/internal/azuresim"
)

// recorder writes down what it is told to switch.
type recorder struct {
	mu    sync.Mutex
	done  []string
	fails error
}

func (r *recorder) record(format string, args ...any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = append(r.done, fmt.Sprintf(format, args...))
	return r.fails
}

func (r *recorder) PowerOn(m Machine) error {
	return r.record("on %s %s %s", m.Name, m.Address, m.Data)
}

func (r *recorder) PowerOff(ctx context.Context, id string) error {
	if ctx.Err() != nil {
		return errors.New("no patience with " + id)
	}
	return r.record("off %s", id[strings.LastIndexByte(id, '/')+1:])
}

func (r *recorder) Delete(id string) error {
	return r.record("delete %s", id[strings.LastIndexByte(id, '/')+1:])
}

// followedAzure is an Azure with two agents that is followed step by step.
type followedAzure struct {
	*azuresim.Server
	*recorder
	t        *testing.T
	now      time.Time
	follower *follower
}

const setPath = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/agents"

func follow(t *testing.T) *followedAzure {
	a := &followedAzure{t: t, recorder: &recorder{}, now: time.Date(2026, 5, 1, 22, 0, 0, 0, time.UTC)}
	a.Server = &azuresim.Server{
		Now: func() time.Time { return a.now }, AnyToken: true, Boot: azuresim.Fixed(time.Minute), Delete: azuresim.Fixed(time.Minute),
	}
	if err := a.AddScaleSet(azuresim.ScaleSet{Subscription: "s", ResourceGroup: "g", Name: "agents", Location: "westeurope", Size: "Standard_D2s_v5"}); err != nil {
		t.Fatal(err)
	}
	a.follower = &follower{azure: a.Server, to: a.recorder, say: t.Logf, machines: map[string]*followed{}}
	a.ask("PATCH", "", `{"sku":{"capacity":2},"properties":{"virtualMachineProfile":{"osProfile":{"customData":"aGVsbG8="}}}}`)
	return a
}

func (a *followedAzure) ask(method, path, body string) {
	a.t.Helper()
	r, err := http.NewRequestWithContext(a.t.Context(), method, "https://management.azure.com"+setPath+path+"?api-version=2024-07-01", strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer anybody")
	resp, err := a.Client("").Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode >= 400 {
		a.t.Fatalf("%s %s: %s %s", method, path, resp.Status, text)
	}
}

// then looks after so much time and compares what was switched since the last look.
func (a *followedAzure) then(after time.Duration, want ...string) {
	a.t.Helper()
	a.now = a.now.Add(after)
	a.follower.look()
	a.follower.working.Wait()
	slices.Sort(a.done)
	if diff := cmp.Diff(want, a.done); diff != "" {
		a.t.Errorf("after %v (-want +got):\n%s", after, diff)
	}
	a.done = nil
}

func TestMachinesAreWhatAzureSaysThatTheyAre(t *testing.T) {
	a := follow(t)
	on0, on1 := "on agents000000 10.0.0.4 hello", "on agents000001 10.0.0.5 hello"
	a.then(0, on0, on1)
	a.then(2 * time.Minute) // they are provisioned: nothing is to be switched

	a.ask("POST", "/virtualMachines/0/powerOff", "")
	a.then(0, "off 0")
	a.then(2 * time.Minute)
	a.ask("POST", "/virtualMachines/0/start", "")
	a.then(0, on0)
	a.then(2 * time.Minute)

	a.ask("POST", "/virtualMachines/0/restart", "")
	a.then(0, "off 0", on0)
	a.then(2 * time.Minute)

	a.ask("POST", "/virtualMachines/1/deallocate", "")
	a.then(0, "off 1")
	a.ask("DELETE", "/virtualMachines/1", "")
	a.then(0)
	a.then(2*time.Minute, "delete 1")
	a.ask("DELETE", "/virtualMachines/0", "")
	a.then(0, "off 0")
	a.then(2*time.Minute, "delete 0")
}

func TestAMachineThatFailsToBootIsToldAndNotTriedAgain(t *testing.T) {
	a := follow(t)
	a.fails = errors.New("no")
	said := 0
	a.follower.say = func(string, ...any) {
		a.mu.Lock()
		defer a.mu.Unlock()
		said++
	}
	a.then(0, "on agents000000 10.0.0.4 hello", "on agents000001 10.0.0.5 hello")
	a.then(2 * time.Minute)
	if said != 2 {
		t.Errorf("said %d times that a machine did not boot, want 2", said)
	}
}
