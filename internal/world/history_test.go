package world

import (
	"regexp"
	"strconv"
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

// TestAKilledHistoryIsTheSameHistory holds that a history in which sluice is killed after a write differs from the one of its seed in nothing but who is
// killed when; that every second process finds no record of the one before; and that one in a world of pools does, since nothing else there would tell
// it of a machine that Azure's old answers lack.
func TestAKilledHistoryIsTheSameHistory(t *testing.T) {
	kills := regexp.MustCompile(`(?m)^kill .*\n`)
	for seed := range uint64(200) {
		plain, pools := string(History(seed)), seed%13 == 8
		for n := 1; n <= 2; n++ {
			killed := string(KilledHistory(seed, n))
			if kills.ReplaceAllString(killed, "") != kills.ReplaceAllString(plain, "") {
				t.Fatalf("history %d, killed after write %d, is another one", seed, n)
			}
			said := kills.FindAllString(killed, -1)
			if len(said) != 1 || !strings.HasPrefix(said[0], "kill "+strconv.Itoa(n)+" ") {
				t.Fatalf("history %d, killed after write %d, kills it thus: %q", seed, n, said)
			}
			if lost := strings.Contains(said[0], "operations=lost"); lost && (n == 1 || pools) {
				t.Errorf("history %d, killed after write %d, loses the record", seed, n)
			} else if seed == 0 && n == 2 && !lost {
				t.Errorf("history %d, killed after write %d, keeps the record", seed, n)
			}
		}
	}
}
