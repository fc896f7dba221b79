package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/reason"
)

// same fails the test when a text differs from what is wanted.
func same(t *testing.T, what, got, want string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestExplainSaysWhatBecomesOfAThingAndWhy(t *testing.T) {
	idle := newWorld()
	idle.group("agents", 1, 3, 2)
	idle.pod("busy", "3", "agents-0")
	idle.kept.Removable = map[string]time.Time{"agents-1": noon.Add(-4 * time.Minute)}

	for name, c := range map[string]struct {
		world  *world
		result memory.Result
		about  reason.Ref
	}{
		"a pod for which a group grows":   {growing(), accepted(), reason.Pod("default", "web-0")},
		"a pod that no group can hold":    {growing(), accepted(), reason.Pod("default", "huge-0")},
		"a pod that runs":                 {growing(), accepted(), reason.Pod("default", "busy")},
		"a growth that the guard refused": {growing(), refused(), reason.Group("agents")},
		"a node whose time has not come":  {idle, accepted(), reason.Node("agents-1")},
		"a machine that is a node":        {idle, accepted(), reason.Instance("agents", "1")},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := Explain(&out, c.world.decide(c.result), c.about); err != nil {
				t.Fatal(err)
			}
			golden(t, out.String())
		})
	}
}

// TestExplainTellsOfABusyNodeFirstThatItIsSilentOrOff for its use is no reason to look at it then.
func TestExplainTellsOfABusyNodeFirstThatItIsSilentOrOff(t *testing.T) {
	w := newWorld()
	g := w.group("agents", 0, 3, 2)
	w.pod("busy", "3", "agents-0")
	w.pod("other", "3", "agents-1")
	e := w.decide(accepted())
	codes := func() (all []reason.Code) {
		x, err := NewExplanation(e, reason.Node("agents-0"))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range x.Because {
			all = append(all, r.Code)
		}
		return all
	}
	if got := codes(); len(got) != 1 || got[0] != reason.NodeBusy {
		t.Fatalf("of a node at work: %v", got)
	}
	n := *w.objects.Nodes[0]
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, LastTransitionTime: metav1.NewTime(w.at.Add(-time.Minute))}}
	w.objects.Nodes[0] = &n
	g.Instances[0].State = cluster.StateStopped
	e = w.decide(accepted())
	for i, v := range e.Plan.Verdicts {
		if v.Subject.Kind == reason.KindGroup {
			e.Plan.Verdicts[i].Because = append([]reason.Reason{reason.New(reason.GroupPaused, v.Subject, "until", "12:30")}, v.Because...)
		}
	}
	if got, want := codes(), []reason.Code{reason.MachineStopped, reason.KubeletSilent, reason.GroupPaused, reason.NodeBusy}; !slices.Equal(got, want) {
		t.Errorf("of a machine that is off: %v, want %v", got, want)
	}
}

func TestMistypedNamesAreAnsweredWithNamesLikeThem(t *testing.T) {
	e := growing().decide(accepted())
	for name, c := range map[string]struct {
		about reason.Ref
		want  string
	}{
		"a pod without its namespace": {reason.Ref{Kind: reason.KindPod, Name: "web-0"}, `no pod "web-0" in this cycle; did you mean default/web-0?`},
		"a node with a typing error":  {reason.Node("agemts-1"), `no node "agemts-1" in this cycle; did you mean agents-1, agents-0?`},
		"a machine without its group": {reason.Ref{Kind: reason.KindInstance, Name: "1"}, `no instance "1" in this cycle; did you mean agents/1?`},
		"something else altogether":   {reason.Group("databases"), `no group "databases" in this cycle, and none of the 1 known has a name like it`},
		"a kind of which there is none": {
			reason.Ref{Kind: reason.KindCluster, Name: "x"}, `no cluster "x" in this cycle; it knows no cluster at all`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := Explain(&out, e, c.about)
			var missing *NotFoundError
			if !errors.As(err, &missing) {
				t.Fatalf("Explain = %v, want a NotFoundError", err)
			}
			same(t, "the sentence", err.Error(), c.want)
			if out.Len() > 0 {
				t.Errorf("wrote %q beside the error", out.String())
			}
		})
	}
}

func TestExplainJSONCarriesCodesAndSentences(t *testing.T) {
	var out bytes.Buffer
	if err := ExplainJSON(&out, growing().decide(failed()), reason.Pod("default", "web-0")); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Outcome string
		Because []struct{ Code, Sentence string }
		Actions []struct {
			Action, Sentence string
			Result           struct{ Status, Kind, Code string }
		}
		Evidence []struct {
			Group          string
			AgeNanoseconds int64
		}
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Outcome != "grows" || len(got.Because) != 1 || got.Because[0].Code != "NeedsMachine" || got.Because[0].Sentence != "group agents grows for it" {
		t.Errorf("outcome %q because %v", got.Outcome, got.Because)
	}
	if len(got.Actions) != 1 || got.Actions[0].Result.Status != "failed" || got.Actions[0].Result.Code != "QuotaExceeded" || got.Actions[0].Sentence != "grow group agents 2 -> 3" {
		t.Errorf("actions %v", got.Actions)
	}
	if len(got.Evidence) != 1 || got.Evidence[0].AgeNanoseconds != (2*time.Second).Nanoseconds() {
		t.Errorf("evidence %v", got.Evidence)
	}
}
