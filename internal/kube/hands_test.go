package kube

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/kubesim"
)

func TestWhatAPersonAsksForIsAnAnnotation(t *testing.T) {
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	c := &kubesim.Cluster{}
	create(t, c, node("a"))
	h := Operator{clientOf(t, c)}
	paused := func() string {
		n, _ := kubesim.Find[*corev1.Namespace](c, "", cluster.PauseNamespace)
		return n.Annotations[cluster.PauseAnnotation]
	}
	held := func() string {
		n, _ := kubesim.Find[*corev1.Node](c, "", "a")
		return n.Annotations[cluster.HoldAnnotation]
	}
	pause := func(group cluster.GroupID, until time.Time) {
		t.Helper()
		if _, err := h.Pause(t.Context(), group, until, now); err != nil {
			t.Error(err)
		}
	}
	pause("agents", now.Add(time.Hour))
	pause("*", now.Add(2*time.Hour))
	if got := paused(); got != `{"*":"2026-01-05T14:00:00Z","agents":"2026-01-05T13:00:00Z"}` {
		t.Errorf("paused: %s", got)
	}
	if pause("agents", time.Time{}); paused() != `{"*":"2026-01-05T14:00:00Z"}` {
		t.Errorf("after resuming a group: %s", paused())
	}
	pause("agents", now.Add(time.Hour))
	if pause("*", time.Time{}); paused() != "" {
		t.Errorf("after resuming all: %s", paused())
	}
	edit(t, c, "", cluster.PauseNamespace, func(n *corev1.Namespace) { n.Annotations = map[string]string{cluster.PauseAnnotation: "agents"} })
	if _, err := h.Pause(t.Context(), "agents", now.Add(time.Hour), now); err == nil || !strings.Contains(err.Error(), "resume all first") {
		t.Errorf("what cannot be read: %v", err)
	}
	if pause("*", time.Time{}); paused() != "" {
		t.Errorf("after resuming what could not be read: %s", paused())
	}

	if _, err := h.Hold(t.Context(), "a", now); err != nil || held() != "2026-01-05T12:00:00Z" {
		t.Errorf("held until %q: %v", held(), err)
	}
	if _, err := h.Hold(t.Context(), "a", time.Time{}); err != nil || held() != "" {
		t.Errorf("released, held until %q: %v", held(), err)
	}
	asked := func() string {
		n, _ := kubesim.Find[*corev1.Node](c, "", "a")
		return n.Annotations[cluster.DrainAnnotation]
	}
	if _, err := h.Drain(t.Context(), "a", now); err != nil || asked() != "2026-01-05T12:00:00Z" {
		t.Errorf("asked for at %q: %v", asked(), err)
	}
	if _, err := h.Drain(t.Context(), "a", time.Time{}); err != nil || asked() != "" {
		t.Errorf("not asked for, at %q: %v", asked(), err)
	}
	if _, err := h.Hold(t.Context(), "b", now); err == nil || err.Error() != "there is no node b" {
		t.Errorf("a node that is not there: %v", err)
	}
}

// TestAnAcknowledgementIsAlwaysNews acknowledges losses with clocks that are ahead and behind: sluice heeds what is later than before.
func TestAnAcknowledgementIsAlwaysNews(t *testing.T) {
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	c := &kubesim.Cluster{}
	h := Operator{clientOf(t, c)}
	for _, step := range []struct {
		group cluster.GroupID
		at    time.Time
		want  string
	}{
		{"agents", now, `{"agents":"2026-01-05T12:00:00Z"}`},
		{"agents", now, `{"agents":"2026-01-05T12:00:01Z"}`},
		{"Render", now.Add(time.Hour), `{"Render":"2026-01-05T13:00:00Z","agents":"2026-01-05T12:00:01Z"}`},
		{"render", now, `{"agents":"2026-01-05T12:00:01Z","render":"2026-01-05T13:00:01Z"}`},
		{"*", now, `{"*":"2026-01-05T13:00:02Z"}`},
		{"agents", now, `{"*":"2026-01-05T13:00:02Z","agents":"2026-01-05T13:00:03Z"}`},
	} {
		if err := h.Acknowledge(t.Context(), step.group, step.at); err != nil {
			t.Fatal(err)
		}
		n, _ := kubesim.Find[*corev1.Namespace](c, "", cluster.PauseNamespace)
		if got := n.Annotations[cluster.AcknowledgeAnnotation]; got != step.want {
			t.Errorf("acknowledged %s at %s: %s, want %s", step.group, step.at, got, step.want)
		}
	}
}

func TestAPauseThatCrossesAnotherIsNotLost(t *testing.T) {
	now := time.Now()
	c := &kubesim.Cluster{}
	once := true
	w := writerBehind(t, c, "PATCH", func() {
		if once {
			once = false
			edit(t, c, "", cluster.PauseNamespace, func(n *corev1.Namespace) {
				n.Annotations = map[string]string{cluster.PauseAnnotation: cluster.Pauses{"render": now.Add(time.Hour)}.Annotation()}
			})
		}
	})
	p, err := Operator{Client: w.Client}.Pause(t.Context(), "agents", now.Add(time.Hour), now)
	if err != nil || len(p) != 2 {
		t.Errorf("paused %v: %v", p, err)
	}
}
