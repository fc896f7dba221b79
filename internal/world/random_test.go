package world_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sluice.dev/sluice/internal/world"
)

// randomScenario draws a farm, a load and a run of luck: people, faults and restarts at any time.
func randomScenario(t *rapid.T) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	pick := func(name string, words ...string) string { return rapid.SampledFrom(words).Draw(t, name) }
	number := func(name string, low, high int) int { return rapid.IntRange(low, high).Draw(t, name) }

	say("policy scale-down-unneeded-time=%s scale-down-delay-after-add=%s max-drain-time=5m max-node-provision-time=8m",
		pick("unneeded", "1m", "4m", "10m"), pick("after add", "1s", "3m"))
	groups := []string{"agents", "render"}[:number("groups", 1, 2)]
	for _, g := range groups {
		least := number("min", 0, 2)
		say("group %s size=%s min=%d max=%d machines=%d%s%s%s%s%s", g, pick("size", "Standard_D4s_v5", "Standard_D8s_v5"), least, number("max", 3, 6),
			number("machines", least, 3), pick("zones", "", " zones=1,2"), pick("mode", "", " mode=flexible"), pick("removal", "", "", " removal=deallocate"),
			pick("spot", "", "", "", " spot=delete", " spot=deallocate"), pick("ids", "", "", "", " provider-id=k3s", " provider-id=upper"))
	}
	limited := pick("limited", "no", "no", "yes") == "yes"
	if limited {
		say("quota cores %d", 8*number("quota", 4, 8))
	}
	pods := 0
	pod := func() {
		pods++
		say("pod p%d-0 cpu=%s%s%s", pods, pick("cpu", "100m", "500m", "1500m", "3", "6"),
			pick("owner", "", "", " owner=job runs=3m", " owner=none", " owner=statefulset"),
			pick("trait", "", "", "", " anti-affinity=hostname", " volume=empty-dir", " host-port=80", " grace=3m", " gate=wait"))
		if pick("budget", "no", "no", "yes") == "yes" {
			say("budget p%d-0 min-available=1", pods)
		}
	}
	for range number("pods", 0, 5) {
		pod()
	}
	say("deployment web replicas=%d cpu=%s", number("replicas", 0, 6), pick("web", "300m", "1", "2"))
	say("advance 1s")
	for range number("events", 1, 10) {
		g := pick("group", groups...)
		switch number("event", 0, 19) {
		case 0, 1:
			pod()
		case 2, 3:
			say("scale web %d", number("replicas", 0, 9))
		case 4:
			say("restart operations=%s", pick("record", "kept", "lost"))
		case 5:
			if !limited { // Azure may refuse the person, too, and then nothing has happened
				say("resize %s %d", g, number("capacity", 0, 6))
			}
		case 6:
			say("fault %s group=%s times=%d", pick("machine fault", "never-boots", "never-joins", "fails"), g, number("times", 1, 2))
		case 7:
			say("fault %s group=%s times=%d status=%s", pick("request", "grow", "delete", "list"), g, number("times", 1, 3), pick("status", "409", "412", "429", "500"))
		case 8:
			say("fault %s group=%s times=%d", pick("read fault", "no-capacity", "capacity"), g, number("times", 1, 4))
		case 9:
			say("fault %s of=%s group=%s times=1", pick("answer", "lost-answer", "lost-request", "slow after=5s", "slow after=1m"), pick("lost", "grow", "delete", "list", "start", "deallocate"), g)
		case 10:
			say("touch %s", g)
		case 11:
			say("heal")
		case 12:
			say("budget web max-unavailable=%d", number("unavailable", 0, 1))
			say("advance 20s")
			say("delete budget web")
		case 13:
			say("fault %s for=%ds", pick("lie", "frozen", "stale after=1m", "stale after=5m"), number("lies", 10, 400))
		case 14:
			say("fault %s group=%s times=%d", pick("list fault", "short-list count=1", "empty-list", "half-answer", "one-page count=1"), g, number("times", 1, 4))
		case 15:
			say("fault twice of=%s group=%s times=1", pick("twice", "grow", "delete", "deallocate"), g)
		case 16:
			say("fault late of=delete group=%s times=1 after=%ds", g, number("late", 1, 90)) // a late growth fails later, where the promises do not look
		case 17:
			say("fault operation fate=%s of=%s group=%s times=1", pick("fate", "endless", "canceled", "failed code=AllocationFailed after=20s", "not-found"), pick("of", "grow", "delete"), g)
		case 18:
			say("fault %s group=%s times=1", pick("deletion", "survives", "never-deleted", "delete-fails", "slow-delete after=10m", "slow-boot after=9m"), g)
		case 19:
			if !limited {
				say("resize %s %d when=writing", g, number("capacity", 0, 6))
			}
		}
		say("advance %ds", number("seconds", 1, 400))
	}
	say("heal")
	say("advance 15m")
	return b.String()
}

// TestNoRandomScenarioBreaksAPromise plays farms, loads and luck that nobody thought of.
func TestNoRandomScenarioBreaksAPromise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		script := randomScenario(t)
		r, err := world.Run(t.Context(), []byte(script), io.Discard, world.Options{})
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, script, r.Transcript)
		}
		if len(r.Broken) > 0 {
			t.Fatalf("%s\n%s\n%s", strings.Join(r.Broken, "\n"), script, r.Transcript)
		}
	})
}
