package report

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"k8s.io/klog/v2"
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
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		if !strings.Contains(line, "cycle done") {
			got = append(got, line)
		}
	}
	golden(t, strings.Join(got, ""))
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
