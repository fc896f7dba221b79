package clusterfile

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
)

// schema is a JSON schema, with its keywords in the order in which people read them.
type schema struct {
	Dialect     string             `json:"$schema,omitempty"`
	Title       string             `json:"title,omitempty"`
	Description string             `json:"description,omitempty"`
	Type        any                `json:"type,omitempty"`
	Enum        []string           `json:"enum,omitempty"`
	Pattern     string             `json:"pattern,omitempty"`
	Minimum     *int               `json:"minimum,omitempty"`
	Maximum     *int               `json:"maximum,omitempty"`
	Default     any                `json:"default,omitempty"`
	Examples    []string           `json:"examples,omitempty"`
	Items       *schema            `json:"items,omitempty"`
	Required    []string           `json:"required,omitempty"`
	Properties  *properties        `json:"properties,omitempty"`
	Closed      *bool              `json:"additionalProperties,omitempty"`
	Others      map[string]*schema `json:"patternProperties,omitempty"`
}

// properties are the fields of an object in the order of the file, which a map would lose.
type properties struct {
	names []string
	of    map[string]*schema
}

// MarshalJSON writes an object.
func (p *properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, name := range p.names {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := json.Marshal(p.of[name])
		if err != nil {
			return nil, err
		}
		b.WriteString(strconv.Quote(name) + ":")
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Schema is the JSON schema of the file, for editors: each field with its description, default, values and limits. What one field means for another it
// cannot say; [Parse] does.
func Schema() []byte {
	s := schemaOf(reflect.TypeFor[File](), "")
	s.Dialect, s.Title = "http://json-schema.org/draft-07/schema#", "A cluster for sluice"
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(s); err != nil {
		panic("clusterfile: " + err.Error()) // nothing in it comes from outside
	}
	return b.Bytes()
}

func schemaOf(t reflect.Type, path string) *schema {
	s := &schema{}
	row := described[path]
	if row == nil {
		row = &Field{}
	}
	s.Description = row.Doc
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem(), path)
	case reflect.Struct:
		s.Type, s.Closed, s.Properties = "object", new(bool), &properties{of: map[string]*schema{}}
		for i := range t.NumField() {
			name := key(t.Field(i))
			s.Properties.names = append(s.Properties.names, name)
			s.Properties.of[name] = schemaOf(t.Field(i).Type, join(path, name))
			if below := described[join(path, name)]; below != nil && below.Required {
				s.Required = append(s.Required, name)
			}
		}
	case reflect.Slice:
		s.Type, s.Items = "array", schemaOf(t.Elem(), path+"[]")
	case reflect.Map:
		s.Type = "object"
		s.Others = map[string]*schema{"": {Type: []string{"string", "number", "boolean"}}}
	case reflect.Bool:
		s.Type, s.Default = "boolean", row.Default == "true"
	case reflect.Int:
		s.Type, s.Minimum, s.Maximum = "integer", &row.Least, &row.Most
		if n, err := strconv.Atoi(row.Default); err == nil {
			s.Default = n
		}
	case reflect.Float64:
		s.Type = "number"
		if n, err := strconv.ParseFloat(row.Default, 64); err == nil {
			s.Default = n
		}
	default:
		s.Type, s.Enum, s.Pattern = "string", row.OneOf, row.Form.pattern
		if row.Default != "" {
			s.Default = row.Default
		}
		if row.Such != "" {
			s.Examples = []string{row.Such}
		}
	}
	return s
}
