package azure_test

import "testing"

func TestEveryMachineSaysItsSize(t *testing.T) {
	for _, orchestration := range []string{"Uniform", "Flexible"} {
		s := set("agents", 2)
		s.OrchestrationMode = orchestration
		w := newWorld(t, s)
		w.open(w.options("0:9:agents"))
		for _, in := range w.groups()["agents"].Instances {
			if in.Size != "Standard_D4s_v5" {
				t.Errorf("%s: machine %s has size %q", orchestration, in.ID, in.Size)
			}
		}
	}
}
