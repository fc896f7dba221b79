package page

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"sluice.dev/sluice/internal/view"
)

// drawing collects the elements of a picture. What it is given is numbers and words of ours; names go through [drawing.say].
type drawing struct{ strings.Builder }

func (d *drawing) put(format string, args ...any) { fmt.Fprintf(d, format, args...) }

func (d *drawing) rect(class string, x, y, w, h float64) {
	d.put(`<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, class, number(x), number(y), number(w), number(h))
}

func (d *drawing) say(class string, x, y float64, anchor, words string) {
	d.put(`<text class="%s" x="%s" y="%s" text-anchor="%s">%s</text>`, class, number(x), number(y), anchor, html.EscapeString(text(words)))
}

func (d *drawing) done() template.HTML { return template.HTML(d.String()) } //nolint:gosec // put together from numbers and escaped words

// number is a length with at most two places.
func number(v float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
}

// bar is how a group stands within its minimum and maximum: busy, idle, leaving, silent, coming, and what has not joined.
func bar(g view.Group) template.HTML {
	const w = 260.0
	scale := w / float64(max(1, g.Max, g.Nodes+g.Coming+g.NotJoined))
	var d drawing
	d.put(`<svg width="100%%" height="12" viewBox="0 0 %g 12" preserveAspectRatio="none" role="img" aria-label="%s">`, w,
		html.EscapeString(fmt.Sprintf("%d nodes: %d busy, %d idle, %d leaving, %d silent; %d coming; min %d, max %d", g.Nodes, g.Busy, g.Idle, g.Leaving, g.Silent, g.Coming, g.Min, g.Max)))
	d.rect("track", 0.5, 2, float64(g.Max)*scale-1, 8)
	x := 0.0
	for _, part := range []struct {
		class string
		n     int
	}{{"busy", g.Busy}, {"idle", g.Idle}, {"leaves", g.Leaving}, {"silent", g.Silent}, {"coming", g.Coming}, {"trouble", g.NotJoined}} {
		if part.n > 0 {
			d.rect(part.class, x, 2, float64(part.n)*scale, 8)
			x += float64(part.n) * scale
		}
	}
	at := math.Max(1, float64(g.Min)*scale)
	d.put(`<line class="min" x1="%s" y1="0" x2="%s" y2="12"/></svg>`, number(at), number(at))
	return d.done()
}

// Measures are what a tile's level can show.
var Measures = []string{"cpu", "memory", "pods", "gpu"}

func measured(l view.Load, by string) float64 {
	switch by {
	case "memory":
		return l.Memory
	case "pods":
		return l.Pods
	case "gpu":
		return l.GPU
	}
	return l.CPU
}

// tile is the picture of one machine: its level from below, and memory at its side, or CPU where memory is the level.
func tile(t view.Tile, by string, now time.Time) template.HTML {
	const w, h = 58.0, 40.0
	var d drawing
	d.put(`<svg width="%g" height="%g" viewBox="0 0 %g %g">`, w, h, w, h)
	d.rect("box", 0.75, 0.75, w-1.5, h-1.5)
	if level := min(1, measured(t.Load, by)); level > 0 {
		d.rect("fill", 1.5, 1.5+(h-3)*(1-level), w-3, (h-3)*level)
	}
	side := t.Load.Memory
	if by == "memory" {
		side = t.Load.CPU
	}
	if side = min(1, side); side > 0 {
		d.rect("side", w-5.5, 1.5+(h-3)*(1-side), 4, (h-3)*side)
	}
	d.say("mono", 6, 15, "start", t.Short)
	if t.Jobs > 0 {
		d.put(`<g class="j"><rect x="38" y="4" width="13" height="13" rx="2"/><text x="44.5" y="14" text-anchor="middle">J</text></g>`)
	} else if sign := signs[t.State]; sign != "" {
		d.say("", 46, 15, "middle", sign)
	}
	d.say("", 6, 31, "start", words(t, by, now))
	d.put(`</svg>`)
	return d.done()
}

// signs repeat a state for who sees no colour.
var signs = map[view.State]string{view.Leaves: "↓", view.Coming: "+", view.Held: "⊓", view.Trouble: "!", view.Silent: "?"}

// words are the second line of a tile.
func words(t view.Tile, by string, now time.Time) string {
	left := view.Left(t.Until, now)
	switch t.State {
	case view.Idle:
		if left > 0 {
			return Short(left)
		}
		return "idle"
	case view.Coming:
		if left > 0 {
			return "in " + Short(left)
		}
		return "coming"
	case view.Leaves:
		if left > 0 {
			return Short(left)
		}
		return "leaves"
	case view.Parked:
		return "parked"
	case view.Silent:
		return "? " + Short(now.Sub(t.Since))
	case view.Trouble:
		if left > 0 {
			return Short(left)
		}
		return "look"
	case view.Held:
		if left > 0 {
			return Short(left)
		}
		return "held"
	}
	if level := measured(t.Load, by); level >= 0 {
		return percent(level)
	}
	return "none"
}

// class is a square's look where there are many: its state, or in steps how full it is.
func class(t view.Tile, by string) string {
	if t.State != view.Busy {
		return string(t.State)
	}
	switch level := measured(t.Load, by); {
	case level >= .9:
		return "d3"
	case level >= .75:
		return "d2"
	case level >= .6:
		return "d1"
	}
	return "d0"
}

// density draws machines as squares, a hundred in a full row: one path for each look.
func density(tiles []view.Tile, of, by string) template.HTML {
	const row, step, side = 100, 6.0, 5.0
	order := []string{"trouble", "silent", "d3", "d2", "d1", "d0", "held", "idle", "leaves", "coming", "parked"}
	counts := map[string]int{}
	for _, t := range tiles {
		counts[class(t, by)]++
	}
	rows := (len(tiles) + row - 1) / row
	var d drawing
	d.put(`<svg width="100%%" viewBox="0 0 %g %g" role="img" aria-label="%s">`, row*step, math.Max(1, float64(rows))*step, html.EscapeString(fmt.Sprintf("%d machines of %s", len(tiles), text(of))))
	i := 0
	for _, look := range order {
		if counts[look] == 0 {
			continue
		}
		var p strings.Builder
		for range counts[look] {
			x, y := float64(i%row)*step, float64(i/row)*step
			fmt.Fprintf(&p, "M%s %sh%gv%gh-%gz", number(x+.5), number(y+.5), side-1, side-1, side-1)
			i++
		}
		d.put(`<path class="%s" d="%s"><title>%s</title></path>`, look, p.String(), html.EscapeString(fmt.Sprintf("%d %s", counts[look], looks[look])))
	}
	d.put(`</svg>`)
	return d.done()
}

var looks = map[string]string{
	"trouble": "need you", "silent": "silent", "d3": "90 % or more", "d2": "75 to 90 %", "d1": "60 to 75 %", "d0": "less than 60 %",
	"held": "held by a person", "idle": "idle", "leaves": "leave", "coming": "coming", "parked": "parked",
}

// legend is a sign and its words.
func legend(class string) template.HTML {
	var d drawing
	d.put(`<svg width="12" height="12" aria-hidden="true">`)
	d.rect(class, 1, 1, 10, 10)
	d.put(`</svg>`)
	return d.done()
}

// Missing is what a pod needs of a resource and what an empty machine has free.
type Missing struct{ Resource, Needs, Free string }

// needFree draws what is free as a bar, what is needed as a mark, and what lacks as dots. Quantities that cannot be read draw nothing.
func needFree(m Missing) template.HTML {
	needs, err := resource.ParseQuantity(m.Needs)
	free, no := resource.ParseQuantity(m.Free)
	if err != nil || no != nil || needs.AsApproximateFloat64() <= 0 {
		return ""
	}
	const w = 180.0
	most := math.Max(needs.AsApproximateFloat64(), free.AsApproximateFloat64())
	at, has := w*needs.AsApproximateFloat64()/most, w*math.Max(0, free.AsApproximateFloat64())/most
	var d drawing
	d.put(`<svg width="%g" height="12" aria-hidden="true">`, w+4)
	d.rect("free", 0.5, 3, has, 6)
	d.put(`<line class="lacks" x1="%s" y1="6" x2="%s" y2="6"/><line class="wanted" x1="%s" y1="0" x2="%s" y2="12"/></svg>`, number(has), number(at), number(at), number(at))
	return d.done()
}

// share draws a part of a whole.
func share(part, of float64, class string) template.HTML {
	const w = 240.0
	var d drawing
	d.put(`<svg width="100%%" height="8" viewBox="0 0 %g 8" preserveAspectRatio="none" aria-hidden="true">`, w)
	d.rect("track", 0.5, 0.5, w-1, 7)
	if of > 0 && part > 0 {
		d.rect(class, 0.5, 0.5, (w-1)*math.Min(1, part/of), 7)
	}
	d.put(`</svg>`)
	return d.done()
}

// has says whether any tile has a load of that measure.
func has(groups []view.Group, by string) bool {
	return slices.ContainsFunc(groups, func(g view.Group) bool {
		return slices.ContainsFunc(g.Tiles, func(t view.Tile) bool { return measured(t.Load, by) >= 0 })
	})
}
