package actuate

import (
	"strconv"
	"testing"
	"time"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan/action"
)

// TestAGroupIsLeftToWhoeverKeepsShrinkingIt grows a group that somebody else shrinks each time.
func TestAGroupIsLeftToWhoeverKeepsShrinkingIt(t *testing.T) {
	read := func(capacity int) *cluster.Group {
		g := Group("agents", 0, 9)
		for i := range capacity {
			g.Instances = append(g.Instances, Machine(strconv.Itoa(i), ""))
		}
		g.Capacity = capacity
		return g
	}
	var c contests
	for i := range contestTimes {
		now := Start.Add(time.Duration(i) * time.Minute)
		if met := c.meets(read(1), now); met != nil {
			t.Fatalf("left alone after %d times: %+v", i, met)
		}
		c.wrote("agents", 3)
		if c.meets(read(1), now) != nil {
			t.Fatal("a growth that no read has shown yet counts as undone")
		}
		c.meets(read(3), now)
		c.meets(read(1), now)
		c.meets(read(1), now) // the same once more
	}
	last := Start.Add(2 * time.Minute)
	if met := c.meets(read(1), last); met == nil || met.Times != 3 || !met.Until.Equal(last.Add(contestFor)) {
		t.Errorf("after three times %+v", met)
	}
	if met := c.meets(read(1), last.Add(contestFor)); met != nil {
		t.Errorf("left alone for ever: %+v", met)
	}
}

// TestWhatSluiceItselfRemovesIsNoFight grows a group and removes machines of it.
func TestWhatSluiceItselfRemovesIsNoFight(t *testing.T) {
	var c contests
	for range 2 * contestTimes {
		c.wrote("agents", 3)
		c.meets(Group("agents", 0, 9, Machine("0", ""), Machine("1", ""), Machine("2", "")), Start)
		c.removed("agents", 2)
		if met := c.meets(&cluster.Group{ID: "agents", Capacity: 1, Read: cluster.Read{Complete: true}}, Start); met != nil {
			t.Fatalf("fights itself: %+v", met)
		}
	}
}

// TestAMachineThatNeverJoinedIsGivenUpForGood says so of it alone, and leaves what was read as it is.
func TestAMachineThatNeverJoinedIsGivenUpForGood(t *testing.T) {
	g := Group("agents", 0, 9, Machine("0", "agents-0"), Machine("1", "agents-1"))
	own := givenUp(g, []action.Leaving{{Machine: cluster.Machine{Group: "agents", ID: "0", UID: "vm-0"}}, {Machine: cluster.Machine{Group: "agents", ID: "1", UID: "vm-1"}, Node: "agents-1"}})
	if own.Instances[0].State != cluster.StateFailed || own.Instances[1].State != cluster.StateRunning || g.Instances[0].State != cluster.StateRunning {
		t.Errorf("%s and %s of %s", own.Instances[0].State, own.Instances[1].State, g.Instances[0].State)
	}
}
