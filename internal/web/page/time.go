package page

import (
	"cmp"
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/timeline"
	"sluice.dev/sluice/internal/view"
	"sluice.dev/sluice/reason"
)

// Ranges are how long a stretch the time page can show, the shortest first.
var Ranges = []Range{{"1h", "1 h", time.Hour}, {"6h", "6 h", 6 * time.Hour}, {"24h", "24 h", 24 * time.Hour}, {"7d", "7 d", 7 * 24 * time.Hour}}

// Range is a stretch of time that can be chosen.
type Range struct {
	Name, Word string
	Length     time.Duration
}

// Time is the body of the page that shows the last hours or days.
type Time struct {
	Headline, Detail string
	Range            Range
	Strip            template.HTML
	Lives            template.HTML
	Shown, All       int // machines
	Then             *view.Now
	Now              map[cluster.GroupID]int // nodes of each group now
	Told             []timeline.Telling
	Before, After    time.Time // changes
	Everything       bool      // all machines are shown
}

// ChooseRange is the range of that name, a day for another one.
func ChooseRange(name string) Range {
	for _, r := range Ranges {
		if r.Name == name {
			return r
		}
	}
	return Ranges[2]
}

// Ranges are those that can be chosen.
func (Time) Ranges() []Range { return Ranges }

// Step is the range that is so many longer, "" for none.
func (t Time) Step(by int) string {
	i := slices.IndexFunc(Ranges, func(r Range) bool { return r == t.Range }) + by
	if i < 0 || i >= len(Ranges) {
		return ""
	}
	return Ranges[i].Name
}

// NewTime is the page for a range that ends now, and the cycle that is looked at.
func NewTime(f Frame, line *timeline.Timeline, now time.Time, r Range, then *view.Now, everything bool) Time {
	from := now.Add(-r.Length)
	points := line.Points(from, now)
	t := Time{Range: r, Then: then, Everything: everything, Now: map[cluster.GroupID]int{}}
	grown, removed, refused, guarded := 0, 0, 0, 0
	for _, p := range points {
		grown, removed, refused, guarded = grown+p.Grown, removed+p.Removed, refused+p.Refused, guarded+p.Guarded
		if p.Grown+p.Removed+p.Refused+p.Guarded == 0 {
			continue
		}
		switch p.Time.Compare(f.Time) {
		case -1:
			t.Before = p.Time
		case 1:
			if t.After.IsZero() {
				t.After = p.Time
			}
		}
	}
	if len(points) > 0 {
		t.Now = points[len(points)-1].ByGroup
	}
	t.Headline = fmt.Sprintf("%s came and %s went in the last %s.", plural(grown, "machine"), plural(removed, "machine"), r.Word)
	if grown+removed == 0 {
		t.Headline = fmt.Sprintf("No machine came or went in the last %s.", r.Word)
	}
	t.Detail = fmt.Sprintf("Refused by Azure: %d. Kept by the safety contract: %d.", refused, guarded)
	gaps := line.Gaps(from, now)
	t.Strip = strip(f, points, gaps, from, now, wide)
	around := f.Time
	if !f.Past {
		around = now
	}
	window := min(r.Length, 3*time.Hour)
	begin := around.Add(-window / 2)
	if end := begin.Add(window); end.After(now) {
		begin = now.Add(-window)
	}
	lives := line.Lives(begin, begin.Add(window))
	t.All = len(lives)
	if len(lives) > mostLives && !everything {
		lives = nearest(lives, around, mostLives)
	}
	t.Shown = len(lives)
	t.Lives = bars(f, lives, begin, begin.Add(window))
	if f.Past {
		t.Told = line.Tellings(f.Time, f.Time.Add(time.Minute), nil, 20)
	} else {
		t.Told = line.Tellings(from, now, nil, 40)
	}
	return t
}

// mostLives is how many machines are drawn unless somebody asks for all.
const mostLives = 40

// nearest are so many of the lives: those that began or ended nearest to a time, in their order.
func nearest(lives []timeline.Life, to time.Time, most int) []timeline.Life {
	far := func(l timeline.Life) time.Duration {
		d := to.Sub(cmpTime(l.Requested, l.Created, l.Joined)).Abs()
		if !l.Gone.IsZero() {
			d = min(d, to.Sub(l.Gone).Abs())
		}
		return d
	}
	order := make([]int, len(lives))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(far(lives[a]), far(lives[b])) })
	order = order[:most]
	slices.Sort(order)
	some := make([]timeline.Life, 0, most)
	for _, i := range order {
		some = append(some, lives[i])
	}
	return some
}

