package deploy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// TestRBACGrantsWhatIsListedHereAndNoMore makes every change of sluice's rights a change in two places: whoever grants one says so
// twice. That none is missing is shown by the playground, where sluice has these and no others.
func TestRBACGrantsWhatIsListedHereAndNoMore(t *testing.T) {
	want := map[string][]string{
		"ClusterRole sluice": {
			"create events", "create pods/eviction", "delete nodes", "get nodes", "get pods", "list daemonsets.apps", "list namespaces",
			"list nodes", "list poddisruptionbudgets.policy", "list pods", "patch nodes", "watch daemonsets.apps", "watch namespaces",
			"watch nodes", "watch poddisruptionbudgets.policy", "watch pods",
		},
		"Role sluice": {
			"create configmaps", "create leases.coordination.k8s.io", "get configmaps named cluster-autoscaler-status",
			"get leases.coordination.k8s.io named cluster-autoscaler", "list configmaps named cluster-autoscaler-priority-expander", "update configmaps named cluster-autoscaler-status",
			"update leases.coordination.k8s.io named cluster-autoscaler", "watch configmaps named cluster-autoscaler-priority-expander",
		},
	}
	got := map[string][]string{}
	for documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(RBAC))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var role rbacv1.Role // a ClusterRole has the same fields
		if err := yaml.Unmarshal(document, &role); err != nil {
			t.Fatal(err)
		}
		if len(role.Rules) > 0 {
			got[role.Kind+" "+role.Name] = rights(role.Rules)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rights (-want +got):\n%s", diff)
	}
}

// rights are the rules one by one, sorted.
func rights(rules []rbacv1.PolicyRule) []string {
	var all []string
	for _, r := range rules {
		names := r.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, verb := range r.Verbs {
			for _, group := range r.APIGroups {
				for _, resource := range r.Resources {
					for _, name := range names {
						right := verb + " " + resource
						if group != "" {
							right += "." + group
						}
						if name != "" {
							right += " named " + name
						}
						all = append(all, right)
					}
				}
			}
		}
	}
	slices.Sort(all)
	return all
}
