package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/memory"
)

// TestAProcessBeginsWithWhatTheOneBeforeLeft reads off the journal with what memory, and under what name, a process has decided first.
func TestAProcessBeginsWithWhatTheOneBeforeLeft(t *testing.T) {
	failed := memory.Breaker{Machines: 3, Last: time.Now().UTC().Truncate(time.Second), Kept: "vm-9", Until: time.Now().UTC().Truncate(time.Second).Add(time.Hour)}
	text, err := json.Marshal(memory.Breakers{Groups: map[cluster.GroupID]memory.Handed{"agents": {Breaker: failed}}})
	must(t, err)
	for name, c := range map[string]struct {
		flags []string
		named func(string) bool
	}{
		"one of several": {[]string{"--leader-elect-resource-name=farm"}, func(s string) bool { return s == "kube-system/farm" }},
		"the only one":   {[]string{"--leader-elect=false"}, func(s string) bool { return s != "" && s != "kube-system/cluster-autoscaler" }},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFarm(t)
			_, err := f.cluster.Create(&corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: report.StatusNamespace, Name: cluster.StatusName}, Data: map[string]string{"breakers": string(text)},
			})
			must(t, err)
			path := file(t, "journal", "")
			r := f.run(append(c.flags, "--journal="+path)...)
			r.until("a cycle", func() bool {
				_, known := firstEntry(t, path)
				return known
			})
			r.end()
			first, _ := firstEntry(t, path)
			if got := first.Before.Groups["agents"].Breaker; got.Machines != failed.Machines || got.Kept != failed.Kept || !got.Until.Equal(failed.Until) {
				t.Errorf("it began with %+v, and the one before left %+v", got, failed)
			}
			if got := first.Policy.Installation; !c.named(got) {
				t.Errorf("it calls itself %q", got)
			}
		})
	}
}

// firstEntry is the first of a journal, false when it has none yet.
func firstEntry(t *testing.T, path string) (journal.Entry, bool) {
	t.Helper()
	written, err := os.Open(path)
	must(t, err)
	defer written.Close() //nolint:errcheck // it was only read
	entry, err := journal.NewDecoder(written).Next()
	if errors.Is(err, io.EOF) || errors.Is(err, journal.ErrCut) {
		return journal.Entry{}, false
	}
	must(t, err)
	return entry, true
}
