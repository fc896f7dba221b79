package azuresim

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"sigs.k8s.io/yaml"
)

// decoder reads YAML or JSON into the exported structs of this package. A field's
// name in a file is its Go name in lower camel case, and is found in any case.
// Durations are written 90s or 20m, times as RFC 3339 or as a duration from the
// start, distributions as [ParseDistribution] takes them. Every error begins with
// the path of its field and ends with the remedy.
type decoder struct {
	start time.Time // what times that are durations are counted from
}

// decode reads a document into a pointer to a struct.
func (d decoder) decode(document []byte, into any) error {
	var raw any
	if err := yaml.UnmarshalStrict(document, &raw); err != nil {
		return fmt.Errorf("read YAML: %w", err)
	}
	if raw == nil {
		return nil
	}
	return d.set(reflect.ValueOf(into).Elem(), raw, "")
}

func at(path string, format string, args ...any) error {
	if path == "" {
		path = "document"
	}
	return fmt.Errorf("%s: "+format, append([]any{path}, args...)...)
}

// set puts what a document says at a path into a value.
func (d decoder) set(v reflect.Value, raw any, path string) error {
	if raw == nil {
		return nil
	}
	switch v.Interface().(type) {
	case time.Duration:
		text, ok := raw.(string)
		length, err := time.ParseDuration(text)
		if !ok || err != nil {
			return at(path, "%v is not a duration: write it with its unit, such as 90s, 20m or 1h30m", raw)
		}
		v.SetInt(int64(length))
		return nil
	case time.Time:
		text, _ := raw.(string)
		if after, err := time.ParseDuration(text); err == nil {
			v.Set(reflect.ValueOf(d.start.Add(after)))
			return nil
		}
		when, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return at(path, "%v is not a time: write how long after the start, such as 10m, or 2026-05-01T22:00:00Z", raw)
		}
		v.Set(reflect.ValueOf(when.UTC()))
		return nil
	case Distribution:
		text, _ := raw.(string)
		dist, err := ParseDistribution(text)
		if err != nil {
			return at(path, "%v %w", raw, err)
		}
		v.Set(reflect.ValueOf(dist))
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		if err := d.set(p.Elem(), raw, path); err != nil {
			return err
		}
		v.Set(p)
		return nil
	case reflect.Struct:
		return d.setStruct(v, raw, path)
	case reflect.Slice:
		return d.setSlice(v, raw, path)
	case reflect.Map:
		return d.setMap(v, raw, path)
	}
	return d.setScalar(v, raw, path)
}

func (d decoder) setScalar(v reflect.Value, raw any, path string) error {
	switch v.Kind() {
	case reflect.String:
		switch raw := raw.(type) {
		case string:
			v.SetString(raw)
		case bool, float64: // an id or a tag that YAML takes for a number
			v.SetString(fmt.Sprint(raw))
		default:
			return at(path, "%v is not text: write one word or a quoted sentence", raw)
		}
	case reflect.Bool:
		b, ok := raw.(bool)
		if !ok {
			return at(path, "%v is neither true nor false", raw)
		}
		v.SetBool(b)
	case reflect.Float64:
		f, ok := raw.(float64)
		if !ok {
			return at(path, "%v is not a number", raw)
		}
		v.SetFloat(f)
	case reflect.Int, reflect.Int64, reflect.Uint64:
		f, ok := raw.(float64)
		if !ok || f != math.Trunc(f) || v.Kind() == reflect.Uint64 && f < 0 {
			return at(path, "%v is not a whole number", raw)
		}
		if v.Kind() == reflect.Uint64 {
			v.SetUint(uint64(f))
		} else {
			v.SetInt(int64(f))
		}
	default:
		return at(path, "cannot be written in a file")
	}
	return nil
}

func (d decoder) setStruct(v reflect.Value, raw any, path string) error {
	m, ok := raw.(map[string]any)
	if !ok {
		return at(path, "%v is not a mapping: write its fields as name: value", raw)
	}
	for _, key := range slices.Sorted(mapKeys(m)) {
		field, ok := v.Type().FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, key) })
		if !ok || !field.IsExported() {
			return at(join(path, key), "there is no such field; there are %s", strings.Join(fieldNames(v.Type()), ", "))
		}
		if err := d.set(v.FieldByIndex(field.Index), m[key], join(path, fileName(field.Name))); err != nil {
			return err
		}
	}
	return nil
}

