package report

import "testing"

func TestNobodyForgesALine(t *testing.T) {
	for text, want := range map[string]string{
		"group agents: nodes 3 (min 1) ä漢": "group agents: nodes 3 (min 1) ä漢",
		"a\nb\r\tc\x00":                    `a\nb\r\tc\x00`,
		"\x1b[31mred":                      `\x1b[31mred`,
		"left\u202eright":                  `left\u202eright`,
		"\x9b31mred":                       `\x9b31mred`, // one byte that terminals of eight bits obey, and no UTF-8
		"\u009b31m\ufffd":                  "\\u009b31m\ufffd",
		"\xe6\xbc|ä\xff":                   `\xe6\xbc|ä\xff`, // a character that was cut
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	var p page
	p.line("%s: %s", "a\nb", "c")
	p.row("x\ny", "z")
	p.flush()
	if got, want := p.text.String(), "a\\nb: c\n  x\\ny  z\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
