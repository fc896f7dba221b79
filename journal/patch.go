package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// patch is what turns one JSON value into another. Objects are compared by their keys, and lists of objects that have ids by these: a machine
// of a thousand that changes costs itself alone. The zero patch changes nothing.
//
//	field   where
//	Is      the value is another one, and this
//	In      keys, or ids, whose values are others, with what turns each into that
//	Gone    keys, or ids, that are there no more
//	Order   ids of a list as they stand now, where new ones are not simply behind those that stay
type patch struct {
	Is    json.RawMessage  `json:"is,omitempty"`
	In    map[string]patch `json:"in,omitempty"`
	Gone  []string         `json:"gone,omitempty"`
	Order []string         `json:"order,omitempty"`
}

// IsZero lets a line leave out a value that did not change.
func (p patch) IsZero() bool {
	return p.Is == nil && len(p.In) == 0 && len(p.Gone) == 0 && len(p.Order) == 0
}

// parts are the parts of a JSON value that has such: an object's values by key, or a list's objects by id.
type parts struct {
	list bool
	keys []string // in their order; those of an object are sorted
	of   map[string]json.RawMessage
}

// partsOf takes a value apart; false for one that has no parts that can be told from each other.
func partsOf(value json.RawMessage) (p parts, ok bool) {
	switch {
	case len(value) == 0:
	case value[0] == '{':
		if json.Unmarshal(value, &p.of) != nil {
			return p, false
		}
		p.keys = slices.Sorted(maps.Keys(p.of))
		return p, true
	case value[0] == '[':
		var all []json.RawMessage
		if json.Unmarshal(value, &all) != nil {
			return p, false
		}
		p = parts{list: true, keys: make([]string, len(all)), of: make(map[string]json.RawMessage, len(all))}
		for i, one := range all {
			var named struct {
				ID *string `json:"id"`
			}
			if len(one) == 0 || one[0] != '{' || json.Unmarshal(one, &named) != nil || named.ID == nil {
				return p, false
			}
			p.keys[i], p.of[*named.ID] = *named.ID, one
		}
		return p, len(p.of) == len(all)
	}
	return p, false
}

// value puts the parts together again.
func (p parts) value() json.RawMessage {
	var b bytes.Buffer
	left, right := byte('{'), byte('}')
	if p.list {
		left, right = '[', ']'
	}
	b.WriteByte(left)
	for i, key := range p.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		if !p.list {
			name, _ := json.Marshal(key) // a text always encodes
			b.Write(name)
			b.WriteByte(':')
		}
		b.Write(p.of[key])
	}
	b.WriteByte(right)
	return b.Bytes()
}

// keep drops what is gone, and has what is new follow what stays: objects in the order of their keys, lists behind.
func (p *parts) keep(gone []string, added []string) {
	for _, key := range gone {
		delete(p.of, key)
	}
	p.keys = slices.DeleteFunc(p.keys, func(key string) bool { _, there := p.of[key]; return !there })
	p.keys = append(p.keys, added...)
	if !p.list {
		slices.Sort(p.keys)
	}
}

// patchBetween is what turns the value before into the one after.
func patchBetween(before, after json.RawMessage) patch {
	if bytes.Equal(before, after) {
		return patch{}
	}
	was, had := partsOf(before)
	is, has := partsOf(after)
	if !had || !has || was.list != is.list {
		return patch{Is: after}
	}
	p := patch{In: map[string]patch{}}
	var added []string
	for _, key := range is.keys {
		old, there := was.of[key]
		if !there {
			added = append(added, key)
			p.In[key] = patch{Is: is.of[key]}
		} else if change := patchBetween(old, is.of[key]); !change.IsZero() {
			p.In[key] = change
		}
	}
	for _, key := range was.keys {
		if _, stays := is.of[key]; !stays {
			p.Gone = append(p.Gone, key)
		}
	}
	slices.Sort(added)
	if was.keep(p.Gone, added); is.list && !slices.Equal(was.keys, is.keys) {
		p.Order = is.keys
	}
	return p
}

// apply is the value that the patch makes of another one. A damaged line is an error.
func (p patch) apply(before json.RawMessage) (json.RawMessage, error) {
	switch {
	case p.Is != nil:
		return p.Is, nil
	case p.IsZero():
		return before, nil
	}
	was, ok := partsOf(before)
	if !ok {
		return nil, fmt.Errorf("it changes parts of a value that has none")
	}
	var added []string
	for _, key := range slices.Sorted(maps.Keys(p.In)) {
		old, there := was.of[key]
		value, err := p.In[key].apply(old)
		if err != nil {
			return nil, err
		}
		if was.of[key] = value; !there {
			added = append(added, key)
		}
	}
	if was.keep(p.Gone, added); len(p.Order) > 0 {
		was.keys = slices.DeleteFunc(slices.Clone(p.Order), func(key string) bool { _, there := was.of[key]; return !there })
	}
	return was.value(), nil
}
