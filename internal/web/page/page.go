// Package page writes what the port shows to a browser: HTML and SVG made on the server from package view, read-only, without anything from outside.
// A page is a frame with parts; each part has a key, by which a refresh replaces those that changed. Every link is relative, so that the page works
// behind the API server's proxy.
package page

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/internal/view"
	"sluice.dev/sluice/reason"
)

//go:embed assets/page.css assets/page.js assets/icon.svg
var assets embed.FS

//go:embed templates/*.html
var texts embed.FS

// Asset is the style, the script or the icon; an error for another name.
func Asset(name string) ([]byte, error) { return assets.ReadFile("assets/" + name) }

// ContentSecurityPolicy is what a browser may do with a page: nothing but what this server sends, and no script or style within the page.
const ContentSecurityPolicy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// Frame is what all pages have around their parts.
type Frame struct {
	Root    string        // of all links: "./" or "../" as often as the address is deep
	View    string        // now, time, why or azure
	Title   string        // of the window
	Cluster string        // "" when nobody named it
	Version string        // of the program
	Leader  string        // who leads, "" for this process alone
	Sent    time.Time     // by this process's clock
	Cycle   uint64        // that is shown
	Time    time.Time     // of that cycle
	Past    bool          // it is not the latest
	Stale   time.Duration // how old the latest may be before it is no longer live
	Before  time.Time     // a cycle before that one, zero for none that is known
	After   time.Time     // the one after it
	Modes   []Mode        // that change what sluice does
	Here    string        // this page's own address, below the root
	Keep    url.Values
}

// Mode is one sentence above all parts.
type Mode struct {
	Warn bool
	Text string
}

// Link is an address of another page at the same time.
func (f Frame) Link(path string) string {
	if len(f.Keep) == 0 {
		return f.Root + path
	}
	return f.Root + path + "?" + f.Keep.Encode()
}

// At is the address of a page in the cycle at a time; the zero time is now.
func (f Frame) At(path string, t time.Time) string {
	if t.IsZero() {
		return f.Root + path
	}
	return f.Root + path + "?" + url.Values{"at": {t.UTC().Format(time.RFC3339Nano)}}.Encode()
}

// Why is the address of a thing's page.
func (f Frame) Why(about reason.Ref) string { return f.Link(path(about)) }

func path(about reason.Ref) string {
	parts := strings.Split(about.Name, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return "why/" + string(about.Kind) + "/" + strings.Join(parts, "/")
}

// shown is the frame and the parts of one page.
type shown struct {
	Frame
	Body any
}

var pages = func() map[string]*template.Template {
	all := map[string]*template.Template{}
	base := template.Must(template.New("frame").Funcs(functions).ParseFS(texts, "templates/frame.html", "templates/parts.html"))
	for _, name := range []string{"now", "time", "why", "start", "azure", "found", "problem"} {
		all[name] = template.Must(template.Must(base.Clone()).ParseFS(texts, "templates/"+name+".html"))
	}
	return all
}()

// Write writes a page: the parts of a kind, from a body of its type.
func Write(w io.Writer, kind string, f Frame, body any) error {
	return pages[kind].ExecuteTemplate(w, "frame", shown{f, body})
}

// Problem is the body of a page that says why there is nothing to show.
type Problem struct {
	Title string
	Text  string
	Near  []reason.Ref // that may have been meant
}

var functions = template.FuncMap{
	"clock": clock, "until": until, "since": since, "usd": usd, "price": price, "span": Span, "said": said, "lasting": lasting, "amount": amount, "zones": zones, "thousands": thousands, "percent": percent, "plural": plural, "text": text, "dict": dict,
	"bar": bar, "tile": tile, "density": density, "legend": legend, "needfree": needFree, "share": share, "add": func(a, b int) int { return a + b },
	"outcome": outcome, "why": path, "ref": func(kind string, name any) reason.Ref {
		return reason.Ref{Kind: reason.Kind(kind), Name: fmt.Sprint(name)}
	},
}

// text is what came from a cluster or a cloud, safe to show: without control characters, and cut where it is longer than anybody reads.
func text(v any) string {
	const most = 600
	s := report.Printable(fmt.Sprint(v))
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + " … (" + fmt.Sprint(len(r)-most) + " more characters)"
	}
	return s
}

