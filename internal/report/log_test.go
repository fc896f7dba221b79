package report

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// lines is a logger and what it has written, without times.
func lines() (*slog.Logger, *bytes.Buffer) {
	var out bytes.Buffer
	return slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	})), &out
}

func TestEveryActionIsOneLine(t *testing.T) {
	to, out := lines()
	log := NewLog(to)
	log.Report(context.Background(), growing().decide(accepted()), time.Second)
	log.Report(context.Background(), growing().decide(refused()), time.Second)
	log.Report(context.Background(), growing().decide(failed()), time.Second)
	golden(t, out.String())
}

func TestAGroupsTroubleIsToldWhenItChanges(t *testing.T) {
	to, out := lines()
	log := NewLog(to)
	w := newWorld()
	w.group("agents", 0, 3, 1)
	for _, problem := range []string{"", "403 on resourceGroups/a", "403 on resourceGroups/a", "404 on resourceGroups/a", "", ""} {
		w.groups[0].Problem = problem
		log.Report(context.Background(), w.decide(accepted()), 0)
		w.at = w.at.Add(steady)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		if !strings.Contains(line, "cycle done") {
			got = append(got, line)
		}
	}
	golden(t, strings.Join(got, ""))
}

// TestLostNodesAreToldOnce has a group lose nodes, and keep its machines: the log and an Event say so in the cycle that sees it.
func TestLostNodesAreToldOnce(t *testing.T) {
	to, out := lines()
	log := NewLog(to)
	w := newWorld()
	w.group("agents", 0, 3, 1)
	e := w.decide(accepted())
	group := reason.Group("agents")
	e.Plan.Verdicts = append(slices.DeleteFunc(slices.Clone(e.Plan.Verdicts), func(v action.Verdict) bool { return v.Subject == group }), action.Verdict{
		Subject: group, Outcome: action.GroupSteady, Because: []reason.Reason{reason.New(reason.GroupLost, group, "machines", 5, "until", "an operator acknowledges it")},
	})
	log.Report(context.Background(), e, 0)
	log.Report(context.Background(), e, 0)
	const says = "nodes lost (Node object or heartbeat gone): 5; their machines stay (S-43), the first until an operator acknowledges it"
	if got := out.String(); strings.Count(got, says) != 1 {
		t.Errorf("the log says:\n%s", got)
	}
	told := 0
	for _, ev := range eventsOfCluster(e, corev1.ObjectReference{Name: "status"}) {
		if ev.reason == nodesLost && strings.Contains(ev.message, says) {
			told++
		}
	}
	if told != 1 {
		t.Errorf("%d Events", told)
	}
}

// TestATroubleThatComesAndGoesIsToldOnce has a group that cannot be read in every second cycle, and one with two troubles in turn.
func TestATroubleThatComesAndGoesIsToldOnce(t *testing.T) {
	for name, c := range map[string]struct {
		problems []string
		warned   int
		ends     string
	}{
		"it comes and goes":       {[]string{"403", "", "403", "", "403", "", "403", ""}, 1, "its trouble came back 3 times meanwhile"},
		"two troubles take turns": {[]string{"403", "404", "403", "404", "403", "404", "403", ""}, 2, "group=agents\n"},
	} {
		t.Run(name, func(t *testing.T) {
			to, out := lines()
			log := NewLog(to)
			w := newWorld()
			w.group("agents", 0, 3, 1)
			for _, problem := range c.problems {
				w.groups[0].Problem = problem
				log.Report(context.Background(), w.decide(accepted()), 0)
				w.at = w.at.Add(10 * time.Second)
			}
			if n := strings.Count(out.String(), "group in trouble"); n != c.warned || strings.Contains(out.String(), groupWell) {
				t.Errorf("%d warnings, want %d, and no end yet:\n%s", n, c.warned, out)
			}
			w.at = w.at.Add(steady)
			log.Report(context.Background(), w.decide(accepted()), 0)
			if _, end, told := strings.Cut(out.String(), groupWell); !told || !strings.Contains(end, c.ends) {
				t.Errorf("its end is told as %q, want %q", end, c.ends)
			}
			w.groups[0].Problem = "403"
			w.at = w.at.Add(time.Second)
			log.Report(context.Background(), w.decide(accepted()), 0)
			if n := strings.Count(out.String(), "group in trouble"); n != c.warned+1 {
				t.Errorf("one that begins anew is not told:\n%s", out)
			}
		})
	}
}

func TestKlogGoesToTheSameLog(t *testing.T) {
	to, out := lines()
	BridgeKlog(to)
	t.Cleanup(klog.ClearLogger)
	klog.InfoS("watch closed", "resource", "pods")
	klog.ErrorS(context.Canceled, "list stopped")
	if got := out.String(); !strings.Contains(got, `level=DEBUG msg="watch closed" resource=pods`) || !strings.Contains(got, `level=ERROR msg="list stopped"`) {
		t.Errorf("log has\n%s", got)
	}
}
