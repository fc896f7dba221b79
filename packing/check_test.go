package packing

import (
	"fmt"
	"testing"
)

// check says what is wrong with a solution: a pod twice or nowhere, a machine too full, a limit passed, a sum that is not one.
func check(p Problem, s Solution) error {
	placed := make([]int, len(p.Classes))
	machines := make([]int, len(p.Groups))
	used := make([]int64, len(p.Caps))
	var cost, tie int64
	for _, m := range s.Machines {
		g := p.Groups[m.Group]
		if m.Count < 1 || len(m.Pods) == 0 {
			return fmt.Errorf("machines of group %d: %d with %v", m.Group, m.Count, m.Pods)
		}
		machines[m.Group] += m.Count
		cost += int64(m.Count) * max(1, g.Cost)
		tie += int64(m.Count) * g.Tie
		for k := range used {
			used[k] += int64(m.Count) * at(g.Uses, k)
		}
		full := make([]int64, 16)
		last := -1
		for _, q := range m.Pods {
			c := p.Classes[q.Class]
			placed[q.Class] += m.Count * q.Count
			switch {
			case q.Class <= last || q.Count < 1:
				return fmt.Errorf("group %d: pods %v are not sorted", m.Group, m.Pods)
			case !c.Groups.Has(m.Group):
				return fmt.Errorf("group %d is not for class %d", m.Group, q.Class)
			case c.PerMachine > 0 && q.Count > c.PerMachine:
				return fmt.Errorf("%d of class %d on a machine, most %d", q.Count, q.Class, c.PerMachine)
			}
			last = q.Class
			for d := range c.Requests {
				full[d] += int64(q.Count) * at(c.Requests, d)
			}
		}
		for d := range full {
			if full[d] > at(g.Capacity, d) {
				return fmt.Errorf("group %d: dimension %d holds %d of %d: %v", m.Group, d, full[d], at(g.Capacity, d), m.Pods)
			}
		}
	}
	for _, l := range s.Left {
		placed[l.Class] += l.Count
	}
	for c, n := range placed {
		if n != max(0, p.Classes[c].Count) {
			return fmt.Errorf("class %d: %d pods are placed or left, of %d", c, n, p.Classes[c].Count)
		}
	}
	for g, n := range machines {
		if n > p.Groups[g].Max {
			return fmt.Errorf("group %d: %d machines, most %d", g, n, p.Groups[g].Max)
		}
	}
	for k, n := range used {
		if n > p.Caps[k] {
			return fmt.Errorf("cap %d: %d used of %d", k, n, p.Caps[k])
		}
	}
	if cost != s.Cost || tie != s.Tie {
		return fmt.Errorf("cost %d and tie %d are said to be %d and %d", cost, tie, s.Cost, s.Tie)
	}
	if s.Bound > s.Cost {
		return fmt.Errorf("the bound %d is above the cost %d", s.Bound, s.Cost)
	}
	return nil
}

func solve(t testing.TB, p Problem) Solution {
	t.Helper()
	s := Solve(p)
	if err := check(p, s); err != nil {
		t.Fatalf("%v\n%+v\n%+v", err, p, s)
	}
	return s
}
