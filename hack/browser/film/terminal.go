package film

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/color"
	"maps"
	"slices"
	"strings"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// Cells are what a terminal shows.
type Cells interface {
	CellAt(x, y int) *uv.Cell
	Width() int
	Height() int
}

// A run is text of one look.
type run struct {
	at    int // the column where it begins
	text  string
	class string // of [look]
}

// A Screen is a terminal at one time.
type Screen struct {
	lines [][]run
	For   time.Duration // how long it is seen
}

// Look is what a terminal shows now.
func Look(c Cells) Screen {
	s := Screen{lines: make([][]run, c.Height())}
	for y := range s.lines {
		var line []run
		for x := 0; x < c.Width(); x++ {
			cell := c.CellAt(x, y)
			if cell == nil || cell.Width == 0 {
				continue // the second half of a wide character
			}
			class, text := look(cell.Style), cell.Content
			if text == "" {
				text = " "
			}
			if n := len(line); n > 0 && line[n-1].class == class {
				line[n-1].text += text
			} else {
				line = append(line, run{x, text, class})
			}
		}
		if n := len(line); n > 0 && !strings.Contains(line[n-1].class, "r") {
			line[n-1].text = strings.TrimRight(line[n-1].text, " ")
		}
		s.lines[y] = slices.DeleteFunc(line, func(r run) bool { return r.text == "" })
	}
	return s
}

// Same says whether two screens look alike.
func (s Screen) Same(other Screen) bool {
	return slices.EqualFunc(s.lines, other.lines, func(a, b []run) bool { return slices.Equal(a, b) })
}

// look is a style as letters: b bold, f faint, r reversed, y yellow, e red.
func look(s uv.Style) (class string) {
	for _, a := range []struct {
		has    bool
		letter string
	}{{s.Attrs&uv.AttrBold != 0, "b"}, {s.Attrs&uv.AttrFaint != 0, "f"}, {s.Attrs&uv.AttrReverse != 0, "r"}, {is(s.Fg, ansi.Yellow), "y"}, {is(s.Fg, ansi.Red), "e"}} {
		if a.has {
			class += a.letter
		}
	}
	return class
}

func is(c color.Color, basic ansi.BasicColor) bool {
	b, ok := c.(ansi.BasicColor)
	return ok && b == basic
}

// Measures of the picture, in points.
const (
	advance, leading = 8.4, 18.0
	margin, bar      = 12.0, 30.0
)

const style = `svg{background:#0d1117;border-radius:8px}text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d1d7e0;white-space:pre}
.b{fill:#fff;font-weight:700}.f{fill:#8d96a0}.y{fill:#e3b341}.e{fill:#ff7b72}.r{fill:#0d1117}rect.r{fill:#a5c8ff}.s{visibility:hidden}`

// SVG joins screens of one size to a picture that begins anew at its end. It needs no script. Who wants no motion sees the screen of the number still.
func SVG(title string, screens []Screen, still int) []byte {
	total := time.Duration(0)
	wide, high := 0, 0
	for _, s := range screens {
		total += s.For
		high = len(s.lines)
		for _, l := range s.lines {
			for _, r := range l {
				wide = max(wide, r.at+ansi.StringWidth(r.text))
			}
		}
	}
	width, height := float64(wide)*advance+2*margin, float64(high)*leading+margin+bar
	var defs, body, css bytes.Buffer
	css.WriteString(style)
	known := map[string]int{}
	lasts := map[time.Duration]bool{}
	since := time.Duration(0)
	for i, s := range screens {
		class := "s"
		if i == still {
			class = "s still"
		}
		fmt.Fprintf(&body, `<g class="%s d%d" style="animation-delay:%gs">`, class, s.For.Milliseconds(), since.Seconds())
		for y, l := range s.lines {
			if len(l) == 0 {
				continue
			}
			drawn := line(l)
			n, drawnAlready := known[drawn]
			if !drawnAlready {
				n = len(known)
				known[drawn] = n
				fmt.Fprintf(&defs, `<g id="l%d">%s</g>`, n, drawn)
			}
			fmt.Fprintf(&body, `<use href="#l%d" y="%g"/>`, n, float64(y)*leading)
		}
		body.WriteString("</g>\n")
		lasts[s.For] = true
		since += s.For
	}
	for _, d := range slices.Sorted(maps.Keys(lasts)) {
		ms := d.Milliseconds()
		fmt.Fprintf(&css, "\n.d%d{animation:k%d %gs step-end infinite}@keyframes k%d{0%%{visibility:visible}%.4f%%{visibility:hidden}}", ms, ms, total.Seconds(), ms, 100*d.Seconds()/total.Seconds())
	}
	css.WriteString("\n@media (prefers-reduced-motion:reduce){.s{animation:none}.still{visibility:visible}}")
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" role="img"><title>%s</title><style>%s</style>`, width, height, width, height, escaped(title), css.String())
	fmt.Fprintf(&out, `<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/><circle cx="18" cy="15" r="5" fill="#ff5f57"/><circle cx="36" cy="15" r="5" fill="#febc2e"/><circle cx="54" cy="15" r="5" fill="#28c840"/>`)
	fmt.Fprintf(&out, `<text x="%g" y="20" class="f" text-anchor="middle">%s</text><defs>%s</defs><g transform="translate(%g %g)">%s</g></svg>`+"\n", width/2, escaped(title), defs.String(), margin, bar, body.String())
	return out.Bytes()
}

// line is a line at its left end. Each run says how wide it is, so that columns stand in any font.
func line(runs []run) string {
	var rects, spans strings.Builder
	for _, r := range runs {
		x, w := float64(r.at)*advance, float64(ansi.StringWidth(r.text))*advance
		if strings.Contains(r.class, "r") {
			fmt.Fprintf(&rects, `<rect class="r" x="%.4g" width="%.4g" height="%g"/>`, x, w, leading)
		}
		class := ""
		if r.class != "" {
			class = fmt.Sprintf(` class="%s"`, strings.Join(strings.Split(r.class, ""), " "))
		}
		fmt.Fprintf(&spans, `<tspan x="%.4g" textLength="%.4g"%s>%s</tspan>`, x, w, class, escaped(r.text))
	}
	return fmt.Sprintf(`%s<text y="13.5" xml:space="preserve">%s</text>`, rects.String(), spans.String())
}

func escaped(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // a buffer takes all
	return b.String()
}
