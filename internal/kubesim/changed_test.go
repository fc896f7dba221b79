package kubesim

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func names(maps []*corev1.ConfigMap) (all []string) {
	for _, m := range maps {
		all = append(all, m.Name+"="+m.Data["v"])
	}
	return all
}

// TestWhatHasChangedIsToldOnceAndNewest makes, edits and deletes, and asks in between.
func TestWhatHasChangedIsToldOnceAndNewest(t *testing.T) {
	c := &Cluster{}
	put := func(name, v string) {
		t.Helper()
		if _, err := c.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: map[string]string{"v": v}}); err != nil {
			t.Fatal(err)
		}
	}
	put("b", "1")
	put("a", "1")
	there, gone, now, ok := Changed[*corev1.ConfigMap](c, 0)
	if diff := cmp.Diff([]string{"a=1", "b=1"}, names(there)); diff != "" || len(gone) > 0 || !ok {
		t.Errorf("at first (-want +got):\n%s gone %v, remembered %t", diff, names(gone), ok)
	}
	put("brief", "1")
	for v := range 3 {
		if err := Edit(c, "default", "a", func(m *corev1.ConfigMap) { m.Data["v"] = fmt.Sprint(v + 7) }); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"brief", "b"} {
		if err := c.Delete(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	there, gone, now, ok = Changed[*corev1.ConfigMap](c, now)
	if diff := cmp.Diff([]string{"a=9"}, names(there)); diff != "" || !ok {
		t.Errorf("there later (-want +got):\n%s remembered %t", diff, ok)
	}
	if diff := cmp.Diff([]string{"brief=1", "b=1"}, names(gone)); diff != "" {
		t.Errorf("gone later (-want +got):\n%s", diff)
	}
	if there, gone, _, ok = Changed[*corev1.ConfigMap](c, now); len(there)+len(gone) > 0 || !ok {
		t.Errorf("nothing happened, and it tells %v and %v", names(there), names(gone))
	}
	for i := range 2 * historyLimit {
		put(fmt.Sprint("many-", i), "")
	}
	if _, _, _, ok = Changed[*corev1.ConfigMap](c, now); ok {
		t.Error("it claims to remember more than it keeps")
	}
}
