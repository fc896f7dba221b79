package clusterfile

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// ErrByHand is that a file is written in a way in which no change of its text is safe.
var ErrByHand = errors.New("the file's pools are written in a way that is left to you: change them there by hand")

// AddPool is a file with one pool more, at the end of its pools. Nothing else of the text changes. Of the pool only what is set is written. Problems
// are those that the file has with the pool; lines are of the text that is returned.
func AddPool(text []byte, p Pool) ([]byte, error) {
	e, err := read(text)
	if err != nil {
		return nil, err
	}
	e.want.Pools = append(e.want.Pools, p)
	pools := e.pools
	switch {
	case pools == nil:
		e.insert(len(text), lineBreak(text)+"pools:\n"+blockPool(p, "  "))
	case pools.Kind != yaml.SequenceNode:
		return nil, ErrByHand
	case pools.Style&yaml.FlowStyle != 0:
		start := e.offset(pools)
		end := pastFlow(text, start) - 1
		if end < 0 {
			return nil, ErrByHand
		}
		last := bytes.TrimRight(text[:end], " \n\t,")
		if len(pools.Content) == 0 {
			e.insert(len(last), flowPool(p))
		} else {
			e.insert(len(last), ", "+flowPool(p))
		}
	default:
		dash, _, end := e.item(len(pools.Content) - 1)
		e.insert(end, lineBreak(text[:end])+blockPool(p, strings.Repeat(" ", dash)))
	}
	return e.done(true)
}

// SetPool is a file in which a pool has another min and max. Nothing else of the text changes.
func SetPool(text []byte, name string, least, most int) ([]byte, error) {
	e, err := read(text)
	if err != nil {
		return nil, err
	}
	i, err := e.named(name)
	if err != nil {
		return nil, err
	}
	e.want.Pools[i].Min, e.want.Pools[i].Max = least, most
	of := e.pools.Content[i]
	minimum, maximum := member(of, "min"), member(of, "max")
	if maximum[1] == nil {
		return nil, ErrByHand
	}
	e.replace(maximum[1], strconv.Itoa(most))
	switch {
	case minimum[1] != nil:
		e.replace(minimum[1], strconv.Itoa(least))
	case least == 0:
	case of.Style&yaml.FlowStyle != 0:
		e.insert(e.offset(maximum[0]), fmt.Sprintf("min: %d, ", least))
	default:
		e.insert(e.lineEnd(maximum[1].Line), fmt.Sprintf("%smin: %d\n", strings.Repeat(" ", maximum[0].Column-1), least))
	}
	return e.done(false)
}

// RemovePool is a file without a pool and the comment right above it. Nothing else of the text changes.
func RemovePool(text []byte, name string) ([]byte, error) {
	e, err := read(text)
	if err != nil {
		return nil, err
	}
	i, err := e.named(name)
	if err != nil {
		return nil, err
	}
	e.want.Pools = slices.Delete(e.want.Pools, i, i+1)
	items := e.pools.Content
	switch {
	case e.pools.Style&yaml.FlowStyle == 0 && len(items) == 1:
		_, start, end := e.item(0)
		line := e.key.Line
		e.cut(start, end)
		e.insert(e.lineEnd(line)-len(lineBreak([]byte("x"))), " []")
	case e.pools.Style&yaml.FlowStyle == 0:
		_, start, end := e.item(i)
		e.cut(start, end)
	case i+1 < len(items):
		e.cut(e.offset(items[i]), e.offset(items[i+1]))
	default:
		start, end := e.offset(items[i]), pastFlow(text, e.offset(items[i]))
		if end < 0 {
			return nil, ErrByHand
		}
		if i > 0 {
			start = len(bytes.TrimRight(text[:start], " \n\t,"))
		}
		e.cut(start, end)
	}
	return e.done(false)
}

// edit is a change of a file's text.
type edit struct {
	text    []byte
	was     File
	want    File
	key     *yaml.Node // of the pools
	pools   *yaml.Node // nil where the file has none
	changes []change
}

// change puts a text in the place of another.
type change struct {
	from, to int
	with     string
}

func read(text []byte) (*edit, error) {
	e := &edit{text: text}
	var problems Problems
	if e.was, problems = Parse(text); len(problems) > 0 {
		return nil, problems.Err()
	}
	e.want = e.was
	e.want.Pools = slices.Clone(e.was.Pools)
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("read the cluster file: %w", err)
	}
	both := member(root.Content[0], "pools")
	if e.key, e.pools = both[0], both[1]; e.pools != nil && e.pools.Kind == yaml.ScalarNode {
		return nil, ErrByHand // a null
	}
	return e, nil
}

// member is a key of a mapping with its value; nil where it is not there.
func member(of *yaml.Node, key string) (both [2]*yaml.Node) {
	for i := 0; i+1 < len(of.Content); i += 2 {
		if of.Kind == yaml.MappingNode && of.Content[i].Value == key {
			return [2]*yaml.Node{of.Content[i], of.Content[i+1]}
		}
	}
	return both
}

// named is the place of a pool.
func (e *edit) named(name string) (int, error) {
	i := slices.IndexFunc(e.was.Pools, func(p Pool) bool { return p.Name == name })
	if i < 0 {
		var names []string
		for _, p := range e.was.Pools {
			names = append(names, p.Name)
		}
		return 0, fmt.Errorf("the file has no pool %s: it has %s", name, strings.Join(names, ", "))
	}
	if e.pools.Kind != yaml.SequenceNode || len(e.pools.Content) != len(e.was.Pools) || e.pools.Content[i].Kind != yaml.MappingNode {
		return 0, ErrByHand
	}
	return i, nil
}

