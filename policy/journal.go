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
// and one that nobody knows is passed over. A journal has a policy where it begins and where it changes, so this may take milliseconds.
func (p *Policy) UnmarshalJSON(data []byte) error {
	for _, at := range places {
		value := json.RawMessage(data)
		for name := range strings.SplitSeq(at.key, ".") {
			var object map[string]json.RawMessage
			if err := json.Unmarshal(value, &object); err != nil {
				return fmt.Errorf("the policy's %s: %w", at.key, err)
			}
			if value = object[name]; value == nil {
				break
			}
		}
		if value == nil {
			continue
		}
		if err := json.Unmarshal(value, at.in(p).Addr().Interface()); err != nil {
			return fmt.Errorf("the policy's %s: %w", at.key, err)
		}
	}
	return nil
}
