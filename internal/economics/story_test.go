package economics

import "testing"

// TestTheFoundingStory holds the story to its promise: no pod of a Job is killed, and machines are paid for hardly longer than by somebody who
// knows when each Job ends. What there was before kills Jobs on it.
func TestTheFoundingStory(t *testing.T) {
	w := FoundingStory()
	by := map[string]Replayed{}
	for _, c := range StoryTellers() {
		r := c.Run(w, FlatBoot)
		if by[c.Name] = r; r.Unfinished > 0 || r.Peak > 20 {
			t.Errorf("%s: %d pods have not finished, %d machines at once; want none, and at most 20", c.Name, r.Unfinished, r.Peak)
		}
	}
	own, best := by[TheSluice], by[TheOracle]
	if own.Evictions > 0 || own.LostCoreHours > 0 {
		t.Errorf("sluice evicted %d pods, %.1f core-hours are lost; want none", own.Evictions, own.LostCoreHours)
	}
	if share := own.MachineHours / best.MachineHours; share > 1.10 {
		t.Errorf("sluice pays for %.1f machine-hours, %.3f of the oracle's %.1f; want at most 1.10", own.MachineHours, share, best.MachineHours)
	}
	for _, before := range []string{"remove the newest", "evict under 50 %"} {
		if by[before].Killed == 0 {
			t.Errorf("%s killed nobody: the story tells nothing", before)
		}
	}
}
