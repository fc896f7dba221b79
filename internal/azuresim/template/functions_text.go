package template

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

var textFunctions = map[string]function{
	"string":         {1, 1, func(_ *env, a []any) (any, *Error) { return fromText(toText(a[0])) }, nil},
	"tolower":        {1, 1, mapText(strings.ToLower), nil},
	"toupper":        {1, 1, mapText(strings.ToUpper), nil},
	"trim":           {1, 1, mapText(strings.TrimSpace), nil},
	"base64":         {1, 1, mapText(func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }), nil},
	"base64tostring": {1, 1, fromBase64, nil},
	"json":           {1, 1, fromJSON, nil},
	"replace":        {3, 3, replace, nil},
	"substring":      {2, 3, substring, nil},
	"split":          {2, 2, split, nil},
	"join":           {2, 2, join, nil},
	"padleft":        {2, 3, padLeft, nil},
	"format":         {1, -1, format, nil},
	"guid":           {1, -1, guid, nil},
	"uniquestring":   {1, -1, uniqueString, nil},
	"startswith":     {2, 2, ask(strings.HasPrefix), nil},
	"endswith":       {2, 2, ask(strings.HasSuffix), nil},
}

func fromText(s string, p *Error) (any, *Error) { return s, p }

func mapText(f func(string) string) func(*env, []any) (any, *Error) {
	return func(_ *env, args []any) (any, *Error) {
		s, p := text(args, 0)
		return f(s), p
	}
}

// ask compares two texts ignoring case.
func ask(f func(a, b string) bool) func(*env, []any) (any, *Error) {
	return func(_ *env, args []any) (any, *Error) {
		s, p := texts(args)
		if p != nil {
			return nil, p
		}
		return f(strings.ToLower(s[0]), strings.ToLower(s[1])), nil
	}
}

func fromBase64(_ *env, args []any) (any, *Error) {
	s, p := text(args, 0)
	if p != nil {
		return nil, p
	}
	raw, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil, wrong("", "the value is not base64")
	}
	return string(raw), nil
}

func fromJSON(_ *env, args []any) (any, *Error) {
	s, p := text(args, 0)
	if p != nil {
		return nil, p
	}
	var v any
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, wrong("", "the value is not JSON")
	}
	return numbers(v), nil
}

// room is refused above this, before a function builds it.
const room = 1 << 20

func replace(_ *env, args []any) (any, *Error) {
	s, p := texts(args)
	switch {
	case p != nil:
		return nil, p
	case s[1] == "":
		return nil, wrong("", "the text to replace is empty")
	case strings.Count(s[0], s[1])*len(s[2]) > room:
		return nil, wrong("", "the result is too long")
	}
	return strings.ReplaceAll(s[0], s[1], s[2]), nil
}

func substring(_ *env, args []any) (any, *Error) {
	s, p := text(args, 0)
	if p != nil {
		return nil, p
	}
	runes := []rune(s)
	start, p := number(args, 1)
	if p != nil {
		return nil, p
	}
	length := int64(len(runes)) - start
	if len(args) == 3 {
		if length, p = number(args, 2); p != nil {
			return nil, p
		}
	}
	if start < 0 || length < 0 || start > int64(len(runes)) || length > int64(len(runes))-start {
		return nil, wrong("", "start '%d' and length '%d' are not within a text of %d characters", start, length, len(runes))
	}
	return string(runes[start : start+length]), nil
}

// split cuts at one delimiter, or at each of an array of them.
func split(_ *env, args []any) (any, *Error) {
	s, p := text(args, 0)
	if p != nil {
		return nil, p
	}
	delimiters, ok := args[1].([]any)
	if !ok {
		delimiters = []any{args[1]}
	}
	cuts, p := texts(delimiters)
	if p != nil {
		return nil, p
	}
	parts := []string{s}
	for _, cut := range cuts {
		if cut == "" {
			continue
		}
		var finer []string
		for _, part := range parts {
			finer = append(finer, strings.Split(part, cut)...)
		}
		parts = finer
	}
	out := make([]any, 0, len(parts))
	for _, part := range parts {
		out = append(out, part)
	}
	return out, nil
}