// lineStart is where a line begins; lines count from 1.
func (e *edit) lineStart(line int) (at int) {
	for ; line > 1; line-- {
		next := bytes.IndexByte(e.text[at:], '\n')
		if next < 0 {
			return len(e.text)
		}
		at += next + 1
	}
	return at
}

// lineEnd is where the line after begins.
func (e *edit) lineEnd(line int) int { return e.lineStart(line + 1) }

// offset is where a node begins. Its column counts characters.
func (e *edit) offset(n *yaml.Node) int {
	at := e.lineStart(n.Line)
	for column := n.Column; column > 1 && at < len(e.text); column-- {
		_, size := utf8.DecodeRune(e.text[at:])
		at += size
	}
	return at
}

// item is a pool of a list in lines: the column of its dash from 0 on, where the comment above it begins, and where its last line ends.
func (e *edit) item(i int) (dash, start, end int) {
	n := e.pools.Content[i]
	start = e.lineStart(n.Line)
	line := func(at int) []byte {
		if next := bytes.IndexByte(e.text[at:], '\n'); next >= 0 {
			return e.text[at : at+next+1]
		}
		return e.text[at:]
	}
	indent := func(l []byte) int { return len(l) - len(bytes.TrimLeft(l, " ")) }
	dash = indent(line(start))
	end = start + len(line(start))
	for at := end; at < len(e.text); {
		l := line(at)
		at += len(l)
		if len(bytes.TrimSpace(l)) == 0 {
			continue // it belongs to the item where more of it follows
		}
		if indent(l) <= dash {
			break
		}
		end = at
	}
	for start > 0 {
		above := bytes.LastIndexByte(e.text[:start-1], '\n') + 1
		if l := line(above); indent(l) != dash || l[dash] != '#' {
			break
		}
		start = above
	}
	return dash, start, end
}

// pastFlow is the offset behind a list or a mapping in brackets, -1 where it has no end.
func pastFlow(text []byte, at int) int {
	depth := 0
	for ; at < len(text); at++ {
		switch c := text[at]; c {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return at + 1
			}
		case '"', '\'':
			if bytes.IndexByte([]byte(" \n\t,[{:"), text[at-1]) < 0 {
				continue // inside of a word
			}
			for at++; at < len(text) && text[at] != c; at++ {
				if c == '"' && text[at] == '\\' {
					at++
				}
			}
		case '#':
			if text[at-1] == ' ' || text[at-1] == '\n' || text[at-1] == '\t' {
				for at < len(text) && text[at] != '\n' {
					at++
				}
			}
		}
	}
	return -1
}

func (e *edit) insert(at int, text string) { e.changes = append(e.changes, change{at, at, text}) }
func (e *edit) cut(from, to int)           { e.changes = append(e.changes, change{from, to, ""}) }

// replace puts a text in the place of a plain value.
func (e *edit) replace(n *yaml.Node, text string) {
	at := e.offset(n)
	if bytes.HasPrefix(e.text[at:], []byte(n.Value)) {
		e.changes = append(e.changes, change{at, at + len(n.Value), text})
	}
}

// done is the changed text. It must be read as what was wanted: what this file does not understand of YAML is found here. With defaults the last pool
// is a new one, which is read with more in it than it was given.
func (e *edit) done(defaults bool) ([]byte, error) {
	slices.SortFunc(e.changes, func(a, b change) int { return b.from - a.from })
	text := bytes.Clone(e.text)
	for _, c := range e.changes {
		text = slices.Concat(text[:c.from], []byte(c.with), text[c.to:])
	}
	got, problems := Parse(text)
	if len(problems) > 0 {
		if defaults || slices.ContainsFunc(problems, func(p Problem) bool {
			return strings.HasPrefix(p.Field, "pools") || strings.HasPrefix(p.Field, "network")
		}) {
			return nil, problems.Err()
		}
		return nil, ErrByHand
	}
	if last := len(got.Pools) - 1; defaults && last == len(e.want.Pools)-1 && got.Pools[last].Name == e.want.Pools[last].Name {
		e.want.Pools[last] = got.Pools[last]
	}
	if len(got.Pools) == 0 && len(e.want.Pools) == 0 {
		got.Pools, e.want.Pools = nil, nil
	}
	if !reflect.DeepEqual(got, e.want) {
		return nil, ErrByHand
	}
	return text, nil
}

// lineBreak ends the last line of a text where that is not ended.
func lineBreak(text []byte) string {
	if len(text) == 0 || text[len(text)-1] == '\n' {
		return ""
	}
	return "\n"
}

// poolNode is what is set of a pool.
func poolNode(p Pool) *yaml.Node {
	n := node(reflect.ValueOf(p))
	var kept []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, n.Content[i+1].Value
		if key != "min" && (value == "0" || value == "false") {
			continue // its default
		}
		kept = append(kept, n.Content[i], n.Content[i+1])
	}
	if p.Spot != nil && *p.Spot == (Spot{}) {
		kept = slices.DeleteFunc(kept, func(n *yaml.Node) bool {
			return n.Value == "spot" || n.Kind == yaml.MappingNode && member(n, "maxPrice")[0] != nil
		})
		kept = append(kept, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "spot"}, &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle})
	}
	n.Content = kept
	return n
}

func encoded(n *yaml.Node) string {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(n); err != nil {
		panic("clusterfile: " + err.Error()) // a tree of texts can be written
	}
	return strings.TrimRight(b.String(), "\n")
}

// blockPool is a pool as an item of a list in lines.
func blockPool(p Pool, indent string) string {
	lines := strings.Split(encoded(poolNode(p)), "\n")
	return indent + "- " + strings.Join(lines, "\n"+indent+"  ") + "\n"
}

// flowPool is a pool in brackets.
func flowPool(p Pool) string {
	n := poolNode(p)
	n.Style = yaml.FlowStyle
	return encoded(n)
}
