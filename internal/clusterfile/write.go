package clusterfile

import (
	"bytes"
	"reflect"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Write writes a file that [Parse] reads as the same one: fields in their order, those without a value left out.
func Write(f File) []byte {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(node(reflect.ValueOf(f))); err != nil {
		panic("clusterfile: " + err.Error()) // a tree of texts can be written
	}
	return b.Bytes()
}

// node is a value as YAML; nil where there is nothing to write.
func node(v reflect.Value) *yaml.Node {
	scalar := func(tag, text string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text} }
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return node(v.Elem())
	case reflect.Struct:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for i := range v.NumField() {
			if child := node(v.Field(i)); child != nil {
				n.Content = append(n.Content, scalar("!!str", key(v.Type().Field(i))), child)
			}
		}
		if len(n.Content) == 0 {
			return nil
		}
		return n
	case reflect.Map:
		n := &yaml.Node{Kind: yaml.MappingNode}
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return bytes.Compare([]byte(a.String()), []byte(b.String())) })
		for _, k := range keys {
			n.Content = append(n.Content, scalar("!!str", k.String()), scalar("!!str", v.MapIndex(k).String()))
		}
		if len(keys) == 0 {
			return nil
		}
		return n
	case reflect.Slice:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range v.Len() {
			n.Content = append(n.Content, node(v.Index(i)))
		}
		if v.Len() == 0 {
			return nil
		}
		if v.Type().Elem().Kind() == reflect.String {
			n.Style = yaml.FlowStyle
		}
		return n
	case reflect.Bool:
		return scalar("!!bool", strconv.FormatBool(v.Bool()))
	case reflect.Int:
		return scalar("!!int", strconv.FormatInt(v.Int(), 10))
	case reflect.Float64:
		text := strconv.FormatFloat(v.Float(), 'g', -1, 64)
		if _, err := strconv.Atoi(text); err == nil {
			return scalar("!!int", text) // else it is written with its tag
		}
		return scalar("!!float", text)
	}
	if v.String() == "" {
		return nil
	}
	return scalar("!!str", v.String())
}
