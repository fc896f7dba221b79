package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// draft is a Config on its way: what is decided from several settings together has its parts here.
type draft struct {
	Config

	identitySystem, authMethod, vmType string
	tenant, client, certificate        string
	secret, certificatePassword        Secret
	managed, workload                  bool
	userAssigned, tokenFile            string
	flexible, predictions              *bool
	said                               map[string]string // by the setting's name: where its value comes from and the value, as a sentence may show them
	unknown                            []string          // keys of the file that no row has
	repeated                           []string          // keys of the file that stand there twice
	file                               string            // its name
}

// Parse reads the file, which is nil when there is none, and the environment. Name is what errors call the file. Every error is one sentence
// with the key or the variable, the value unless it is a secret, and what is allowed.
func Parse(file []byte, name string, getenv func(string) string) (Config, error) {
	d := &draft{said: map[string]string{}, file: name}
	given, err := d.read(file)
	if err != nil {
		return Config{}, err
	}
	for _, s := range Settings {
		into := s.into(d)
		for _, key := range append([]string{s.Key}, s.Older...) {
			m, ok := given[strings.ToLower(key)]
			if key == "" || !ok {
				continue
			}
			has, shown, err := setJSON(into, m.value)
			said := fmt.Sprintf("%s: %s=%s", name, m.name, visible(into, shown))
			if err != nil {
				return Config{}, fmt.Errorf("%s: %w", said, err)
			}
			if has {
				d.said[s.name()] = said
			}
		}
		for _, v := range s.Variables {
			value := strings.TrimSpace(getenv(v))
			if value == "" {
				continue
			}
			said := v + "=" + visible(into, value)
			if err := set(into, value); err != nil {
				return Config{}, fmt.Errorf("%s: %w", said, err)
			}
			d.said[s.name()] = said
		}
		if err := d.judge(s, into); err != nil {
			return Config{}, err
		}
	}
	if err := d.decide(); err != nil {
		return Config{}, err
	}
	for _, k := range d.repeated {
		d.note("%s has the key %s twice: the last one counts", name, k)
	}
	for _, k := range d.unknown {
		d.note("%s has the key %q, which is none that sluice or cloud-provider-azure knows: it has no effect", name, brief(k))
	}
	return d.Config, nil
}

// WithoutApplication is an environment in which there is no application to sign in as: for a person who has chosen another identity.
func WithoutApplication(getenv func(string) string) func(string) string {
	return func(name string) string {
		for _, s := range Settings {
			if s.application && slices.Contains(s.Variables, name) {
				return ""
			}
		}
		return getenv(name)
	}
}

// read takes the file apart: its members by their names in lower case.
func (d *draft) read(file []byte) (map[string]member, error) {
	if file == nil {
		return nil, nil
	}
	keys, err := members(file)
	if err != nil {
		line := 0
		var bad *json.SyntaxError
		if errors.As(err, &bad) {
			line = 1 + strings.Count(string(file[:min(int(bad.Offset), len(file))]), "\n")
		}
		if line > 0 {
			return nil, fmt.Errorf("%s: it is not JSON from line %d on; it must be an azure.json: one object of keys and values", d.file, line)
		}
		return nil, fmt.Errorf("%s: it is not a whole JSON object; it must be an azure.json: one object of keys and values", d.file)
	}
	known := map[string]bool{}
	for _, s := range Settings {
		for _, k := range append([]string{s.Key}, s.Older...) {
			known[strings.ToLower(k)] = true
		}
	}
	for _, k := range foreign {
		known[strings.ToLower(k)] = true
	}
	given := map[string]member{}
	for _, m := range keys {
		k := strings.ToLower(m.name)
		if _, twice := given[k]; twice {
			d.repeated = append(d.repeated, m.name)
		}
		given[k] = m
		if !known[k] {
			d.unknown = append(d.unknown, m.name)
		}
	}
	return given, nil
}

// judge holds a setting that was given against its standing.
func (d *draft) judge(s Setting, into any) error {
	if d.said[s.name()] == "" {
		return nil
	}
	zero := func() bool { return reflect.ValueOf(into).Elem().IsZero() } // of these standings, into is a pointer
	switch s.Standing {
	case Refused:
		if !zero() {
			return fmt.Errorf("%s is refused: %s", d.said[s.name()], s.About)
		}
	case Always:
		if zero() {
			d.note("%s has no effect: %s", d.said[s.name()], s.About)
		}
	case Idle:
		on, isSwitch := into.(*bool)
		if _, isText := into.(*string); isText && !zero() || isSwitch && *on {
			d.note("%s has no effect: %s", d.said[s.name()], s.About)
		}
	}
	return nil
}

// name is the setting's in a draft's said.
func (s Setting) name() string {
	if s.Key == "" {
		return s.Variables[0]
	}
	return s.Key
}

func (d *draft) note(format string, args ...any) {
	d.Notes = append(d.Notes, fmt.Sprintf(format, args...))
}

// visible is a value as texts may show it.
func visible(into any, value string) string {
	if _, secret := into.(*Secret); secret {
		return hidden
	}
	return brief(value)
}