func (d decoder) setSlice(v reflect.Value, raw any, path string) error {
	list, ok := raw.([]any)
	if !ok {
		return at(path, "%v is not a list: write its items after dashes, or between [ and ]", raw)
	}
	all := reflect.MakeSlice(v.Type(), len(list), len(list))
	for n, item := range list {
		if err := d.set(all.Index(n), item, fmt.Sprintf("%s[%d]", path, n)); err != nil {
			return err
		}
	}
	v.Set(all)
	return nil
}

func (d decoder) setMap(v reflect.Value, raw any, path string) error {
	m, ok := raw.(map[string]any)
	if !ok {
		return at(path, "%v is not a mapping: write it as name: value", raw)
	}
	all := reflect.MakeMapWithSize(v.Type(), len(m))
	for _, key := range slices.Sorted(mapKeys(m)) {
		item := reflect.New(v.Type().Elem()).Elem()
		if err := d.set(item, m[key], join(path, key)); err != nil {
			return err
		}
		all.SetMapIndex(reflect.ValueOf(key), item)
	}
	v.Set(all)
	return nil
}

func mapKeys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range m {
			if !yield(key) {
				return
			}
		}
	}
}

func join(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}

// fieldNames are the names of a struct's fields in a file.
func fieldNames(t reflect.Type) []string {
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if f.IsExported() && !f.Anonymous {
			names = append(names, fileName(f.Name))
		}
	}
	return names
}

// fileName is a Go name in lower camel case: ScaleSet is scaleSet, TenantID is
// tenantId, VCPUs is vcpus.
func fileName(name string) string {
	runes := []rune(name)
	var b strings.Builder
	for n, r := range runes {
		starts := n > 0 && unicode.IsUpper(r) && unicode.IsLower(runes[n-1])
		ends := n > 0 && unicode.IsUpper(r) && n+2 < len(runes) && unicode.IsLower(runes[n+1]) && unicode.IsLower(runes[n+2])
		if !starts && !ends {
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}

// encode is a value as it would stand in a file, without what is zero; what is
// counted in a state is told even when it is none.
func encode(v reflect.Value) any {
	switch x := v.Interface().(type) {
	case time.Duration:
		return x.String()
	case time.Time:
		return x.Format(time.RFC3339)
	case Distribution:
		return x.String()
	}
	switch v.Kind() {
	case reflect.Pointer:
		return encode(v.Elem())
	case reflect.Struct:
		out := map[string]any{}
		state := strings.HasSuffix(v.Type().Name(), "State")
		for _, f := range reflect.VisibleFields(v.Type()) {
			field := v.FieldByIndex(f.Index)
			counted := state && len(f.Index) == 1 && field.Kind() == reflect.Int
			if f.IsExported() && !f.Anonymous && (counted || !field.IsZero()) {
				out[fileName(f.Name)] = encode(field)
			}
		}
		return out
	case reflect.Slice:
		out := make([]any, v.Len())
		for n := range out {
			out[n] = encode(v.Index(n))
		}
		return out
	}
	return v.Interface()
}

// ParseDistribution reads a distribution: "90s" always takes that, "60s..180s"
// anything between, "about 150s" is lognormal around that median with a sigma of
// 0.25, "about 150s 0.4" with another.
func ParseDistribution(text string) (Distribution, error) {
	const remedy = `is not a distribution: write 90s, 60s..180s, "about 150s" or "about 150s 0.4"`
	if low, high, ok := strings.Cut(text, ".."); ok {
		a, errA := time.ParseDuration(low)
		b, errB := time.ParseDuration(high)
		if errA != nil || errB != nil || a < 0 || b < a {
			return Distribution{}, errors.New(remedy)
		}
		return Uniform(a, b), nil
	}
	if rest, ok := strings.CutPrefix(text, "about "); ok {
		length, spread, given := strings.Cut(strings.TrimSpace(rest), " ")
		median, err := time.ParseDuration(length)
		sigma := 0.25
		if given && err == nil {
			sigma, err = strconv.ParseFloat(spread, 64)
		}
		if err != nil || median < 0 || sigma < 0 {
			return Distribution{}, errors.New(remedy)
		}
		return Lognormal(median, sigma), nil
	}
	length, err := time.ParseDuration(text)
	if err != nil || length < 0 {
		return Distribution{}, errors.New(remedy)
	}
	return Fixed(length), nil
}

// String is the distribution as [ParseDistribution] takes it; "" for the zero
// value.
func (d Distribution) String() string {
	length := func(seconds float64) string { return time.Duration(seconds * float64(time.Second)).String() }
	switch d.kind {
	case fixed:
		return length(d.a)
	case uniform:
		return length(d.a) + ".." + length(d.b)
	case lognormal:
		return fmt.Sprintf("about %s %v", length(d.a), d.b)
	}
	return ""
}