func cmpTime(times ...time.Time) time.Time {
	for _, t := range times {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// look is how a strip is drawn.
type look struct{ width, lane float64 }

var (
	wide = look{width: 1392, lane: 44}
	slim = look{width: 928, lane: 34}
)

// StripOf is the strip of a stretch of time.
func StripOf(f Frame, line *timeline.Timeline, from, to time.Time) template.HTML {
	points := line.Points(from, to)
	if len(points) == 0 {
		return ""
	}
	return strip(f, points, line.Gaps(from, to), from, to, slim)
}

// bucket is what stands in one column of a strip.
type bucket struct {
	at                                        time.Time // of its last point
	waiting, grown, removed, refused, guarded int
	nodes                                     int
	usd                                       float64
	any                                       bool
}

// strip draws points over one axis: pods that wait, nodes, USD an hour, what came and went, and what was refused. Each column leads to its cycle.
func strip(f Frame, points []timeline.Point, gaps []timeline.Gap, from, to time.Time, l look) template.HTML {
	const left, right = 96.0, 64.0
	columns := int(l.width-left-right) / 4
	span := to.Sub(from)
	x := func(t time.Time) float64 {
		return left + (l.width-left-right)*math.Min(1, math.Max(0, float64(t.Sub(from))/float64(span)))
	}
	all := make([]bucket, columns)
	var last timeline.Point
	for _, p := range points {
		i := min(columns-1, max(0, int(float64(columns)*float64(p.Time.Sub(from))/float64(span))))
		b := &all[i]
		b.at, b.any, b.nodes, b.usd = p.Time, true, p.Nodes, p.USD
		b.waiting = max(b.waiting, p.Waiting)
		b.grown, b.removed, b.refused, b.guarded = b.grown+p.Grown, b.removed+p.Removed, b.refused+p.Refused, b.guarded+p.Guarded
		last = p
	}
	var d drawing
	lanes := []struct {
		name  string
		of    func(bucket) float64
		lined bool
		class string
		now   string
	}{
		{"pods waiting", func(b bucket) float64 { return float64(b.waiting) }, false, "column", thousands(last.Waiting)},
		{"nodes", func(b bucket) float64 { return float64(b.nodes) }, true, "area", thousands(last.Nodes)},
		{"USD an hour", func(b bucket) float64 { return b.usd }, true, "area", money(last)},
		{"came", func(b bucket) float64 { return float64(b.grown) }, false, "column", thousands(last.Grown)},
		{"went", func(b bucket) float64 { return float64(b.removed) }, false, "hollow", thousands(last.Removed)},
	}
	height := float64(len(lanes))*(l.lane+8) + 44
	d.put(`<svg width="100%%" viewBox="0 0 %g %g" role="group" aria-label="the last %s">`, l.width, height, html.EscapeString(Span(span)))
	inner := l.width - left - right
	for _, hour := range ticks(from, to) {
		d.put(`<line class="axis" x1="%[1]s" y1="0" x2="%[1]s" y2="%[2]g"/>`, number(x(hour)), height-20)
		d.put(`<text class="faint" x="%s" y="%g" text-anchor="middle" data-clock="%s">%s</text>`, number(x(hour)), height-6, hour.UTC().Format(time.RFC3339), hour.UTC().Format("15:04"))
	}
	for i, lane := range lanes {
		top := float64(i) * (l.lane + 8)
		base := top + l.lane
		most := 1.0
		for _, b := range all {
			most = math.Max(most, lane.of(b))
		}
		d.say("", 0, base-4, "start", lane.name)
		d.say("faint", left-6, top+9, "end", thousands(int(math.Ceil(most))))
		d.say("", l.width-2, base-4, "end", lane.now)
		d.put(`<line class="axis" x1="%g" y1="%s" x2="%g" y2="%s"/>`, left, number(base), l.width-right, number(base))
		w := inner / float64(columns)
		if lane.lined {
			d.area(all, lane.of, most, left, base, l.lane, w)
			continue
		}
		for i, b := range all {
			if v := lane.of(b); b.any && v > 0 {
				h := math.Max(2, l.lane*v/most)
				d.rect(lane.class, left+float64(i)*w, base-h, math.Max(2, w-1), h)
			}
		}
	}
	base := float64(len(lanes))*(l.lane+8) + 12
	d.say("", 0, base, "start", "refused")
	for i, b := range all {
		at := left + (float64(i)+.5)*inner/float64(columns)
		if b.refused > 0 {
			d.put(`<path class="trouble" d="M%s %sl5 9h-10z"><title>%d by Azure</title></path>`, number(at), number(base-9), b.refused)
		}
		if b.guarded > 0 {
			d.put(`<rect class="hollow" x="%s" y="%s" width="8" height="8"><title>%d by the safety contract</title></rect>`, number(at-4), number(base-8), b.guarded)
		}
	}
	for _, g := range gaps {
		d.put(`<rect class="gap" x="%s" y="0" width="%s" height="%g"><title>%s</title></rect>`, number(x(g.From)), number(math.Max(2, x(g.To)-x(g.From))), height-20,
			html.EscapeString(text("no record: "+g.Why)))
	}
	if f.Past && !f.Time.Before(from) && !f.Time.After(to) {
		d.put(`<line class="cursor" x1="%[1]s" y1="0" x2="%[1]s" y2="%[2]g"/>`, number(x(f.Time)), height-20)
	}
	for i, b := range all { // what a click leads to lies above all
		if b.any {
			d.put(`<a href="%s" tabindex="-1" aria-hidden="true"><rect class="press" x="%s" y="0" width="%s" height="%g"><title>%s UTC: %d nodes, %d pods wait</title></rect></a>`,
				html.EscapeString(f.At("time", b.at)), number(left+float64(i)*inner/float64(columns)), number(inner/float64(columns)), height-20, b.at.UTC().Format("15:04:05"), b.nodes, b.waiting)
		}
	}
	d.put(`</svg>`)
	return d.done()
}

// area draws a value that goes on until the next one, and nothing where there is none.
func (d *drawing) area(all []bucket, of func(bucket) float64, most, left, base, height, w float64) {
	var path strings.Builder
	on := false
	for i, b := range all {
		x := left + float64(i)*w
		if !b.any && !on {
			continue
		}
		if b.any {
			next := base - height*of(b)/most
			if on {
				fmt.Fprintf(&path, "H%sV%s", number(x), number(next))
			} else {
				fmt.Fprintf(&path, "M%s %sV%s", number(x), number(base), number(next))
			}
			on = true
		}
	}
	if on {
		fmt.Fprintf(&path, "H%sV%s", number(left+float64(len(all))*w), number(base))
		d.put(`<path class="area linear" d="%s"/>`, path.String())
	}
}

// ticks are the round times on an axis, six or so.
func ticks(from, to time.Time) (all []time.Time) {
	step := 24 * time.Hour
	for _, s := range []time.Duration{time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour} {
		if to.Sub(from)/s <= 8 {
			step = s
			break
		}
	}
	for t := from.UTC().Truncate(step).Add(step); t.Before(to.Add(-step / 4)); t = t.Add(step) {
		all = append(all, t)
	}
	return all
}

func money(p timeline.Point) string {
	if p.USD == 0 && p.Unpriced > 0 {
		return "unknown"
	}
	return Money(p.USD)
}

// bars draws the lives of machines over one axis.
func bars(f Frame, lives []timeline.Life, from, to time.Time) template.HTML {
	const left, width, right, row = 150.0, 920.0, 120.0, 18.0
	if len(lives) == 0 {
		return ""
	}
	span := to.Sub(from)
	x := func(t time.Time) float64 {
		return left + (width-left-right)*math.Min(1, math.Max(0, float64(t.Sub(from))/float64(span)))
	}
	groups := 0
	for i, l := range lives {
		if i == 0 || l.Group != lives[i-1].Group {
			groups++
		}
	}
	height := float64(len(lives)+groups)*row + 24
	var d drawing
	d.put(`<svg width="100%%" viewBox="0 0 %g %g" role="group" aria-label="lives of machines">`, width, height)
	for _, t := range ticks(from, to) {
		d.put(`<line class="axis" x1="%[1]s" y1="16" x2="%[1]s" y2="%[2]g"/>`, number(x(t)), height)
		d.put(`<text class="faint" x="%s" y="10" text-anchor="middle" data-clock="%s">%s</text>`, number(x(t)), t.UTC().Format(time.RFC3339), t.UTC().Format("15:04"))
	}
	y := 20.0
	for i, l := range lives {
		if i == 0 || l.Group != lives[i-1].Group {
			d.say("name", 0, y+12, "start", string(l.Group))
			y += row
		}
		about, name := reason.Node(l.Node), l.Node
		if l.Node == "" {
			about, name = reason.Instance(string(l.Group), string(l.Instance)), string(l.Instance)
		}
		address := f.Root + path(about)
		if !l.Gone.IsZero() {
			address = f.At(path(about), l.Gone.Add(-time.Second))
		}
		d.put(`<a data-row href="%s">`, html.EscapeString(address))
		d.say("mono", 8, y+12, "start", name)
		d.life(l, x, y+3, row-7)
		d.put(`</a>`)
		if words := l.Why; words != "" && !l.Gone.IsZero() {
			if r := []rune(words); len(r) > 24 {
				words = string(r[:23]) + "…"
			}
			d.say("faint", math.Min(x(l.Gone)+4, width-right), y+12, "start", words)
		}
		y += row
	}
	if f.Past && !f.Time.Before(from) && !f.Time.After(to) {
		d.put(`<line class="cursor" x1="%[1]s" y1="14" x2="%[1]s" y2="%[2]g"/>`, number(x(f.Time)), height)
	}
	d.put(`</svg>`)
	return d.done()
}

// spans are the looks of what a machine does.
var spans = map[timeline.SpanKind]string{
	timeline.SpanBoot: "boot", timeline.SpanJob: "job", timeline.SpanPods: "pods", timeline.SpanIdle: "hollowidle", timeline.SpanDraining: "leaves",
	timeline.SpanParked: "parked", timeline.SpanSilent: "silent",
}

// life draws what a machine did.
func (d *drawing) life(l timeline.Life, x func(time.Time) float64, y, h float64) {
	for _, s := range l.Spans {
		from, to := x(s.From), x(s.To)
		if to-from < .5 {
			continue
		}
		d.put(`<rect class="%s" x="%s" y="%s" width="%s" height="%s"><title>%s</title></rect>`, spans[s.Kind], number(from), number(y), number(to-from), number(h),
			html.EscapeString(text(string(s.Kind)+" "+s.What+", "+Span(s.To.Sub(s.From)))))
	}
	if !l.Gone.IsZero() {
		d.put(`<line class="gone" x1="%[1]s" y1="%[2]s" x2="%[1]s" y2="%[3]s"/>`, number(x(l.Gone)), number(y-2), number(y+h+2))
	}
}

// LifeOf is the life of one machine in a picture of its own, with its sum in words.
func LifeOf(f Frame, l timeline.Life, now time.Time) template.HTML {
	from := cmpTime(l.Requested, l.Created, l.Joined)
	if from.IsZero() && len(l.Spans) > 0 {
		from = l.Spans[0].From
	}
	to := now
	if !l.Gone.IsZero() {
		to = l.Gone
	}
	if from.IsZero() || !to.After(from) {
		return ""
	}
	const width = 1000.0
	x := func(t time.Time) float64 {
		return width * math.Min(1, math.Max(0, float64(t.Sub(from))/float64(to.Sub(from))))
	}
	jobs := map[string]bool{}
	for _, s := range l.Spans {
		if s.Kind == timeline.SpanJob {
			jobs[s.What] = true
		}
	}
	var d drawing
	words := "there for " + Span(to.Sub(from))
	if len(jobs) > 0 {
		words += ", " + plural(len(jobs), "Job")
	}
	d.put(`<p class="note">%s</p><svg width="100%%" height="46" viewBox="0 0 %g 46" preserveAspectRatio="none" role="img" aria-label="%s">`, html.EscapeString(words), width, html.EscapeString(words))
	d.life(l, x, 4, 22)
	d.put(`</svg><p class="row note"><span class="main">%s</span><span class="end">%s</span></p>`, clock(from), clock(to))
	return d.done()
}