// dict makes a map of names and values, for templates that call others with more than one.
func dict(pairs ...any) map[string]any {
	all := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		all[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return all
}

// clock is a time of day in UTC, which the script turns into the reader's zone.
func clock(t time.Time) template.HTML {
	if t.IsZero() {
		return "unknown"
	}
	t = t.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime=%q data-show="clock">%s</time>`, t.Format(time.RFC3339), t.Format("15:04:05"))) //nolint:gosec // made of digits
}

// until counts down to a time, as seen from another one.
func until(t, now time.Time, word string) template.HTML {
	if t.IsZero() {
		return ""
	}
	left := max(0, t.Sub(now))
	return template.HTML(fmt.Sprintf(`<span class="countdown" data-until=%q data-word=%q>%s%s</span>`, //nolint:gosec // made of digits and a word of ours
		t.UTC().Format(time.RFC3339), template.HTMLEscapeString(word), template.HTMLEscapeString(word), Short(left)))
}

// since counts up from a time, as seen from another one.
func since(t, now time.Time, after string) template.HTML {
	if t.IsZero() {
		return "unknown"
	}
	return template.HTML(fmt.Sprintf(`<span class="countdown" data-since=%q data-after=%q>%s%s</span>`, //nolint:gosec // made of digits and a word of ours
		t.UTC().Format(time.RFC3339), template.HTMLEscapeString(after), Span(now.Sub(t)), template.HTMLEscapeString(after)))
}

// Short is a duration as a countdown shows it, such as 0:42 or 1 h 45 m.
func Short(d time.Duration) string {
	if d >= time.Hour {
		return Span(d)
	}
	s := int(max(0, d).Seconds())
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// Span is a duration in two units at most, such as 3 m 12 s or 2 h 5 m.
func Span(d time.Duration) string {
	s := int(max(0, d).Round(time.Second).Seconds())
	switch {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 600 && s%60 > 0:
		return fmt.Sprintf("%d m %d s", s/60, s%60)
	case s < 3600:
		return fmt.Sprintf("%d m", s/60)
	case s < 172800 && s/60%60 > 0:
		return fmt.Sprintf("%d h %d m", s/3600, s/60%60)
	case s < 172800:
		return fmt.Sprintf("%d h", s/3600)
	}
	return fmt.Sprintf("%d d", s/86400)
}

// usd is a sum, and the word where it is unknown.
func usd(v *float64) string {
	if v == nil {
		return "unknown"
	}
	return Money(*v)
}

// price is what one machine costs, and the word where it is unknown.
func price(v *float64) string {
	if v == nil {
		return "unknown"
	}
	return fmt.Sprintf("%.3f", *v)
}

// Money is a sum in USD, with thousands apart.
func Money(v float64) string {
	whole, part, _ := strings.Cut(fmt.Sprintf("%.2f", v), ".")
	return apart(whole) + "." + part
}

// thousands is a whole number with thousands apart.
func thousands(n any) string { return apart(fmt.Sprint(n)) }

// apart parts digits in threes from the right.
func apart(s string) string {
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%s %ss", thousands(n), word)
}

func percent(share float64) string {
	if share < 0 {
		return "none"
	}
	return fmt.Sprintf("%.0f %%", share*100)
}

// zones are the names of zones, the ends alone of those that begin as the first one does: westeurope-1, -2, -3.
func zones(all []string) []string {
	out := slices.Clone(all)
	for i := 1; i < len(all); i++ {
		if cut := strings.LastIndexByte(all[0], '-'); cut > 0 && strings.HasPrefix(all[i], all[0][:cut+1]) {
			out[i] = all[i][cut:]
		}
	}
	return out
}

// outcome is a group's state as a sign and words.
func outcome(g view.Group) string {
	sign := map[string]string{"grow": "↑ ", "growing": "↑ ", "shrinking": "↓ ", "backoff": "‖ ", "full": "■ ", "hold": "‖ ", "steady": "– "}[string(g.Outcome)]
	word := map[string]string{"grow": "growing", "hold": "held"}[string(g.Outcome)]
	if word == "" {
		word = string(g.Outcome)
	}
	if g.Silent > 0 {
		word = fmt.Sprintf("%d silent, %s", g.Silent, word)
	}
	return sign + word
}
