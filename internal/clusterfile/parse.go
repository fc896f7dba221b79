package clusterfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	mostBytes = 1 << 20 // a larger file is something else
	mostItems = 200     // of one list or map: no cluster has more, and Azure no more tags
)

// Parse reads a file. Without problems the file is complete and can be rendered; with any it is as far as it could be read.
//
// Of a file with a subnet that is there and without its range, the range stays empty: [ParseIn] is given it.
func Parse(text []byte) (File, Problems) { return ParseIn(text, "") }

// ParseIn is [Parse] for a subnet that is there, with the range that Azure says it has. A range in the file wins.
func ParseIn(text []byte, subnet string) (File, Problems) {
	d := decoder{lines: map[string]int{}, subnet: subnet}
	var f File
	d.fill(reflect.ValueOf(&f).Elem(), "")
	root, ok := d.document(text)
	if !ok {
		return f, d.problems.sorted()
	}
	if other := d.version(root); other {
		return f, d.problems.sorted()
	}
	d.value(reflect.ValueOf(&f).Elem(), root, "")
	d.complete(&f)
	d.check(&f)
	return f, d.problems.sorted()
}

// decoder reads one file and gathers what is wrong with it.
type decoder struct {
	problems Problems
	lines    map[string]int // of every field that is in the file, by its path
	subnet   string         // range of a subnet that is there; "" is not known
}

// wrong adds a problem at a field. A field that is not in the file has the line of the nearest one around it.
func (d *decoder) wrong(path, remedy, what string, args ...any) {
	line, at := 0, path
	for line == 0 && at != "" {
		if line = d.lines[at]; line == 0 {
			at = at[:max(strings.LastIndexAny(at, ".["), 0)]
		}
	}
	d.problems = append(d.problems, Problem{Line: line, Field: printable(path), What: fmt.Sprintf(what, args...), Remedy: remedy})
}

// document is the one mapping of the text.
func (d *decoder) document(text []byte) (*yaml.Node, bool) {
	fail := func(line int, what, remedy string) (*yaml.Node, bool) {
		d.problems = append(d.problems, Problem{Line: line, What: what, Remedy: remedy})
		return nil, false
	}
	if len(text) > mostBytes {
		return fail(0, "the file is larger than 1 MiB", "give a file that describes one cluster")
	}
	var root, more yaml.Node
	reader := yaml.NewDecoder(bytes.NewReader(text))
	switch err := reader.Decode(&root); {
	case errors.Is(err, io.EOF):
		return fail(0, "the file is empty", "write one with sluice cluster init")
	case err != nil:
		line, what := position(err)
		if at := tabbed(text, line); at > 0 {
			return fail(at, "a tab indents the line, which YAML does not allow", "indent it by spaces")
		}
		return fail(line, "the file is no YAML: "+what, "mend it there or in the line before")
	}
	if err := reader.Decode(&more); !errors.Is(err, io.EOF) {
		return fail(max(more.Line, 0), "the file has a second document", "give each cluster a file of its own")
	}
	if len(root.Content) != 1 || root.Content[0].Kind != yaml.MappingNode {
		return fail(1, "the file is no mapping of fields", "write one with sluice cluster init")
	}
	return root.Content[0], true
}

// tabbed is the line about which the YAML reader complains, or the next one, if a tab indents it; 0 for neither.
func tabbed(text []byte, line int) int {
	lines := strings.Split(string(text), "\n")
	for n := max(line, 1); n <= min(line+1, len(lines)); n++ {
		if bare := strings.TrimLeft(lines[n-1], " \t"); strings.Contains(lines[n-1][:len(lines[n-1])-len(bare)], "\t") {
			return n
		}
	}
	return 0
}

var atLine = regexp.MustCompile(`^line (\d+): `)

// position takes an error of the YAML reader apart: "yaml: line 3: mapping values are not allowed".
func position(err error) (int, string) {
	text, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "yaml: "), "\n")
	m := atLine.FindStringSubmatch(text)
	if m == nil {
		return 0, text
	}
	line, _ := strconv.Atoi(m[1])
	return line, text[len(m[0]):]
}

// version says whether the file is for another sluice: then nothing else of it is read.
func (d *decoder) version(root *yaml.Node) bool {
	for i := 0; i+1 < len(root.Content); i += 2 {
		if at := root.Content[i+1]; root.Content[i].Value == "apiVersion" && at.Kind == yaml.ScalarNode && at.Value != APIVersion && at.Value != "" {
			d.lines["apiVersion"] = at.Line
			d.wrong("apiVersion", "give "+APIVersion+", or use the sluice that wrote the file", "%s is another version of this file", short(at.Value))
			return true
		}
	}
	return false
}

