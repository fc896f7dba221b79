package journal

import (
	"encoding/json"
	"errors"
	"maps"

	"sluice.dev/sluice/cluster"
)

// parsed are groups that were made of what lines say, so that a line which says when groups were read costs that alone, and not their machines.
type parsed map[string]parsedGroup

type parsedGroup struct {
	of    *cluster.Group
	whole json.RawMessage            // of which it was made, nil for one that is taken apart
	apart map[string]json.RawMessage // the same by key
}

// groups are what the tree says. Those that did not change are the ones of the last call.
func (p *parsed) groups(t *tree, sizes map[cluster.GroupID]*cluster.Sizes) (all []*cluster.Group, err error) {
	if t.at == nil {
		if err := json.Unmarshal(t.value(), &all); err != nil {
			return nil, err
		}
	}
	next := parsed{}
	for _, key := range t.apart.keys {
		one := t.at[key]
		if one == nil { // an order that a damaged line makes up
			return nil, errors.New("it orders a group that is not there")
		}
		last := (*p)[key]
		now, err := one.group(last)
		if err != nil {
			return nil, err
		}
		if now.of != nil && now.of.Sizes != sizes[now.of.ID] {
			own := *now.of
			own.Sizes = sizes[own.ID]
			now.of = &own
		}
		next[key] = now
		all = append(all, now.of)
	}
	for i, g := range all {
		if g == nil {
			return nil, errors.New("it has an empty group")
		}
		if t.at == nil {
			all[i].Sizes = sizes[g.ID]
		}
	}
	*p = next
	return all, nil
}

// group is the group that a tree is, after what it was.
func (t *tree) group(last parsedGroup) (now parsedGroup, err error) {
	if t.at == nil {
		if last.of != nil && same(last.whole, t.raw) {
			return last, nil
		}
		now.whole = t.raw
		err = json.Unmarshal(t.raw, &now.of)
		return now, err
	}
	now.apart = make(map[string]json.RawMessage, len(t.at))
	for key, of := range t.at {
		now.apart[key] = of.value()
	}
	was, is := last.apart["read"], now.apart["read"]
	alike := func(key string) bool { return key == "read" || same(last.apart[key], now.apart[key]) }
	for key := range now.apart {
		if last.of == nil || len(last.apart) != len(now.apart) || was == nil || is == nil || !alike(key) {
			err = json.Unmarshal(t.value(), &now.of)
			return now, err
		}
	}
	if maps.EqualFunc(last.apart, now.apart, same) {
		return last, nil
	}
	own := *last.of
	own.Read = cluster.Read{}
	now.of = &own
	return now, json.Unmarshal(is, &own.Read)
}

// same says whether both are one text, and not only equal.
func same(a, b json.RawMessage) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}
