package azure

import (
	"fmt"
	"strconv"
	"strings"

	"sluice.dev/sluice/cluster"
)

// GroupSpec is one --nodes flag: a scale set by name, and how small and large it may be.
type GroupSpec struct {
	Name     string // of the scale set; letter case is kept and means nothing
	Min, Max int    // 0 <= Min <= Max
}

// ParseGroup reads "min:max:name". Its errors are one sentence with flag, value and what is allowed.
func ParseGroup(s string) (GroupSpec, error) {
	bad := func(why string) (GroupSpec, error) {
		return GroupSpec{}, fmt.Errorf("--nodes=%s: %s; it must be min:max:name, such as 1:10:agents", s, why)
	}
	parts := strings.SplitN(s, ":", 3)
	if len(parts) != 3 {
		return bad("it has no two colons")
	}
	least, err := strconv.Atoi(parts[0])
	if err != nil || least < 0 {
		return bad(fmt.Sprintf("min %q is not a number of machines", parts[0]))
	}
	most, err := strconv.Atoi(parts[1])
	if err != nil || most < 0 {
		return bad(fmt.Sprintf("max %q is not a number of machines", parts[1]))
	}
	switch {
	case most < least:
		return bad(fmt.Sprintf("max %d is below min %d", most, least))
	case parts[2] == "" || strings.ContainsAny(parts[2], "/ "):
		return bad(fmt.Sprintf("%q is not a scale set's name", parts[2]))
	}
	return GroupSpec{Name: parts[2], Min: least, Max: most}, nil
}

// Discovery is one --node-group-auto-discovery flag: the tags a scale set must carry, and sizes for those that have no min and max tags.
type Discovery struct {
	Tags     map[string]string // at least one, matched exactly
	Min, Max *int              // nil when the flag says nothing
}

// ParseDiscovery reads "label:key=value,...[,min=N][,max=N]". Its errors are one sentence with flag, value and what is allowed.
func ParseDiscovery(s string) (Discovery, error) {
	bad := func(why string) (Discovery, error) {
		return Discovery{}, fmt.Errorf("--node-group-auto-discovery=%s: %s; it must be label:tag=value[,tag=value][,min=N][,max=N]", s, why)
	}
	rest, ok := strings.CutPrefix(s, "label:")
	if !ok {
		return bad("it does not begin with label:")
	}
	d := Discovery{Tags: map[string]string{}}
	for _, pair := range strings.Split(rest, ",") {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" || value == "" || strings.Contains(value, "=") {
			return bad(fmt.Sprintf("%q is not key=value", pair))
		}
		if key != "min" && key != "max" {
			d.Tags[key] = value
			continue
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 {
			return bad(fmt.Sprintf("%s %q is not a number of machines", key, value))
		}
		if key == "min" {
			d.Min = &n
		} else {
			d.Max = &n
		}
	}
	switch {
	case len(d.Tags) == 0:
		return bad("it names no tag, so that it would match nothing")
	case d.Min != nil && d.Max != nil && *d.Max < *d.Min:
		return bad(fmt.Sprintf("max %d is below min %d", *d.Max, *d.Min))
	}
	return d, nil
}

// matches says whether all the discoveries find these tags. No discovery matches nothing.
func matches(ds []Discovery, tags map[string]string) bool {
	for _, d := range ds {
		for k, v := range d.Tags {
			if tags[k] != v {
				return false
			}
		}
	}
	return len(ds) > 0
}

// sizes are the limits of a discovered scale set: its tags min and max win over the flags, of several flags the highest min and the
// lowest max. The error names the tag that is missing or wrong.
func sizes(ds []Discovery, tags map[string]string) (cluster.Group, error) {
	limit := func(name string, of func(Discovery) *int, better func(a, b int) int) (int, error) {
		if tag, ok := tags[name]; ok {
			n, err := strconv.Atoi(tag)
			if err != nil || n < 0 {
				return 0, fmt.Errorf("tag %s is %q and must be a number of machines", name, tag)
			}
			return n, nil
		}
		var found *int
		for _, d := range ds {
			if n := of(d); n != nil && found == nil {
				found = n
			} else if n != nil {
				found = new(better(*found, *n))
			}
		}
		if found == nil {
			return 0, fmt.Errorf("tag %s is missing and the discovery flag gives no %s", name, name)
		}
		return *found, nil
	}
	least, err := limit("min", func(d Discovery) *int { return d.Min }, func(a, b int) int { return max(a, b) })
	if err != nil {
		return cluster.Group{}, err
	}
	most, err := limit("max", func(d Discovery) *int { return d.Max }, func(a, b int) int { return min(a, b) })
	if err != nil {
		return cluster.Group{}, err
	}
	if most < least {
		return cluster.Group{}, fmt.Errorf("tag max %d is below tag min %d", most, least)
	}
	return cluster.Group{Min: least, Max: most}, nil
}
