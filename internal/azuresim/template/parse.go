package template

import (
	"strconv"
	"strings"
)

// expr is a node of a parsed expression.
type expr interface{ isExpr() }

type (
	literal struct{ value any } // string or int64
	call    struct {
		name string // as written
		args []expr
	}
	member struct {
		of   expr
		name string
	}
	index struct{ of, at expr }
)

func (literal) isExpr() {}
func (call) isExpr()    {}
func (member) isExpr()  {}
func (index) isExpr()   {}

// expression is what stands between the brackets of "[...]"; false when the text
// is a plain one. A text that begins with "[[" is plain, one bracket less.
func expression(text string) (inner string, plain string, ok bool) {
	if !strings.HasPrefix(text, "[") || !strings.HasSuffix(text, "]") {
		return "", text, false
	}
	if strings.HasPrefix(text, "[[") {
		return "", text[1:], false
	}
	return text[1 : len(text)-1], "", true
}

// parse reads an expression: calls, 'text' with two quotes for one, whole numbers,
// .member and [index].
func parse(source string) (expr, *Error) {
	if len(source) > maxExpression {
		return nil, wrong("", "the expression has %d characters, more than %d", len(source), maxExpression)
	}
	p := &parser{source: source}
	x, err := p.term(0)
	if err != nil {
		return nil, err
	}
	p.space()
	if p.at < len(p.source) {
		return nil, p.fail("unexpected '%s'", p.rest())
	}
	return x, nil
}

type parser struct {
	source string
	at     int
}

func (p *parser) fail(format string, args ...any) *Error {
	e := wrong("", format, args...)
	e.Message = "the expression '" + short(p.source) + "' is not valid: " + e.Message + " at position " + strconv.Itoa(p.at)
	return e
}

func (p *parser) rest() string { return short(p.source[p.at:]) }

// short keeps messages readable, whatever is quoted in them.
func short(text string) string {
	const most = 80
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}

func (p *parser) space() {
	for p.at < len(p.source) && strings.IndexByte(" \t\r\n", p.source[p.at]) >= 0 {
		p.at++
	}
}

// eat takes one character, if it is next.
func (p *parser) eat(c byte) bool {
	p.space()
	if p.at < len(p.source) && p.source[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *parser) term(depth int) (expr, *Error) {
	if depth > maxDepth {
		return nil, p.fail("calls are nested deeper than %d", maxDepth)
	}
	x, err := p.primary(depth)
	if err != nil {
		return nil, err
	}
	for steps := 0; ; steps++ {
		switch {
		case steps > maxDepth:
			return nil, p.fail("more than %d accessors follow each other", maxDepth)
		case p.eat('.'):
			p.space()
			name := p.word()
			if name == "" {
				return nil, p.fail("a property name is missing")
			}
			x = member{x, name}
		case p.eat('['):
			at, err := p.term(depth + 1)
			if err != nil {
				return nil, err
			}
			if !p.eat(']') {
				return nil, p.fail("']' is missing")
			}
			x = index{x, at}
		default:
			return x, nil
		}
	}
}

func (p *parser) primary(depth int) (expr, *Error) {
	p.space()
	if p.at >= len(p.source) {
		return nil, p.fail("something is missing")
	}
	switch c := p.source[p.at]; {
	case c == '\'':
		return p.text()
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	}
	name := p.word()
	if name == "" {
		return nil, p.fail("unexpected '%s'", p.rest())
	}
	if !p.eat('(') {
		return nil, p.fail("'%s' is not followed by '('", name)
	}
	c := call{name: name}
	if p.eat(')') {
		return c, nil
	}
	for {
		arg, err := p.term(depth + 1)
		if err != nil {
			return nil, err
		}
		c.args = append(c.args, arg)
		if p.eat(')') {
			return c, nil
		}
		if !p.eat(',') {
			return nil, p.fail("',' or ')' is missing")
		}
	}
}

func (p *parser) word() string {
	start := p.at
	for p.at < len(p.source) {
		c := p.source[p.at]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (p.at == start || c < '0' || c > '9') {
			break
		}
		p.at++
	}
	return p.source[start:p.at]
}

func (p *parser) text() (expr, *Error) {
	var b strings.Builder
	for p.at++; p.at < len(p.source); p.at++ {
		if c := p.source[p.at]; c != '\'' {
			b.WriteByte(c)
			continue
		}
		if p.at+1 < len(p.source) && p.source[p.at+1] == '\'' {
			b.WriteByte('\'')
			p.at++
			continue
		}
		p.at++
		return literal{b.String()}, nil
	}
	return nil, p.fail("the closing quote is missing")
}

func (p *parser) number() (expr, *Error) {
	start := p.at
	for p.at++; p.at < len(p.source) && p.source[p.at] >= '0' && p.source[p.at] <= '9'; {
		p.at++
	}
	n, err := strconv.ParseInt(p.source[start:p.at], 10, 64)
	if err != nil {
		p.at = start
		return nil, p.fail("'%s' is not a whole number", p.rest())
	}
	return literal{n}, nil
}
