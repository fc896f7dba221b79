package world_test

import (
	"context"
	"io"
	"testing"

	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/internal/world"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// waits are outcomes that another one follows by itself, or when somebody acts.
var waits = map[action.Outcome]bool{
	action.PodScheduling: true, action.PodWaiting: true, action.PodGrows: true, action.PodRescues: true, action.PodStuck: true,
	action.NodeIdle: true, action.NodeCordoned: true, action.NodeDraining: true, action.NodeDeleting: true, action.NodeParking: true, action.NodeHold: true,
	action.MachineComing: true, action.GroupGrow: true, action.GroupGrowing: true, action.GroupShrink: true, action.GroupFull: true, action.GroupBackoff: true,
}

// TestEachWaitSaysWhatEndsIt plays faults, and asks in each cycle about everything that waits: the answer names a time to come, or an event, and
// of a group no time of another group.
func TestEachWaitSaysWhatEndsIt(t *testing.T) {
	t.Parallel()
	for fault, file := range map[string]string{
		"reads of one group are throttled": "one-group-throttled", "a growth is throttled": "throttled", "a deletion is throttled": "throttled-removal",
		"rights to read are missing": "missing-read-rights", "rights to write are missing": "missing-rights", "Azure fails to delete": "delete-fails",
		"a quota is used up": "out-of-quota", "Azure has no machines": "allocation-fails", "machines never join": "never-joins",
		"the breaker opens": "machines-never-join", "the group is locked": "locked-group", "a read hangs": "cloud-call-hangs", "a write hangs": "hung-write",
		"the answer to a growth is lost": "growth-never-answered", "the lease ends": "lease-ends", "watches are silent": "api-silent", "the API server is slow": "api-slow",
		"lists lack machines": "short-list-while-draining", "the scale set is not there": "missing-scale-set", "the platform scales the group": "platform-autoscale",
		"others undo growths": "others-undo-each-growth", "a group is paused": "paused-group",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			r, err := world.Run(context.Background(), read(t, "../../testdata/"+file+".txtar"), io.Discard, world.Options{})
			if err != nil {
				t.Fatal(err)
			}
			said := map[string]bool{}
			for _, entry := range decided(t, r) {
				for _, v := range entry.Plan.Verdicts {
					for _, complaint := range unended(t, entry, v) {
						if !said[complaint] {
							said[complaint] = true
							t.Error(complaint)
						}
					}
				}
			}
		})
	}
}

// unended is what explain leaves open about the subject of a verdict.
func unended(t *testing.T, entry journal.Entry, v action.Verdict) (complaints []string) {
	t.Helper()
	x, err := report.NewExplanation(entry, v.Subject)
	if err != nil {
		t.Fatal(err)
	}
	troubled := false
	for _, r := range v.Because {
		troubled = troubled || r.Code == reason.GroupUnreadable || r.Code == reason.GroupIncomplete
	}
	if (waits[v.Outcome] || troubled) && len(x.Ends) == 0 {
		complaints = append(complaints, v.Subject.String()+" "+string(v.Outcome)+" waits without an end: "+reason.Sentences(v.Because))
	}
	for _, e := range x.Ends {
		switch g := entry.Seen.Node(e.About.Name); {
		case !e.At.IsZero() && !e.At.After(x.Time):
			complaints = append(complaints, v.Subject.String()+" waits for a time that is over: "+string(e.Code))
		case v.Subject.Kind != reason.KindGroup || e.At.IsZero():
		case e.About.Kind == reason.KindGroup && e.About != v.Subject, e.About.Kind == reason.KindNode && g != nil && string(g.Group) != v.Subject.Name:
			complaints = append(complaints, v.Subject.String()+" is told the time of "+e.About.String())
		}
	}
	return complaints
}
