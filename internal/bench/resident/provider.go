package resident

import (
	"context"
	"time"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/bench/workload"
	"sluice.dev/sluice/journal"
)

// provider tells of the same groups again and again, in new objects each time, and changes nothing.
type provider struct{ groups []*cluster.Group }

func (p *provider) Groups(context.Context) ([]*cluster.Group, error) {
	all := make([]*cluster.Group, len(p.groups))
	for i, g := range p.groups {
		all[i] = workload.Reread(g, time.Now())
	}
	return all, nil
}

func (p *provider) Group(_ context.Context, id cluster.GroupID) (*cluster.Group, error) {
	for _, g := range p.groups {
		if g.ID == id {
			return workload.Reread(g, time.Now()), nil
		}
	}
	return nil, &cloud.Error{Kind: cloud.NotFound, Group: id, Code: "NotFound", Message: "there is no such group"}
}

// errFixed answers every write: a dry run sends none.
var errFixed = &cloud.Error{Kind: cloud.Invalid, Code: "Fixed", Message: "the groups of a benchmark do not change"}

func (p *provider) SetCapacity(context.Context, *cluster.Group, int) error { return errFixed }

func (p *provider) DeleteInstances(context.Context, *cluster.Group, []cluster.Machine) error {
	return errFixed
}

// last is what the latest cycle saw.
type last struct{ cycles, nodes, pods int }

func (l *last) Report(_ context.Context, e journal.Entry, _ time.Duration) error {
	l.cycles++
	l.nodes, l.pods = len(e.Seen.Nodes), len(e.Seen.Objects.Pods)
	return nil
}
