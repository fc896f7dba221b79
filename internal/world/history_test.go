package world

import (
	"regexp"
	"strings"
	"testing"
)

// TestAHistoryLeavesOneWitnessOfAGroup holds that nobody is judged for what nobody can know: a group's capacity, its list and a kubelet of it never lie, or
// fall silent, in one history, though any two of them do.
func TestAHistoryLeavesOneWitnessOfAGroup(t *testing.T) {
	witnesses := []*regexp.Regexp{
		regexp.MustCompile(`(?m)^fault capacity\b.* group=(\S+)`),
		regexp.MustCompile(`(?m)^fault (?:short-list|empty-list|one-page)\b.* group=(\S+)`),
		regexp.MustCompile(`(?m)^try silence (\S+)_`),
	}
	pairs := map[int]bool{}
	for seed := range uint64(3000) {
		script, struck := string(History(seed)), map[string]int{}
		for i, w := range witnesses {
			for _, m := range w.FindAllStringSubmatch(script, -1) {
				struck[m[1]] |= 1 << i
			}
		}
		for group, which := range struck {
			pairs[which] = true
			if which == 1<<len(witnesses)-1 {
				t.Errorf("history %d: nothing tells of group %s any more:\n%s", seed, group, strings.TrimSpace(script))
			}
		}
	}
	for _, pair := range []int{0b011, 0b101, 0b110} {
		if !pairs[pair] {
			t.Errorf("no history strikes the witnesses %03b of one group", pair)
		}
	}
}