func join(_ *env, args []any) (any, *Error) {
	list, ok := args[0].([]any)
	if !ok {
		return nil, wrong("", "argument 1 must be of type 'Array', not of type '%s'", kindOf(args[0]))
	}
	with, p := text(args, 1)
	if p != nil {
		return nil, p
	}
	if len(list)*len(with) > room {
		return nil, wrong("", "the result is too long")
	}
	return concatTexts(list, with)
}

func concatTexts(list []any, with string) (any, *Error) {
	var b strings.Builder
	for n, item := range list {
		s, p := toText(item)
		if p != nil {
			return nil, p
		}
		if n > 0 {
			b.WriteString(with)
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

func padLeft(_ *env, args []any) (any, *Error) {
	s, p := toText(args[0])
	if p != nil {
		return nil, p
	}
	width, p := number(args, 1)
	if p != nil {
		return nil, p
	}
	with := " "
	if len(args) == 3 {
		if with, p = text(args, 2); p != nil {
			return nil, p
		}
	}
	if utf8.RuneCountInString(with) != 1 || width < 0 || width > room {
		return nil, wrong("", "the padding must be one character, and the width in the range 0..%d", room)
	}
	missing := int(width) - utf8.RuneCountInString(s)
	return strings.Repeat(with, max(0, missing)) + s, nil
}

// format knows {n}, and {n:Dw} and {n:000} for whole numbers.
func format(_ *env, args []any) (any, *Error) {
	s, p := text(args, 0)
	if p != nil {
		return nil, p
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '{' && c != '}' {
			b.WriteByte(c)
			continue
		}
		if i+1 < len(s) && s[i+1] == c {
			b.WriteByte(c)
			i++
			continue
		}
		end := strings.IndexByte(s[i:], '}')
		if c == '}' || end < 0 {
			return nil, wrong("", "the format has a brace without its pair")
		}
		place, p := placeholder(s[i+1:i+end], args[1:])
		if p != nil {
			return nil, p
		}
		if b.Len()+len(place) > room {
			return nil, wrong("", "the result is too long")
		}
		b.WriteString(place)
		i += end
	}
	return b.String(), nil
}

func placeholder(spec string, args []any) (string, *Error) {
	number, style, styled := strings.Cut(spec, ":")
	n, err := strconv.Atoi(strings.TrimSpace(number))
	if err != nil || n < 0 || n >= len(args) {
		return "", wrong("", "the placeholder '{%s}' names no argument", short(spec))
	}
	if !styled {
		return toText(args[n])
	}
	value, whole := args[n].(int64)
	width := len(style)
	if digits, ok := strings.CutPrefix(strings.ToUpper(style), "D"); ok {
		width, err = strconv.Atoi(digits)
	} else if strings.Trim(style, "0") != "" {
		whole = false
	}
	if !whole || err != nil || width < 0 || width > 99 {
		return "", wrong("", "the placeholder '{%s}' is not simulated", short(spec))
	}
	return fmt.Sprintf("%0*d", width, value), nil
}

// guid and uniqueString depend on their arguments alone. Their values are not
// Azure's: what is promised is that the same arguments give the same value.

func guid(_ *env, args []any) (any, *Error) {
	sum, p := digest("guid", args)
	sum[6], sum[8] = sum[6]&0x0f|0x50, sum[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]), p
}

func uniqueString(_ *env, args []any) (any, *Error) {
	sum, p := digest("uniqueString", args)
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:13]), p
}

func digest(purpose string, args []any) ([sha256.Size]byte, *Error) {
	s, p := texts(args)
	return sha256.Sum256([]byte(fmt.Sprintf("%s%q", purpose, s))), p
}
