package cluster_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
)

var noon = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

func TestPausesEndByThemselves(t *testing.T) {
	for name, c := range map[string]struct {
		says, until string
		paused      bool
	}{
		"nothing is said":                 {"", "", false},
		"a group":                         {`{"agents":"2026-01-05T13:00:00Z"}`, "2026-01-05T13:00:00Z", true},
		"a group in another letter case":  {`{"Agents":"2026-01-05T13:00:00Z"}`, "2026-01-05T13:00:00Z", true},
		"another group":                   {`{"render":"2026-01-05T13:00:00Z"}`, "", false},
		"all groups":                      {`{"*":"2026-01-05T14:00:00+01:00"}`, "2026-01-05T13:00:00Z", true},
		"both, of which the last counts":  {`{"*":"2026-01-05T12:30:00Z","agents":"2026-01-05T12:40:00Z"}`, "2026-01-05T12:40:00Z", true},
		"one that is over":                {`{"agents":"2026-01-05T12:00:00Z"}`, "", false},
		"what cannot be read stops all":   {`agents`, "somebody corrects annotation sluice.dev/paused of namespace kube-system", true},
		"a time that is none stops all":   {`{"agents":"tomorrow"}`, "somebody corrects annotation sluice.dev/paused of namespace kube-system", true},
		"an empty time has no end either": {`{"agents":"0001-01-01T00:00:00Z"}`, "somebody corrects annotation sluice.dev/paused of namespace kube-system", true},
	} {
		t.Run(name, func(t *testing.T) {
			o := cluster.Objects{Namespaces: []*corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{
				Name: cluster.PauseNamespace, Annotations: map[string]string{cluster.PauseAnnotation: c.says},
			}}}}
			until, paused := o.Pauses().Of("agents", noon)
			if paused != c.paused || paused && until != c.until {
				t.Errorf("paused %t until %s", paused, until)
			}
		})
	}
}

func TestAPauseLeavesTheOthersAlone(t *testing.T) {
	p := cluster.Pauses{"render": noon.Add(time.Hour), "old": noon.Add(-time.Hour)}
	p = p.With("agents", noon.Add(2*time.Hour), noon)
	if diff := cmp.Diff(cluster.Pauses{"render": noon.Add(time.Hour), "agents": noon.Add(2 * time.Hour)}, p); diff != "" {
		t.Error("paused (-want +got)\n" + diff)
	}
	if p = p.With("AGENTS", time.Time{}, noon).With("render", noon, noon); p.Annotation() != "" {
		t.Errorf("resumed: %v", p)
	}
}

func TestAHoldEndsByItself(t *testing.T) {
	for says, want := range map[string]string{
		"2026-01-05T12:00:01Z": "2026-01-05T12:00:01Z", "2026-01-05T12:00:00Z": "", "90m": "2026-01-05T12:30:00Z", "1h": "", "true": "the annotation is taken off",
	} {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour)), Annotations: map[string]string{cluster.HoldAnnotation: says}}}
		until, held := cluster.Held(n, noon)
		if held != (want != "") || held && until != want {
			t.Errorf("%s: held %t until %s, want %q", says, held, until, want)
		}
	}
}
