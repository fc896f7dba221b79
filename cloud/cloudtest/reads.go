package cloudtest

import (
	"context"
	"slices"
	"strings"
	"sync"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
)

func groupsComeComplete(t *trial) {
	gs := t.all()
	if !slices.IsSortedFunc(gs, func(a, b *cluster.Group) int { return strings.Compare(string(a.ID), string(b.ID)) }) {
		t.Errorf("groups are not sorted by ID")
	}
	seen := map[string]bool{}
	for _, g := range gs {
		if !g.Usable() || g.Read.At.IsZero() {
			t.Errorf("%s: capacity %d, %d instances, read %+v, problem %q: want a complete read with its time", g.ID, g.Capacity, len(g.Instances), g.Read, g.Problem)
		}
		if len(g.Instances) < 3 || g.Capacity != len(g.Instances) {
			t.Errorf("%s: %d instances with capacity %d: want at least three, and as many as the capacity", g.ID, len(g.Instances), g.Capacity)
		}
		if g.Max < g.Capacity+3 || g.Min > g.Capacity {
			t.Errorf("%s: limits %d to %d do not leave room around %d", g.ID, g.Min, g.Max, g.Capacity)
		}
		if !slices.IsSortedFunc(g.Instances, func(a, b *cluster.Instance) int { return strings.Compare(string(a.ID), string(b.ID)) }) {
			t.Errorf("%s: instances are not sorted by ID", g.ID)
		}
		for _, i := range g.Instances {
			if i.ID == "" || i.UID == "" || i.UID != strings.ToLower(i.UID) || i.ProviderID == "" || i.Group != g.ID || i.State != cluster.StateRunning {
				t.Errorf("%s: instance %+v: want id, lower-case UID, provider id, its group, and running", g.ID, i)
			}
			if seen[i.UID] {
				t.Errorf("%s: UID %s is another machine's too", g.ID, i.UID)
			}
			seen[i.UID] = true
		}
	}
}

func groupMatchesGroups(t *trial) {
	for _, g := range t.all() {
		one := t.fresh(g.ID)
		if one.Capacity != g.Capacity || one.Min != g.Min || one.Max != g.Max || one.Size != g.Size {
			t.Errorf("Group(%s) is %+v, Groups said %+v", g.ID, one, g)
		}
		want := uids(g)
		for uid, id := range uids(one) {
			if want[uid] != id {
				t.Errorf("Group(%s) has machine %s under id %s, Groups had %q", g.ID, uid, id, want[uid])
			}
			delete(want, uid)
		}
		if len(want) > 0 {
			t.Errorf("Group(%s) lacks %v", g.ID, want)
		}
	}
}

func answersBelongToTheCaller(t *trial) {
	g := t.all()[0]
	n := len(g.Instances)
	g.Capacity, g.Instances[0], g.Problem = 99, nil, "spoiled"
	again := t.all()[0]
	if again.Capacity == 99 || len(again.Instances) != n || again.Instances[0] == nil || again.Problem != "" {
		t.Errorf("what a caller did to its group shows in the next answer: %+v", again)
	}
}

func unknownGroupIsNotFound(t *trial) {
	t.all()
	t.refuses(cloud.NotFound, func() error {
		_, err := t.Group(context.Background(), "no-such-group")
		return err
	})
}

func callsMayOverlap(t *trial) {
	id := t.all()[0].ID
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			if _, err := t.Groups(context.Background()); err != nil {
				t.Errorf("Groups: %v", err)
			}
		})
		calls.Go(func() {
			if _, err := t.Group(context.Background(), id); err != nil {
				t.Errorf("Group(%s): %v", id, err)
			}
		})
	}
	calls.Wait()
}
