package policy

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
)

// GroupHeadroom is one --headroom flag.
type GroupHeadroom struct {
	Group    cluster.GroupID  `json:"group"`
	Headroom cluster.Headroom `json:"headroom"`
}

// String is the flag's value.
func (h GroupHeadroom) String() string { return fmt.Sprintf("%s=%s", h.Group, h.Headroom) }

// GroupSchedule is one --schedule flag.
type GroupSchedule struct {
	Group    cluster.GroupID  `json:"group"`
	Schedule cluster.Schedule `json:"schedule"`
}

// String is the flag's value.
func (s GroupSchedule) String() string { return fmt.Sprintf("%s: %s", s.Group, s.Schedule) }

// GroupCeiling is one --ceiling flag; Group is "" when it bounds all groups together.
type GroupCeiling struct {
	Group   cluster.GroupID `json:"group,omitempty"`
	Ceiling cluster.Ceiling `json:"ceiling"`
}

// String is the flag's value.
func (c GroupCeiling) String() string {
	if c.Group == "" {
		return c.Ceiling.String()
	}
	return string(c.Group) + "=" + c.Ceiling.String()
}

// Covers says whether growth of the group counts for the ceiling.
func (c GroupCeiling) Covers(id cluster.GroupID) bool { return c.Group == "" || same(c.Group, id) }

// same compares names of groups as clouds do.
func same(a, b cluster.GroupID) bool { return strings.EqualFold(string(a), string(b)) }

// ParseGroupHeadroom reads "GROUP=HEADROOM"; see [cluster.ParseHeadroom]. Its errors, and those of its two siblings, are one clause for the
// operator.
func ParseGroupHeadroom(text string) (GroupHeadroom, error) {
	group, rest, ok := strings.Cut(text, "=")
	if !ok || strings.TrimSpace(group) == "" {
		return GroupHeadroom{}, fmt.Errorf("it names no group; give GROUP=machines:N or GROUP=cores:N, such as agents=machines:2")
	}
	h, err := cluster.ParseHeadroom(strings.TrimSpace(rest))
	return GroupHeadroom{cluster.GroupID(strings.TrimSpace(group)), h}, err
}

// ParseGroupSchedule reads "GROUP: SCHEDULE"; see [cluster.ParseSchedule].
func ParseGroupSchedule(text string) (GroupSchedule, error) {
	group, rest, ok := strings.Cut(text, ":")
	if group = strings.TrimSpace(group); !ok || group == "" || strings.ContainsAny(group, " =") {
		return GroupSchedule{}, fmt.Errorf("it names no group; " +
			"give GROUP: DAYS HOURS ZONE min=N max=N, such as agents: Mon-Fri 08:00-20:00 Europe/Berlin min=3 max=20")
	}
	s, err := cluster.ParseSchedule(rest)
	return GroupSchedule{cluster.GroupID(group), s}, err
}

// ParseGroupCeiling reads "CEILING" for all groups together or "GROUP=CEILING"; see [cluster.ParseCeiling].
func ParseGroupCeiling(text string) (GroupCeiling, error) {
	group, rest, ok := strings.Cut(text, "=")
	if !ok {
		group, rest = "", text
	} else if strings.TrimSpace(group) == "" {
		return GroupCeiling{}, fmt.Errorf("it names no group before =; give GROUP=machines:N/WINDOW, or leave = out for all groups together")
	}
	c, err := cluster.ParseCeiling(strings.TrimSpace(rest))
	return GroupCeiling{cluster.GroupID(strings.TrimSpace(group)), c}, err
}

// Headroom is the room that a group is to keep free: machines' worth, cores, or neither. A flag that names the group wins over what the
// group carries itself.
func (p *Policy) Headroom(g *cluster.Group) (machines int, cores int64) {
	var h cluster.Headroom
	if g.Options.Headroom != nil {
		h = *g.Options.Headroom
	}
	for _, f := range p.Growth.Headroom {
		if same(f.Group, g.ID) {
			h = f.Headroom
		}
	}
	return h.Machines, h.Cores
}

// schedules are those of a group, the ones that win last: flags name it, as --nodes does, and win over what it carries itself.
func (p *Policy) schedules(g *cluster.Group) []cluster.Schedule {
	all := slices.Clip(g.Options.Schedules)
	for _, f := range p.Growth.Schedules {
		if same(f.Group, g.ID) {
			all = append(all, f.Schedule)
		}
	}
	return all
}

// Limits are the group's min and max at t. The group's own fields are those that hold without a schedule.
func (p *Policy) Limits(g *cluster.Group, t time.Time) (least, most int) {
	return cluster.Limits(g.Min, g.Max, p.schedules(g), t)
}

// Bound is the group with its limits at t in place of its own: the group itself where no schedule changes them, else a copy. Bounding twice
// is bounding once.
func (p *Policy) Bound(g *cluster.Group, t time.Time) *cluster.Group {
	least, most := p.Limits(g, t)
	patience := p.Growth.Node.ProvisionTime
	if patience == cluster.StartupWithin {
		patience = 0
	}
	if least == g.Min && most == g.Max && p.Growth.Taints.Empty() && patience == 0 {
		return g
	}
	bound := *g
	bound.Patience = patience
	bound.Min, bound.Max, bound.Passing = least, most, p.Growth.Taints
	return &bound
}

// Next is the first instant after t at which a schedule of any of the groups begins or ends, zero when none has one.
func (p *Policy) Next(groups []*cluster.Group, t time.Time) time.Time {
	var next time.Time
	for _, g := range groups {
		for _, s := range p.schedules(g) {
			if n := s.Hours.Next(t); !n.IsZero() && (next.IsZero() || n.Before(next)) {
				next = n
			}
		}
	}
	return next
}

// Floor is the capacity to which a group that is below it is raised although no pod asks: its min at t, where min is enforced or a
// schedule in force sets it; 0 otherwise.
func (p *Policy) Floor(g *cluster.Group, t time.Time) int {
	least, _ := p.Limits(g, t)
	if p.Growth.EnforceMin {
		return least
	}
	for _, s := range p.schedules(g) {
		if s.Min != nil && s.Hours.In(t) {
			return least
		}
	}
	return 0
}

// Ceilings are those that the group's growth counts for: of all groups together and of its own, by flags and by what it carries itself.
func (p *Policy) Ceilings(g *cluster.Group) []GroupCeiling {
	var all []GroupCeiling
	for _, c := range p.Growth.Ceilings {
		if c.Covers(g.ID) {
			all = append(all, c)
		}
	}
	for _, c := range g.Options.Ceilings {
		if own := (GroupCeiling{g.ID, c}); !slices.Contains(all, own) {
			all = append(all, own)
		}
	}
	return all
}

// Strangers are the names in flags that no group has, as "--schedule names agents2", in the order of the table of settings.
func (p *Policy) Strangers(groups []*cluster.Group) (said []string) {
	for _, at := range places {
		field := at.in(p)
		for i := 0; field.Kind() == reflect.Slice && i < field.Len(); i++ {
			of, all := field.Index(i), AllGroups
			if of.Kind() == reflect.Struct {
				of, all = of.FieldByName("Group"), ""
			}
			if !of.IsValid() {
				break // the setting is of no group
			}
			id, named := of.Interface().(cluster.GroupID)
			known := slices.ContainsFunc(groups, func(g *cluster.Group) bool { return same(id, g.ID) })
			sentence := fmt.Sprintf("--%s names %s", at.row.Flag, id)
			if named && !known && id != "" && id != all && !slices.Contains(said, sentence) {
				said = append(said, sentence)
			}
		}
	}
	return said
}
