package app

import "testing"

func TestRightsAreAskedForWhereTheOperatorRunsIt(t *testing.T) {
	leases := 0
	for _, a := range neededRights(Election{Namespace: "autoscaling", Name: "sluice"}) {
		if a.Namespace != "" && a.Namespace != "autoscaling" {
			t.Errorf("%s %s is asked for in namespace %s", a.Verb, a.Resource, a.Namespace)
		}
		if a.Resource == "leases" && a.Name != "" {
			leases++
			if a.Name != "sluice" {
				t.Errorf("%s %s is asked for by the name %s", a.Verb, a.Resource, a.Name)
			}
		}
	}
	if leases == 0 {
		t.Error("no lease is asked for by name: the test shows nothing")
	}
	for _, a := range neededRights(Election{}) {
		if a.Namespace != "" && a.Namespace != "kube-system" {
			t.Errorf("%s %s is asked for in namespace %s", a.Verb, a.Resource, a.Namespace)
		}
	}
}
