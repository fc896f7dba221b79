package policy

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// MarshalJSON writes the policy as a journal has it, by the keys of the table.
func (p Policy) MarshalJSON() ([]byte, error) {
	whole := map[string]any{}
	for _, at := range places {
		v := at.in(&p)
		if v.IsZero() && (at.omit || v.Kind() == reflect.Slice || v.Kind() == reflect.String) {
			continue
		}
		into, key := whole, at.key
		for outer, rest, inner := strings.Cut(key, "."); inner; outer, rest, inner = strings.Cut(key, ".") {
			if into[outer] == nil {
				into[outer] = map[string]any{}
			}
			into, key = into[outer].(map[string]any), rest
		}
		into[key] = v.Interface()
	}
	return json.Marshal(whole)
}

// UnmarshalJSON reads what [Policy.MarshalJSON] wrote, in this release or an earlier one. A key that is missing leaves the field as it is,
// and one that nobody knows is passed over.
func (p *Policy) UnmarshalJSON(data []byte) error { return p.read("", data) }

// read takes in the object of all keys that begin with a prefix.
func (p *Policy) read(prefix string, data []byte) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil {
		return err
	}
	for name, value := range object {
		key, inner := prefix+name, false
		for _, at := range places {
			if at.key == key {
				if err := json.Unmarshal(value, at.in(p).Addr().Interface()); err != nil {
					return fmt.Errorf("the policy's %s: %w", key, err)
				}
			}
			inner = inner || strings.HasPrefix(at.key, key+".")
		}
		if inner {
			if err := p.read(key+".", value); err != nil {
				return err
			}
		}
	}
	return nil
}
