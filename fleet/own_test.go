package fleet_test

import (
	"strconv"
	"testing"

	"sluice.dev/sluice/fleet"
)

// TestWhatAGrowthMadeIsOurs has growths of an empty group, or one machine made before them, and a list that shows how many machines there
// are then. So many of those are this cluster's, to this process and to the next.
func TestWhatAGrowthMadeIsOurs(t *testing.T) {
	type growth struct {
		from, to int
		answers  []fleet.Reply
	}
	for name, c := range map[string]struct {
		growths []growth
		born    float64 // when those that are shown were made, in minutes; the growths are asked for from 10 on
		shown   int
		want    int
	}{
		"all of one":                                {[]growth{{0, 2, []fleet.Reply{fleet.Accepted, fleet.Done}}}, 11, 2, 2},
		"no answer":                                 {[]growth{{0, 2, nil}}, 11, 2, 2},
		"somebody else has one made, too":           {[]growth{{0, 2, nil}}, 11, 3, 2},
		"they were made before":                     {[]growth{{0, 2, nil}}, 5, 2, 0},
		"by a clock that is half a minute behind":   {[]growth{{0, 2, nil}}, 9.5, 2, 2},
		"refused":                                   {[]growth{{0, 2, []fleet.Reply{fleet.Refused}}}, 11, 2, 0},
		"refused once it had begun":                 {[]growth{{0, 2, []fleet.Reply{fleet.Accepted, fleet.Refused}}}, 11, 2, 2},
		"two from the same capacity, no answer":     {[]growth{{0, 1, nil}, {0, 1, nil}}, 12, 2, 1},
		"the second of them asked for more":         {[]growth{{0, 1, nil}, {0, 3, nil}}, 12, 4, 3},
		"one after the other":                       {[]growth{{0, 2, []fleet.Reply{fleet.Accepted}}, {2, 3, nil}}, 12, 4, 3},
		"the second of them refused":                {[]growth{{0, 2, []fleet.Reply{fleet.Accepted}}, {2, 3, []fleet.Reply{fleet.Refused}}}, 12, 4, 2},
		"the same again, and refused the last time": {[]growth{{0, 2, nil}, {0, 2, []fleet.Reply{fleet.Refused}}}, 12, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			l := fleet.New(fleet.Usual(), minute(1)).Observe(minute(2), fleet.Listed{Group: pool, Asked: minute(2), Counted: true, Whole: true}, fleet.Nodes{Group: pool, At: minute(2)})
			for i, w := range c.growths {
				at := 10 + float64(i)
				l = l.Observe(minute(at), fleet.Asked{Group: pool, At: minute(at), Verb: fleet.Grow, From: w.from, To: w.to})
				for _, answer := range w.answers {
					l = l.Observe(minute(at+0.5), fleet.Answered{Group: pool, Asked: minute(at), At: minute(at + 0.5), Answer: answer})
				}
			}
			list := fleet.Listed{Group: pool, Asked: minute(13), Counted: true, Whole: true, Capacity: c.shown}
			for i := range c.shown {
				list.Machines = append(list.Machines, fleet.Sighted{UID: uid(i), ID: strconv.Itoa(i), State: fleet.Running, Created: minute(c.born)})
			}
			owns := func(l fleet.Ledger) (n int) {
				for i := range c.shown {
					if l.At(minute(14)).Own(pool, uid(i)) {
						n++
					}
				}
				return n
			}
			heir, _, err := fleet.New(fleet.Usual(), minute(12.5)).Merge(l.Record(minute(12.5)), minute(12.5))
			if err != nil {
				t.Fatal(err)
			}
			l, heir = l.Observe(minute(13), list), heir.Observe(minute(13), list)
			if here, there := owns(l), owns(heir); here != c.want || there != c.want {
				t.Errorf("%d machines are this cluster's, and to the next process %d, want %d", here, there, c.want)
			}
			heir, _, err = fleet.New(fleet.Usual(), minute(14)).Merge(l.Record(minute(14)), minute(14))
			if err != nil {
				t.Fatal(err)
			}
			list.Asked = minute(15)
			if n := owns(heir.Observe(minute(15), list)); n != c.want {
				t.Errorf("to a process that begins when they are shown %d are, want %d", n, c.want)
			}
		})
	}
}
