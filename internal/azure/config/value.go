package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// block is where the limits for one kind of resource go.
type block struct {
	draft    *draft
	resource string
}

// most is the largest whole number that is taken: more seconds than a century has, and they fit into a Duration.
const most = math.MaxInt32

// set reads a text, as an environment variable or a JSON string, number or truth says it. Its error says what is allowed and not what
// was given.
func set(into any, value string) error {
	switch p := into.(type) {
	case *string:
		*p = value
	case *Secret:
		*p = Secret(value)
	case *bool:
		b, err := strconv.ParseBool(value)
		if err != nil {
			return errors.New("it must be true or false")
		}
		*p = b
	case **bool:
		b := false
		*p = &b
		return set(&b, value)
	case *int:
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || n > most {
			return fmt.Errorf("it must be a whole number from 0 to %d", most)
		}
		*p = n
	case *float64:
		f, err := strconv.ParseFloat(value, 64)
		if err != nil || f < 0 || f > most || math.IsNaN(f) {
			return fmt.Errorf("it must be a number from 0 to %d", most)
		}
		*p = f
	case *time.Duration:
		n := 0
		if set(&n, value) != nil {
			return fmt.Errorf("it must be a whole number of seconds from 0 to %d", most)
		}
		*p = time.Duration(n) * time.Second
	case *map[string]any, block:
		return errors.New("it must be an object")
	}
	return nil
}

// setJSON reads a value of the file. Blank strings and null are absent: given is false.
func setJSON(into any, raw json.RawMessage) (given bool, shown string, err error) {
	switch text := string(bytes.TrimSpace(raw)); {
	case text == "null":
		return false, "", nil
	case strings.HasPrefix(text, "{"):
		shown = "{...}"
		switch p := into.(type) {
		case *map[string]any:
			var m map[string]any
			if err := json.Unmarshal(raw, &m); err != nil {
				return true, shown, errors.New("it must be an object")
			}
			*p = m
			return true, shown, nil
		case block:
			return true, shown, p.set(raw)
		}
		return true, shown, errors.New("it must not be an object")
	case strings.HasPrefix(text, "["):
		return true, "[...]", errors.New("it must not be a list")
	case strings.HasPrefix(text, `"`):
		if err := json.Unmarshal(raw, &shown); err != nil {
			return true, "", errors.New("it must be a string")
		}
		if shown = strings.TrimSpace(shown); shown == "" {
			return false, "", nil
		}
		return true, shown, set(into, shown)
	default: // a number or a truth
		return true, text, set(into, text)
	}
}

// set reads the limits for one kind of resource: the keys of [RateLimit], each with the general key's name.
func (b block) set(raw json.RawMessage) error {
	keys, err := members(raw)
	if err != nil {
		return errors.New("it must be an object")
	}
	limit := RateLimit{}
	fields := map[string]any{
		"cloudproviderratelimit": &limit.Enabled, "cloudproviderratelimitqps": &limit.ReadQPS, "cloudproviderratelimitbucket": &limit.ReadBurst,
		"cloudproviderratelimitqpswrite": &limit.WriteQPS, "cloudproviderratelimitbucketwrite": &limit.WriteBurst,
	}
	for _, m := range keys {
		into, known := fields[strings.ToLower(m.name)]
		if !known {
			return fmt.Errorf("its key %q is none of the five cloudProviderRateLimit keys", m.name)
		}
		if _, shown, err := setJSON(into, m.value); err != nil {
			return fmt.Errorf("%s=%s: %w", m.name, brief(shown), err)
		}
	}
	if b.draft.RateLimit.Clients == nil {
		b.draft.RateLimit.Clients = map[string]RateLimit{}
	}
	b.draft.RateLimit.Clients[b.resource] = limit
	return nil
}

// member is one key of an object with its value, as they stand in the file.
type member struct {
	name  string
	value json.RawMessage
}

// members takes an object apart in the order of the file; a key that is there twice comes twice.
func members(object []byte) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	open, err := d.Token()
	if err != nil {
		return nil, err
	}
	if open != json.Delim('{') {
		return nil, errors.New("it is not a JSON object")
	}
	var out []member
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := member{name: name.(string)} // an object's keys are strings, or Token fails
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	return out, nil
}

// brief is a value as a sentence shows it.
func brief(value string) string {
	value = strings.Join(strings.Fields(value), " ")
	if r := []rune(value); len(r) > 60 {
		return string(r[:60]) + "..."
	}
	return value
}

// typeOf is the setting's type as the documentation has it.
func (s Setting) typeOf() string {
	switch s.into(new(draft)).(type) {
	case *bool, **bool:
		return "true or false"
	case *int:
		return "whole number"
	case *float64:
		return "number"
	case *time.Duration:
		return "seconds"
	case *map[string]any, block:
		return "object"
	case *Secret:
		return "secret"
	}
	return "text"
}
