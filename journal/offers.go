package journal

import (
	"maps"
	"slices"

	"sluice.dev/sluice/cluster"
)

// offers are the sizes that groups could have. They are hundreds and hardly ever change: a line has them only when they did.
type offers struct {
	Tables []*cluster.Sizes        `json:"tables,omitempty"`
	Of     map[cluster.GroupID]int `json:"of,omitempty"` // each group's table; a group that is not there has none
}

// offersOf are the tables by group, without the groups that have none.
func offersOf(groups []*cluster.Group) map[cluster.GroupID]*cluster.Sizes {
	of := map[cluster.GroupID]*cluster.Sizes{}
	for _, g := range groups {
		if g.Sizes != nil {
			of[g.ID] = g.Sizes
		}
	}
	return of
}

// newOffers is what a line says of these tables; nil when it is what the last one said.
func newOffers(last, now map[cluster.GroupID]*cluster.Sizes) *offers {
	if maps.Equal(last, now) {
		return nil
	}
	o := &offers{Of: map[cluster.GroupID]int{}}
	for _, id := range slices.Sorted(maps.Keys(now)) {
		at := slices.Index(o.Tables, now[id])
		if at < 0 {
			at = len(o.Tables)
			o.Tables = append(o.Tables, now[id])
		}
		o.Of[id] = at
	}
	return o
}

// tables are the tables by group. Numbers that a damaged line makes up lead to none.
func (o *offers) tables() map[cluster.GroupID]*cluster.Sizes {
	of := map[cluster.GroupID]*cluster.Sizes{}
	for id, at := range o.Of {
		if at >= 0 && at < len(o.Tables) {
			of[id] = o.Tables[at]
		}
	}
	return of
}
