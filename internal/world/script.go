package world

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// A statement is one line of a script.
type statement struct {
	line  int
	text  string // as written, without surrounding blanks
	try   bool   // it may fail
	verb  *verb
	names []string            // what it is about
	set   map[string][]string // settings, by name; a setting that may be repeated has several values
}

// A verb is a kind of statement.
type verb struct {
	name     string
	usage    string   // what follows the name
	about    string   // what it does, for [Help]
	least    int      // how many names it needs
	most     int      // how many names it takes
	settings []string // sorted; nil with raw
	raw      bool     // every word is a name, also one with an equals sign
	setup    bool     // only before sluice starts
	time     bool     // sluice has started when it is done
	quiet    bool     // not told in the transcript, which tells what happens meanwhile
	do       func(*world, *statement) error
	act      func(context.Context, *world, *statement) error // instead of do, for what waits for sluice
}

// parse reads a script. Errors name the line, the word and what is allowed.
func parse(script []byte) ([]statement, error) {
	var all []statement
	for i, raw := range bytes.Split(script, []byte("\n")) {
		if i == mostLines {
			return nil, fmt.Errorf("line %d: a script has at most %d lines", i+1, mostLines)
		}
		text := strings.TrimSpace(string(raw))
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		s, err := parseLine(text)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		s.line = i + 1
		all = append(all, s)
	}
	return all, nil
}

var settingWord = regexp.MustCompile(`^([a-z][a-z0-9-]*)=(.*)$`)

func parseLine(text string) (statement, error) {
	rest, try := strings.CutPrefix(text, "try ")
	words, err := split(rest)
	if err != nil {
		return statement{}, err
	}
	s := statement{text: text, try: try, set: map[string][]string{}}
	if s.verb = verbNamed(words[0]); s.verb == nil {
		return s, fmt.Errorf("%q is no statement of a scenario; there are %s", words[0], strings.Join(verbNames(), ", "))
	}
	v := s.verb
	for _, w := range words[1:] {
		m := settingWord.FindStringSubmatch(w)
		switch {
		case m == nil || v.raw:
			s.names = append(s.names, w)
		case len(v.settings) == 0:
			return s, fmt.Errorf("%s: %q is too much; it has no settings: %s", v.name, w, v.form())
		case !slices.Contains(v.settings, m[1]):
			return s, fmt.Errorf("%s: %q is no setting of it; there are %s", v.name, m[1], strings.Join(v.settings, ", "))
		default:
			s.set[m[1]] = append(s.set[m[1]], m[2])
		}
	}
	switch {
	case len(s.names) < v.least:
		return s, fmt.Errorf("%s: something is missing; write %s", v.name, v.form())
	case len(s.names) > v.most:
		return s, fmt.Errorf("%s: %q is too much; write %s", v.name, s.names[v.most], v.form())
	}
	return s, nil
}

func (v *verb) form() string { return strings.TrimSpace(v.name + " " + v.usage) }

