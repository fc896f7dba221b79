package page

import (
	"fmt"
	"html"
	"html/template"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/reason"
)

// named are the facts that are names or words of others: they are shown as they are, whatever they look like.
var named = map[string]bool{
	"node": true, "group": true, "pod": true, "instance": true, "machine": true, "id": true, "uid": true, "gang": true, "gate": true, "code": true,
	"message": true, "why": true, "ports": true, "port": true, "change": true, "zone": true, "taint": true, "key": true,
}

// said is a sentence as its reader writes times, durations and numbers. A time is one that the script shows in the reader's zone.
func said(w reason.Words) template.HTML {
	const most = 600
	var b strings.Builder
	left := most
	for _, p := range w {
		shown := []rune(report.Printable(p.Text))
		if len(shown) > left {
			b.WriteString(html.EscapeString(string(shown[:left])) + " …")
			break
		}
		left -= len(shown)
		b.WriteString(value(p.Name, string(shown)))
	}
	return template.HTML(b.String()) //nolint:gosec // of escaped words and digits
}

// value is the value of a fact in HTML.
func value(name, v string) string {
	if name == "" || named[name] || v == "" {
		return html.EscapeString(v)
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05Z", "2006-01-02 15:04:05 UTC"} {
		if t, err := time.Parse(layout, v); err == nil {
			return string(clock(t))
		}
	}
	if d, err := time.ParseDuration(v); err == nil && strings.HasSuffix(v, "s") { // 7800m is an amount of CPU
		return lasting(d)
	}
	if name == "needs" || name == "free" {
		return html.EscapeString(amount(v))
	}
	if len(v) > 3 && strings.Trim(v, "0123456789") == "" {
		return apart(v)
	}
	return html.EscapeString(v)
}

// lasting is a duration in words, such as 2 minutes or 1 hour 5 minutes: two units at most.
func lasting(d time.Duration) string {
	switch {
	case d < time.Second && d > 0:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second && d%time.Second != 0:
		return fmt.Sprintf("%.1f seconds", d.Seconds())
	}
	s := int(d.Round(time.Second).Seconds())
	two := func(n int, big string, rest int, small string) string {
		if rest == 0 {
			return plural(n, big)
		}
		return plural(n, big) + " " + plural(rest, small)
	}
	switch {
	case s < 60:
		return plural(s, "second")
	case s < 3600:
		return two(s/60, "minute", s%60, "second")
	case s < 172800:
		return two(s/3600, "hour", s/60%60, "minute")
	}
	return two(s/86400, "day", s/3600%24, "hour")
}

// amount is a quantity as people write it: 7800m is 7.8 and 130816Mi is 127.8 GiB. What is none stays as it is.
func amount(v string) string {
	q, err := resource.ParseQuantity(v)
	if err != nil {
		return v
	}
	n := q.AsApproximateFloat64()
	if q.Format == resource.BinarySI {
		units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
		i := 0
		for ; n >= 1024 && i < len(units)-1; i++ {
			n /= 1024
		}
		if i > 0 {
			return tenth(n) + " " + units[i]
		}
	}
	if strings.HasSuffix(v, "m") {
		return tenth(n)
	}
	return v
}

// tenth is a number with one place, where that is not zero.
func tenth(n float64) string {
	whole, part, has := strings.Cut(strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0"), ".")
	if has {
		return apart(whole) + "." + part
	}
	return apart(whole)
}

// led are words with a beginning, the first of them with a capital letter where it is a plain word.
func led(by string, w reason.Words) reason.Words {
	w = slices.Clone(w)
	if len(w) > 0 {
		w[0].Text = upper(w[0].Text)
	}
	return append(reason.Plain(by), w...)
}
