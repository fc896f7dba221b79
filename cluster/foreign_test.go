package cluster_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/fleet"
)

// TestMachinesThatNeverWereNodesMayBeAnotherClusters asks of a group that has two machines without nodes, one an hour old and one a minute.
func TestMachinesThatNeverWereNodesMayBeAnotherClusters(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*cluster.Group)
		objects []any
		asked   int
		want    int
	}{
		"nobody asked for them": {want: 2},
		"sluice asked for one":  {asked: 1, want: 1},
		"sluice asked for both": {asked: 2, want: 0},
		"sluice asked for more": {asked: 9, want: 0},
		"another one is a node": {objects: []any{Node("a-2")}, change: func(g *cluster.Group) { g.Instances = append(g.Instances, Machine("2", "a-2")) }, want: 0},
		"what is left of a parked one": {objects: []any{Node("a-2", func(n *corev1.Node) { n.Status.NodeInfo.SystemUUID = "VM-2" })},
			change: func(g *cluster.Group) { g.Parked = []*cluster.Instance{Machine("2", "")} }, want: 0},
		"what is left of another one": {objects: []any{Node("a-2", func(n *corev1.Node) { n.Status.NodeInfo.SystemUUID = "vm-3" })},
			change: func(g *cluster.Group) { g.Parked = []*cluster.Instance{Machine("2", "")} }, want: 2},
		"another one was a node":   {change: func(g *cluster.Group) { g.Learned = &cluster.Learned{Node: Node(""), Size: "another"} }, want: 0},
		"it is known that one was": {change: func(g *cluster.Group) { g.Joined = true }, want: 0},
		"one is still coming":      {change: func(g *cluster.Group) { g.Instances[0].State = cluster.StateCreating }, want: 2},
		"one has failed":           {change: func(g *cluster.Group) { g.Instances[0].State = cluster.StateFailed }, want: 2},
		"one is switched off":      {change: func(g *cluster.Group) { g.Instances[0].State = cluster.StateStopped }, want: 2},
		"one is being deleted":     {change: func(g *cluster.Group) { g.Instances[0].State = cluster.StateDeleting }, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := Group("a", 0, 9, Machine("0", "", Born(Start.Add(-time.Hour))), Machine("1", "", Born(Start.Add(-time.Minute))))
			g.Joined = false
			if c.change != nil {
				c.change(g)
			}
			for _, in := range g.Instances {
				in.Group = g.ID
			}
			book := AskedFor(g, c.asked, Start).At(fleet.At(Start))
			s := cluster.New(Start, Objects(c.objects...), []*cluster.Group{g})
			if got := s.Group("a").Foreign(book); got != c.want {
				t.Errorf("%d may be another cluster's, want %d", got, c.want)
			}
			next := cluster.New(Start, Objects(), nil).Next(Start, Objects(c.objects...), []*cluster.Group{g})
			if got := next.Group("a").Foreign(book); got != c.want {
				t.Errorf("%d may be in a snapshot that follows, want %d", got, c.want)
			}
		})
	}
}
