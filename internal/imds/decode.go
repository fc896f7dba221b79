package imds

import (
	"regexp"
	"strings"
)

var (
	// fieldsText are the fields, from the outermost in, that the Azure SDK names around what it could not decode.
	fieldsText = regexp.MustCompile(`struct field (\w+)`)
	// valueText is what encoding/json says of a value that is not what is expected: what it is, and its path where it has one.
	valueText = regexp.MustCompile(`cannot unmarshal (\w+)(?: \S+)? into Go (?:struct field [^.\s]*\.(\S+)|value)`)
	madeText  = regexp.MustCompile(`unmarshalling type|invalid character|end of JSON input|Go value|Go struct`)
)

// Undecodable says in words what is wrong with a JSON document, from the error of who decoded it and without the names of its types: "field sku.capacity
// holds a string". It is "" for an error that is about something else.
func Undecodable(err error) string {
	text := err.Error()
	if !madeText.MatchString(text) {
		return ""
	}
	var path []string
	for _, m := range fieldsText.FindAllStringSubmatch(text, -1) {
		path = append(path, m[1])
	}
	value := valueText.FindStringSubmatch(text)
	if len(value) == 3 && value[2] != "" {
		path = append(path[:0], value[2])
	}
	subject := "it"
	if len(path) > 0 {
		subject = "field " + strings.Join(path, ".")
	}
	switch {
	case value != nil:
		return subject + " holds " + article(value[1])
	case strings.Contains(text, "invalid character '<'"):
		return "it is a page (HTML) and not JSON"
	case strings.Contains(text, "end of JSON input"):
		return "it breaks off"
	}
	return subject + " is not what Azure documents"
}

// article puts "a" or "an" before the kind of a JSON value.
func article(kind string) string {
	if kind == "bool" {
		kind = "truth value"
	}
	if strings.HasPrefix(kind, "a") || strings.HasPrefix(kind, "o") {
		return "an " + kind
	}
	return "a " + kind
}
