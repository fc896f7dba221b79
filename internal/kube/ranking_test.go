package kube

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/kubesim"
)

func TestTheRankingIsReadByNameInItsNamespace(t *testing.T) {
	configMap := func(namespace, name, data string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{"priorities": data}}
	}
	c := &kubesim.Cluster{}
	create(t, c, configMap("kube-system", cluster.RankingName, "10: [a]"), configMap("kube-system", "other", "secret"), configMap("default", cluster.RankingName, "10: [b]"))
	for name, tc := range map[string]struct {
		namespace string
		want      []string
	}{
		"where it is named": {"kube-system", []string{"kube-system/" + cluster.RankingName}},
		"where it is not":   {"kube-public", nil},
		"nowhere":           {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := clientOf(t, c)
				o := NewObserver(client, Options{Besides: Besides{RankingNamespace: tc.namespace}})
				if err := o.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				observed := objects(t, o)
				listed, err := List(t.Context(), client, Besides{RankingNamespace: tc.namespace})
				if err != nil {
					t.Fatal(err)
				}
				for how, all := range map[string]cluster.Objects{"observed": observed, "listed": listed} {
					if d := cmp.Diff(tc.want, keys(all.ConfigMaps)); d != "" {
						t.Errorf("%s (-want +got):\n%s", how, d)
					}
					if r := all.Ranking(); (r != nil) != (tc.want != nil) || r != nil && r.Data["priorities"] != "10: [a]" {
						t.Errorf("%s: the ranking is %v", how, r)
					}
				}
			})
		})
	}
}

func TestAChangedRankingIsSeen(t *testing.T) {
	c := &kubesim.Cluster{}
	synctest.Test(t, func(t *testing.T) {
		o := NewObserver(clientOf(t, c), Options{Besides: Besides{RankingNamespace: "kube-system"}})
		if err := o.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r := objects(t, o).Ranking(); r != nil {
			t.Fatalf("before there is one: %v", r)
		}
		create(t, c, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: cluster.RankingName}, Data: map[string]string{"priorities": "1: [z]"}})
		if r := objects(t, o).Ranking(); r == nil || r.Data["priorities"] != "1: [z]" {
			t.Errorf("after it was made: %v", r)
		}
	})
}
