package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
)

// patch is what turns one JSON value into another. Objects are compared by their keys, and lists of objects that have ids by these, see [idKeys]: a
// machine of a thousand that changes costs itself alone. The zero patch changes nothing.
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

// idKeys are the keys one of which tells the objects of a list apart, such as machines, conditions and containers, in the order in which they are
// tried.
var idKeys = []string{"id", "type", "name"}

// parts are the parts of a JSON value that has such: an object's values by key, or a list's objects by id.
type parts struct {
	list bool
	id   string   // of a list, by which key its objects are told apart
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
		for _, id := range idKeys {
			if p, ok = byID(all, id); ok {
				break
			}
		}
		return p, ok
	}
	return p, false
}

// byID takes a list apart by a key of its objects; false where one has none, or two have the same.
func byID(all []json.RawMessage, id string) (p parts, ok bool) {
	p = parts{list: true, id: id, keys: make([]string, len(all)), of: make(map[string]json.RawMessage, len(all))}
	for i, one := range all {
		var object map[string]json.RawMessage
		var key *string
		if len(one) == 0 || one[0] != '{' || json.Unmarshal(one, &object) != nil || json.Unmarshal(object[id], &key) != nil || key == nil {
			return p, false
		}
		p.keys[i], p.of[*key] = *key, one
	}
	return p, len(p.of) == len(all)
}

// rekey drops the keys of what is gone, and has what is new follow what stays: objects in the order of their keys, lists behind.
func (p *parts) rekey(there func(string) bool, added []string) {
	p.keys = slices.DeleteFunc(p.keys, func(key string) bool { return !there(key) })
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
	if !had || !has || was.list != is.list || was.id != is.id {
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
	stays := func(key string) bool { _, stays := is.of[key]; return stays }
	if was.rekey(stays, added); is.list && !slices.Equal(was.keys, is.keys) {
		p.Order = is.keys
	}
	return p
}

// apply is the value that the patch makes of another one. A damaged line is an error.
func (p patch) apply(before json.RawMessage) (json.RawMessage, error) {
	t := tree{raw: before}
	err := t.apply(p)
	return t.value(), err
}

// tree is a JSON value that patches change in place: it is taken apart where they have done so, and nowhere else. So a patch costs what it changes,
// however large the value is.
type tree struct {
	raw   json.RawMessage // nil while only the branches say it
	apart parts           // without its values
	at    map[string]*tree
}

// apply changes the value. A damaged line is an error.
func (t *tree) apply(p patch) error {
	switch {
	case p.Is != nil:
		*t = tree{raw: p.Is}
		return nil
	case p.IsZero():
		return nil
	}
	if t.at == nil {
		apart, ok := partsOf(t.raw)
		if !ok {
			return errors.New("it changes parts of a value that has none")
		}
		t.at = make(map[string]*tree, len(apart.of))
		for key, raw := range apart.of {
			t.at[key] = &tree{raw: raw}
		}
		t.apart = apart
		t.apart.of = nil
	}
	t.raw = nil
	var added []string
	for key, change := range p.In {
		if t.at[key] == nil {
			added, t.at[key] = append(added, key), &tree{}
		}
		if err := t.at[key].apply(change); err != nil {
			return err
		}
	}
	for _, key := range p.Gone {
		delete(t.at, key)
	}
	there := func(key string) bool { return t.at[key] != nil }
	if len(added)+len(p.Gone) > 0 {
		slices.Sort(added)
		t.apart.rekey(there, added)
	}
	if len(p.Order) > 0 {
		t.apart.keys = slices.DeleteFunc(slices.Clone(p.Order), func(key string) bool { return !there(key) })
	}
	return nil
}

// value is the value whole.
func (t *tree) value() json.RawMessage {
	if t.raw != nil || t.at == nil {
		return t.raw
	}
	var b bytes.Buffer
	left, right := byte('{'), byte('}')
	if t.apart.list {
		left, right = '[', ']'
	}
	b.WriteByte(left)
	for i, key := range t.apart.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		if !t.apart.list {
			name, _ := json.Marshal(key) // a text always encodes
			b.Write(name)
			b.WriteByte(':')
		}
		b.Write(t.at[key].value())
	}
	b.WriteByte(right)
	t.raw = b.Bytes()
	return t.raw
}
