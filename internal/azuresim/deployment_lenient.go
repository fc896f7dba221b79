package azuresim

import (
	"bytes"
	"encoding/json"
)

// lenient is a body of a deployment as strict JSON. Resource Manager reads such bodies as its library does: with comments, names without quotes and
// commas behind the last member. az relies on it: it writes the template's file as it is, below a name without quotes.
func lenient(body []byte) []byte {
	if json.Valid(body) {
		return body
	}
	var out bytes.Buffer
	for i := 0; i < len(body); {
		rest := body[i:]
		switch c := body[i]; {
		case c == '"':
			n := quotedLength(rest)
			out.Write(rest[:n])
			i += n
		case bytes.HasPrefix(rest, []byte("//")):
			i += lengthTo(rest, "\n")
		case bytes.HasPrefix(rest, []byte("/*")):
			i += lengthTo(rest, "*/")
		case c == ',' && closes(rest[1:]):
			i++
		case letter(c):
			n := 1
			for n < len(rest) && (letter(rest[n]) || rest[n] >= '0' && rest[n] <= '9') {
				n++
			}
			if after := bytes.TrimLeft(rest[n:], " \t\r\n"); len(after) > 0 && after[0] == ':' {
				out.WriteByte('"')
				out.Write(rest[:n])
				out.WriteByte('"')
			} else {
				out.Write(rest[:n])
			}
			i += n
		default:
			out.WriteByte(c)
			i++
		}
	}
	return out.Bytes()
}

func letter(c byte) bool {
	return c == '_' || c == '$' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// quotedLength is how long the text is that begins with a quote.
func quotedLength(s []byte) int {
	for n := 1; n < len(s); n++ {
		switch s[n] {
		case '\\':
			n++
		case '"':
			return n + 1
		}
	}
	return len(s)
}

// lengthTo is how long it is to the end of a mark, or of everything.
func lengthTo(s []byte, mark string) int {
	if at := bytes.Index(s, []byte(mark)); at >= 0 {
		return at + len(mark)
	}
	return len(s)
}

// closes says whether the next that is no comment ends an object or a list.
func closes(s []byte) bool {
	for {
		s = bytes.TrimLeft(s, " \t\r\n")
		switch {
		case bytes.HasPrefix(s, []byte("//")):
			s = s[lengthTo(s, "\n"):]
		case bytes.HasPrefix(s, []byte("/*")):
			s = s[lengthTo(s, "*/"):]
		default:
			return len(s) > 0 && (s[0] == '}' || s[0] == ']')
		}
	}
}