// split cuts a line at blanks, but not inside of double quotes, which are dropped.
func split(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	quoted, begun := false, false
	for _, c := range text {
		switch {
		case c == '"':
			quoted, begun = !quoted, true
		case (c == ' ' || c == '\t') && !quoted:
			if begun {
				words = append(words, word.String())
				word.Reset()
				begun = false
			}
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	if quoted {
		return nil, fmt.Errorf("%s: a double quote is not closed", text)
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}

// Help lists the statements of a script, one paragraph each.
func Help() string {
	var b strings.Builder
	for _, v := range verbs() {
		fmt.Fprintf(&b, "  %s\n      %s\n", v.form(), v.about)
	}
	return b.String()
}

func verbNames() []string {
	var names []string
	for _, v := range verbs() {
		names = append(names, v.name)
	}
	sort.Strings(names)
	return names
}

func verbNamed(name string) *verb {
	for _, v := range verbs() {
		if v.name == name {
			return v
		}
	}
	return nil
}

// bad says that a setting's value is not one, and what would be.
func (s *statement) bad(setting, value, allowed string) error {
	return fmt.Errorf("%s: %s=%s: give %s", s.verb.name, setting, value, allowed)
}

// text is the last value of a setting, or other.
func (s *statement) value(setting, other string) string {
	if vs := s.set[setting]; len(vs) > 0 {
		return vs[len(vs)-1]
	}
	return other
}

func (s *statement) has(setting string) bool { return len(s.set[setting]) > 0 }

func (s *statement) number(setting string, other int) (int, error) {
	if !s.has(setting) {
		return other, nil
	}
	most, listed := mostIn[setting]
	if !listed {
		most = mostOf
	}
	n, ok := counted(s.value(setting, ""), most)
	if !ok {
		return 0, s.bad(setting, s.value(setting, ""), fmt.Sprintf("a whole number from 0 to %d", most))
	}
	return n, nil
}

func (s *statement) duration(setting string, other time.Duration) (time.Duration, error) {
	if !s.has(setting) {
		return other, nil
	}
	d, err := timed(s.value(setting, ""))
	if err != nil {
		return 0, fmt.Errorf("%s: %s=%s: %w", s.verb.name, setting, s.value(setting, ""), err)
	}
	return d, nil
}

func (s *statement) quantity(setting string) (resource.Quantity, bool, error) {
	if !s.has(setting) {
		return resource.Quantity{}, false, nil
	}
	q, err := resource.ParseQuantity(s.value(setting, ""))
	if err != nil || q.Sign() < 0 {
		return q, false, s.bad(setting, s.value(setting, ""), "a quantity such as 500m, 3 or 4Gi")
	}
	return q, true, nil
}

// pairs are the values of a setting as key=value; nil when there are none.
func (s *statement) pairs(setting string) (map[string]string, error) {
	var all map[string]string
	for _, v := range s.set[setting] {
		key, value, ok := strings.Cut(v, "=")
		if !ok || key == "" {
			return nil, s.bad(setting, v, "key=value")
		}
		if all == nil {
			all = map[string]string{}
		}
		all[key] = value
	}
	return all, nil
}

// resources are the values of a setting as name=quantity.
func (s *statement) resources(setting string) (corev1.ResourceList, error) {
	var all corev1.ResourceList
	for _, v := range s.set[setting] {
		name, amount, _ := strings.Cut(v, "=")
		q, err := resource.ParseQuantity(amount)
		if err != nil || q.Sign() < 0 || !strings.Contains(name, "/") && !strings.HasPrefix(name, corev1.ResourceHugePagesPrefix) {
			return nil, s.bad(setting, v, "an extended resource or huge pages and how much of it, such as example.com/licence=2 or hugepages-2Mi=1Gi")
		}
		all = withResource(all, corev1.ResourceName(name), q)
	}
	return all, nil
}

// taints are the values of a setting as key=value:Effect or key:Effect.
func (s *statement) taints(setting string) ([]corev1.Taint, error) {
	var all []corev1.Taint
	for _, v := range s.set[setting] {
		t, ok := taint(v)
		if !ok {
			return nil, s.bad(setting, v, taintForm)
		}
		all = append(all, t)
	}
	return all, nil
}

const taintForm = "key=value:NoSchedule, or another effect: NoExecute, PreferNoSchedule"

// taint reads key=value:Effect or key:Effect.
func taint(text string) (corev1.Taint, bool) {
	rest, effect, _ := strings.Cut(text, ":")
	key, value, _ := strings.Cut(rest, "=")
	t := corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}
	known := []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule}
	return t, key != "" && slices.Contains(known, t.Effect)
}

// one of some words, the first of them by default.
func (s *statement) oneOf(setting string, words ...string) (string, error) {
	v := s.value(setting, words[0])
	if !slices.Contains(words, v) {
		return "", s.bad(setting, v, strings.Join(words, ", "))
	}
	return v, nil
}