// fill sets the defaults of a struct and of those in it.
func (d *decoder) fill(v reflect.Value, path string) {
	for i := range v.NumField() {
		at := join(path, key(v.Type().Field(i)))
		field := v.Field(i)
		if field.Kind() == reflect.Struct {
			d.fill(field, at)
			continue
		}
		row := described[at]
		if row == nil || row.Default == "" {
			continue
		}
		switch field.Kind() {
		case reflect.String:
			field.SetString(row.Default)
		case reflect.Int:
			n, _ := strconv.Atoi(row.Default)
			field.SetInt(int64(n))
		case reflect.Bool:
			field.SetBool(row.Default == "true")
		case reflect.Float64:
			n, _ := strconv.ParseFloat(row.Default, 64)
			field.SetFloat(n)
		}
	}
}

// value reads a node into a value. A node without a value changes nothing.
func (d *decoder) value(v reflect.Value, n *yaml.Node, path string) {
	d.lines[path] = n.Line
	if n.Kind == yaml.AliasNode {
		d.wrong(path, "write the value out", "aliases are not read")
		return
	}
	if n.Tag == "!!null" {
		if v.Kind() == reflect.Pointer { // such as spot: that it is there says something, and a value that was lost would say the opposite
			d.wrong(path, "give {}, or leave it out", "is empty")
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		made := reflect.New(v.Type().Elem())
		d.fill(made.Elem(), index(path))
		d.value(made.Elem(), n, path)
		v.Set(made)
	case reflect.Struct:
		d.object(v, n, path)
	case reflect.Map:
		d.texts(v, n, path)
	case reflect.Slice:
		d.list(v, n, path)
	default:
		d.scalar(v, n, path)
	}
}

// pairs are the members of a mapping, each name once.
func (d *decoder) pairs(n *yaml.Node, path string, each func(name string, key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		d.wrong(path, "write fields with their names below it", "is %s and no mapping", kindOf(n))
		return
	}
	if len(n.Content) > 2*mostItems {
		d.wrong(path, "leave some out", "has more than %d members", mostItems)
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode {
			d.wrong(path, "give names that are texts", "has a name that is none")
			continue
		}
		if line, twice := seen[k.Value]; twice {
			d.lines[join(path, k.Value)] = k.Line
			d.wrong(join(path, k.Value), fmt.Sprintf("leave one out; the other is in line %d", line), "is there twice")
			continue
		}
		seen[k.Value] = k.Line
		each(k.Value, k, n.Content[i+1])
	}
}

func (d *decoder) object(v reflect.Value, n *yaml.Node, path string) {
	names := map[string]int{}
	for i := range v.NumField() {
		names[key(v.Type().Field(i))] = i
	}
	given := map[string]bool{}
	d.pairs(n, path, func(name string, k, value *yaml.Node) {
		at := join(path, name)
		if why, known := refused[index(at)]; known {
			d.lines[at] = k.Line
			d.wrong(at, why[1], "%s", why[0])
			return
		}
		i, known := names[name]
		if !known {
			remedy := "leave it out"
			if near := Nearest(name, slices.Collect(maps.Keys(names))); near != "" {
				remedy = "did you mean " + near + "?"
				given[near] = true // so that it is not missing as well
			} else {
				remedy += "; there are " + strings.Join(slices.Sorted(maps.Keys(names)), ", ")
			}
			d.lines[at] = k.Line
			d.wrong(join(path, name), remedy, "there is no such field")
			return
		}
		given[name] = value.Tag != "!!null" && (value.Kind != yaml.ScalarNode || value.Value != "")
		d.value(v.Field(i), value, at)
	})
	if n.Kind != yaml.MappingNode {
		return
	}
	for i := range v.NumField() {
		name := key(v.Type().Field(i))
		row := described[index(join(path, name))]
		if row == nil || !row.Required || given[name] {
			continue
		}
		d.wrong(join(path, name), remedyOf(row), "is missing")
	}
}

// remedyOf says what a field takes.
func remedyOf(row *Field) string {
	switch {
	case len(row.OneOf) > 0:
		return "give " + either(row.OneOf)
	case row.Form.says != "" && row.Such != "":
		return row.Form.says + ", such as " + row.Such
	case row.Form.says != "":
		return row.Form.says
	case row.Most > 0:
		return fmt.Sprintf("give %d to %d", row.Least, row.Most)
	case row.Such != "":
		return "give it, such as " + row.Such
	}
	return "give it"
}

func (d *decoder) texts(v reflect.Value, n *yaml.Node, path string) {
	all := map[string]string{}
	d.pairs(n, path, func(name string, k, value *yaml.Node) {
		d.lines[join(path, name)] = k.Line
		if value.Kind != yaml.ScalarNode {
			d.wrong(join(path, name), "give a text", "is %s", kindOf(value))
			return
		}
		all[name] = plain(value)
	})
	if len(all) > 0 {
		v.Set(reflect.ValueOf(all))
	}
}

func (d *decoder) list(v reflect.Value, n *yaml.Node, path string) {
	if n.Kind != yaml.SequenceNode {
		d.wrong(path, "write a list, each item after a -", "is %s and no list", kindOf(n))
		return
	}
	if len(n.Content) > mostItems {
		d.wrong(path, "leave some out", "has more than %d items", mostItems)
		return
	}
	for i, item := range n.Content {
		at := fmt.Sprintf("%s[%d]", path, i)
		made := reflect.New(v.Type().Elem()).Elem()
		if made.Kind() == reflect.Struct {
			d.fill(made, index(at))
		}
		if item.Tag == "!!null" {
			d.lines[at] = item.Line
			d.wrong(at, "leave the item out", "is empty")
			continue
		}
		d.value(made, item, at)
		v.Set(reflect.Append(v, made))
	}
}

func (d *decoder) scalar(v reflect.Value, n *yaml.Node, path string) {
	row := described[index(path)]
	if n.Kind != yaml.ScalarNode {
		d.wrong(path, remedyOf(row), "is %s", kindOf(n))
		return
	}
	text := plain(n)
	switch v.Kind() {
	case reflect.String:
		if text == "" {
			return // as if it were not there
		}
		if v.SetString(text); len(row.OneOf) > 0 && !slices.Contains(row.OneOf, text) {
			remedy := remedyOf(row)
			if near := Nearest(text, row.OneOf); near != "" {
				remedy = "did you mean " + near + "?"
			}
			d.wrong(path, remedy, "%s is none of its values", short(text))
		} else if !row.Form.matches(text) {
			d.wrong(path, remedyOf(row), "%s is no such name", short(text))
		}
	case reflect.Bool:
		if text != "true" && text != "false" {
			d.wrong(path, "give true or false", "%s is neither true nor false", short(text))
		}
		v.SetBool(text == "true")
	case reflect.Int:
		i, err := strconv.Atoi(text)
		if err != nil {
			d.wrong(path, fmt.Sprintf("give %d to %d", row.Least, row.Most), "%s is no whole number", short(text))
		} else if i < row.Least || i > row.Most {
			d.wrong(path, fmt.Sprintf("give %d to %d", row.Least, row.Most), "%d is out of its limits", i)
		}
		v.SetInt(int64(i))
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			d.wrong(path, "give a number", "%s is no number", short(text))
		}
		v.SetFloat(x)
	}
}

