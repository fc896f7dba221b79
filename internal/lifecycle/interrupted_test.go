package lifecycle_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/lifecycle"
)

// interruptedUp is an up that a person interrupts when it says something; the error says that it was.
func (w *world) interruptedUp(when string) {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	say := w.Say
	w.Say = func(s string) {
		if say(s); strings.Contains(s, when) {
			cancel()
		}
	}
	defer func() { w.Say = say }()
	door, err := lifecycle.NewDoor(w.time())
	w.must(err)
	if _, err := w.Up(ctx, door); err == nil {
		w.Fatalf("up is not interrupted at %q: this shows nothing", when)
	}
}

// left are the ids of what the subscription has in the cluster's group, and of all role assignments.
func (w *world) left() (all []string) {
	w.Helper()
	for path, version := range map[string]string{"/resources": "2021-04-01", rights + "roleAssignments": "2022-04-01"} {
		raw, err := w.Cloud.List(w.Context(), "/subscriptions/"+subscription+path, version, nil)
		w.must(err)
		for _, one := range raw {
			var r struct {
				ID string `json:"id"`
			}
			w.read(one, &r)
			low := strings.ToLower(r.ID)
			if strings.Contains(low, "/resourcegroups/"+w.File.ResourceGroup+"/") || strings.Contains(low, "/roleassignments/") {
				all = append(all, r.ID)
			}
		}
	}
	return all
}

// TestDownEndsADeploymentThatIsUnderWay has an up interrupted early and late: one down leaves nothing, whether it may cancel or has to
// wait.
func TestDownEndsADeploymentThatIsUnderWay(t *testing.T) {
	for _, when := range []string{"networkSecurityGroups render-nodes is ready", "virtualMachineScaleSets render-burst is ready"} {
		for name, c := range map[string]struct {
			fault azuresim.Fault
			want  string
		}{
			"canceled": {azuresim.Fault{Kind: "none"}, "is under way, and is canceled first"},
			"not allowed": {
				azuresim.Fault{Kind: "POST deployments/cancel", Status: 403, Code: "AuthorizationFailed"},
				"is under way, and its end is waited for, since it is not canceled",
			},
		} {
			t.Run(when+" "+name, func(t *testing.T) {
				w := newWorld(t, "k3s")
				w.interruptedUp(when)
				w.sim.Inject(c.fault)
				d, err := w.Demolish(t.Context())
				w.must(err)
				if !d.Underway {
					t.Fatal("the deployment has ended: this shows nothing")
				}
				w.must(w.Down(t.Context(), d))
				if all := strings.Join(w.said, "\n"); !strings.Contains(all, c.want) {
					t.Errorf("nothing says %q in:\n%s", c.want, all)
				}
				if left := w.left(); len(left) > 0 {
					t.Errorf("one down leaves %v", left)
				}
				w.up() // nothing is in its way
			})
		}
	}
}

// TestUpWaitsForWhatIsBeingDeleted has a down interrupted: what is on its way out does not count as there.
func TestUpWaitsForWhatIsBeingDeleted(t *testing.T) {
	for _, what := range []string{"virtualMachineScaleSets/render-agents", "virtualMachines/render-server"} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, "k3s")
			w.up()
			ctx, cancel := context.WithCancel(t.Context())
			r := w.Cloud.(commanding).Cloud.(*azure.Resources)
			wait := r.Wait
			r.Wait = func(ctx context.Context, d time.Duration) error {
				cancel()
				return wait(ctx, d)
			}
			id := "/subscriptions/" + subscription + "/resourceGroups/render/providers/Microsoft.Compute/" + what
			if err := w.Cloud.Delete(ctx, id, computeVersion); err == nil {
				t.Fatal("the deletion is not interrupted: this shows nothing")
			}
			r.Wait = wait
			w.said = nil
			w.up()
			w.told(what[strings.LastIndexByte(what, '/')+1:] + " is being deleted, and its end is waited for")
			if _, found := w.there("agents"); !found {
				t.Error("after up there is no scale set")
			}
			if changes, err := w.Diff(t.Context()); err != nil || len(changes) > 0 {
				t.Errorf("after up: %v, %v", changes, err)
			}
		})
	}
}
