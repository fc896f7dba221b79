package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/kube"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/reason"
)

// TestMachinesOfLostNodesWaitForAPerson deletes on the real control plane the Node objects of 15 of 20 machines that go on running, and whose kubelets do not come
// back. None goes in the hour after it, which is 15 seconds here, and at most one in the next. The group says why, and what a person can do: once he has
// acknowledged it, the machines go one by one.
func TestMachinesOfLostNodesWaitForAPerson(t *testing.T) {
	const machines, lost, after = 20, 15, 3 // after so many have gone the rest of them will
	g := group{name: "shared", size: d2s, max: machines}
	o := options{dir: filepath.Join(t.TempDir(), "playground"), script: shortStory()}
	o.script.unneeded = 10 * time.Minute // nothing is idle for long enough
	o.script.lost, o.script.provision, o.script.window = 15*time.Second, 12*time.Second, 2*time.Second
	s, ctx, wait := onGroups(t, o, g)
	p := s.playground
	if err := s.createDeployment(ctx, onPool(pod("load", "1500m", "1Gi"), g), machines); err != nil {
		t.Fatal(err)
	}
	wait("the machines", func() (string, bool) {
		load := p.observer.running("load")
		return fmt.Sprintf("%d pods run", load), load == machines
	})
	if err := s.deleteDeployment(ctx, "load"); err != nil {
		t.Fatal(err)
	}
	wait("the pods to go", func() (string, bool) {
		load := p.observer.running("load")
		return fmt.Sprintf("%d pods run", load), load == 0
	})

	wait("the machines to be older than new ones may be without a node", func() (string, bool) {
		age := time.Since(newestMachine(p.azure.Machines()))
		return fmt.Sprintf("the newest is %s old", age.Round(time.Second)), age > o.script.provision
	})
	began, deleted := time.Now(), 0
	for _, n := range p.observer.nodesNow() {
		if deleted == lost || !strings.HasPrefix(n.name, g.name) {
			continue
		}
		if err := p.client.CoreV1().Nodes().Delete(ctx, n.name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		deleted++
	}
	hours := func(n int) bool { return time.Since(began) > time.Duration(n)*o.script.lost }
	wait("an hour", func() (string, bool) { return s.standing(), hours(1) })
	if left := p.staying(g); left != machines {
		t.Errorf("%d of %d machines are there an hour after %d nodes were lost, want all", left, machines, lost)
	}
	wait("the next hour", func() (string, bool) { return s.standing(), hours(2) })
	left := p.staying(g)
	if left < machines-1 {
		t.Errorf("%d of %d machines are there two hours after %d nodes were lost, want at most one gone", left, machines, lost)
	}
	said := p.explained(t, reason.Group(g.name))
	if !strings.Contains(said, "nodes lost (Node object or heartbeat gone): 15; their machines stay (S-43)") || !strings.Contains(said, "sluice acknowledge "+g.name) {
		t.Errorf("the group does not say why, and what ends it:\n%s", said)
	}

	if err := (kube.Operator{Client: p.client}).Acknowledge(ctx, cluster.GroupID(g.name), time.Now()); err != nil {
		t.Fatal(err)
	}
	known := time.Now()
	wait("the machines to go", func() (string, bool) { return s.standing(), p.staying(g) <= left-after })
	if least := (after - 1) * o.script.window; time.Since(known) < least {
		t.Errorf("%d machines are gone after %s, want one within each %s at most", after, time.Since(known), o.script.window)
	}
}

// newestMachine is when the youngest machine was created.
func newestMachine(all []azuresim.MachineState) (at time.Time) {
	for _, m := range all {
		if m.TimeCreated.After(at) {
			at = m.TimeCreated
		}
	}
	return at
}

// staying is how many machines of a group nobody deletes.
func (p *playground) staying(g group) (n int) {
	for _, m := range p.azure.Machines() {
		if m.ScaleSet == g.name && m.ProvisioningState != "Deleting" {
			n++
		}
	}
	return n
}

// explained is what sluice itself says of a thing.
func (p *playground) explained(t *testing.T, about reason.Ref) string {
	t.Helper()
	answer, err := http.Get(p.sluiceURL + "/api/v1/explain?kind=" + string(about.Kind) + "&name=" + about.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var x report.Explanation
	if err := json.NewDecoder(answer.Body).Decode(&x); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("explain %s: %s, %v", about, answer.Status, err)
	}
	var text strings.Builder
	if err := x.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}