// plain is a scalar as it is written: yes and 010 stay what they are.
func plain(n *yaml.Node) string {
	if n.Tag == "!!null" {
		return ""
	}
	return n.Value
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	return "a single value"
}

// index is a path as the table has it: pools[3].size is pools[].size.
func index(path string) string { return numbers.ReplaceAllString(path, "[]") }

var numbers = regexp.MustCompile(`\[\d+\]`)

// short keeps what is quoted from the file readable.
func short(text string) string {
	const most = 60
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return strconv.Quote(text)
}

// printable is the path of a field as it is said: names that are none may be in it.
func printable(path string) string {
	const most = 200
	if len(path) > most {
		path = path[:most] + "..."
	}
	if quoted := strconv.Quote(path); quoted != `"`+path+`"` {
		return quoted
	}
	return path
}

// either is a list with "or" before its last.
func either(all []string) string {
	last := len(all) - 1
	if last == 0 {
		return all[0]
	}
	return strings.Join(all[:last], ", ") + " or " + all[last]
}

// Nearest is the name that differs least, "" when none is near: a slip or two, or another letter case.
func Nearest(name string, all []string) string {
	best, least := "", 3
	for _, other := range slices.Sorted(slices.Values(all)) {
		if strings.EqualFold(name, other) {
			return other
		}
		if n := distance(strings.ToLower(name), strings.ToLower(other)); n < least && n <= len(other)/2 {
			best, least = other, n
		}
	}
	return best
}

// distance is how many letters must be put in, taken out, replaced, or exchanged with the next. Long texts are far from each other.
func distance(a, b string) int {
	const most = 64
	if len(a) > most || len(b) > most {
		return most
	}
	var last, row []int
	next := make([]int, len(b)+1)
	for j := range next {
		next[j] = j
	}
	for i := range len(a) {
		last, row, next = row, next, make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			next[j+1] = 1 + min(row[j], row[j+1], next[j])
			if a[i] == b[j] {
				next[j+1] = row[j]
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], last[j-1]+1)
			}
		}
	}
	return next[len(b)]
}
