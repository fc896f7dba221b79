package timeline

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
)

// Load takes in what an earlier process has kept, as far as it is later than a time and older than what is noted here. Lines that cannot be read are left out.
func (t *Timeline) Load(r io.Reader, since time.Time) error {
	k, err := readSaved(r, since)
	t.load(k)
	return err
}

// load takes in what was kept, as far as it is older than what is noted here.
func (t *Timeline) load(k kept) {
	t.noting.Lock()
	defer t.noting.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	first := t.points.oldest()
	if !first.IsZero() {
		k.before(first)
	}
	t.points.load(k.points)
	t.told = slices.Concat(k.told, t.told)
	t.left = slices.Concat(k.left, t.left)
	t.gaps = slices.Concat(k.gaps, t.gaps)
	t.lives.load(k.lives, first)
	if n := len(k.points); n > 0 && t.until.IsZero() {
		t.until, t.cycle = k.points[n-1].Time, k.points[n-1].Cycle
	} else if n > 0 {
		last := k.points[n-1]
		own := pace{}
		for i := 1; i < n; i++ {
			own.breaks(k.points[i].Time.Sub(k.points[i-1].Time))
		}
		if own.breaks(first.Sub(last.Time)) {
			t.gaps = append(t.gaps, Gap{last.Time, first, noLeader})
			slices.SortStableFunc(t.gaps, func(a, b Gap) int { return a.From.Compare(b.From) })
		}
	}
	t.forget(t.until)
}

// kept is what a file holds.
type kept struct {
	points []Point
	told   []Telling
	left   []leaver
	gaps   []Gap
	lives  map[string]Life
	unread int // lines that are damaged or not whole
	first  int // the number of the first of them
}

func readSaved(r io.Reader, since time.Time) (kept, error) {
	k := kept{lives: map[string]Life{}}
	lines := bufio.NewReaderSize(r, 1<<20)
	for n := 1; ; n++ {
		raw, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return k, err
		}
		if len(raw) == 0 {
			break
		}
		var s saved
		if err != nil || json.Unmarshal(raw, &s) != nil { // what follows the last end of a line is not whole
			if k.unread++; k.unread == 1 {
				k.first = n
			}
			continue
		}
		if s.Version > summaryVersion {
			return k, &otherVersionError{s.Version}
		}
		switch {
		case s.Point != nil && s.Point.Time.After(since):
			k.points = append(k.points, *s.Point)
		case s.Telling != nil && s.Telling.Time.After(since):
			k.told = append(k.told, *s.Telling)
		case s.Left != nil && s.Left.At.After(since):
			k.left = append(k.left, *s.Left)
		case s.Gap != nil && s.Gap.To.After(since):
			k.gaps = append(k.gaps, *s.Gap)
		case s.Life != nil && (s.Life.Gone.IsZero() || s.Life.Gone.After(since)):
			k.lives[keyOf(s.Life.Group, s.Life.Instance, s.Life.UID)] = *s.Life
		}
	}
	slices.SortStableFunc(k.points, func(a, b Point) int { return a.Time.Compare(b.Time) })
	slices.SortStableFunc(k.told, func(a, b Telling) int { return a.Time.Compare(b.Time) })
	slices.SortStableFunc(k.gaps, func(a, b Gap) int { return a.From.Compare(b.From) })
	for i := 1; i < len(k.points); i++ {
		if a, b := &k.points[i-1], &k.points[i]; maps.Equal(a.ByGroup, b.ByGroup) {
			b.ByGroup = a.ByGroup
		}
	}
	return k, nil
}

// before drops what is not older than a time.
func (k *kept) before(first time.Time) {
	k.points = slices.DeleteFunc(k.points, func(p Point) bool { return !p.Time.Before(first) })
	k.told = slices.DeleteFunc(k.told, func(s Telling) bool { return !s.Time.Before(first) })
	k.left = slices.DeleteFunc(k.left, func(l leaver) bool { return !l.At.Before(first) })
	k.gaps = slices.DeleteFunc(k.gaps, func(g Gap) bool { return !g.From.Before(first) })
}

// oldest is when the series begins, zero while it is empty.
func (s *series) oldest() time.Time {
	for _, part := range [][]Point{s.week, s.day, s.exact} {
		if len(part) > 0 {
			return part[0].Time
		}
	}
	return time.Time{}
}

// load puts points in front.
func (s *series) load(points []Point) {
	var day []Point
	for _, p := range points {
		day = merged(day, p, minutely)
	}
	s.day = slices.Concat(day, s.week, s.day)
	s.week = nil
	if last := s.newest(); last != nil {
		s.age(last.Time)
	}
}

// load takes in lives that were kept. First is the first cycle that was noted here, zero for none.
func (ls *lives) load(all map[string]Life, first time.Time) {
	if ls.open == nil {
		ls.open, ls.asked = map[string]*life{}, map[cluster.GroupID][]request{}
	}
	var past []*life
	for key, of := range all {
		l := &life{Life: of, paused: true, asked: of.Code != ""}
		l.Spans = nil
		for _, s := range of.Spans {
			if kind := slices.Index(kinds, s.Kind); kind >= 0 && (first.IsZero() || s.From.Before(first)) {
				if !first.IsZero() && s.To.After(first) {
					s.To = first
				}
				l.spans = append(l.spans, stretch{second(s.From), second(s.To), uint8(kind), s.What}) //nolint:gosec // there are seven
			}
		}
		own := ls.open[key]
		switch {
		case own != nil:
			own.follows(l)
		case !l.Gone.IsZero():
			l.rest()
			past = append(past, l)
		default:
			ls.open[key], ls.again = l, true
		}
	}
	slices.SortFunc(past, func(a, b *life) int { return cmp.Or(a.Gone.Compare(b.Gone), byName(a, b)) })
	ls.past = slices.Concat(past, ls.past)
}

// follows takes in what is known of the same machine from before.
func (l *life) follows(before *life) {
	l.spans = slices.Concat(before.spans, l.spans)
	for len(l.spans) > mostSpans {
		l.spans = thinned(l.spans)
	}
	if !before.Requested.IsZero() {
		l.Requested = before.Requested
	}
	if !before.Joined.IsZero() {
		l.Joined = before.Joined
	}
	if l.Code == "" {
		l.Why, l.Code, l.asked = before.Why, before.Code, before.asked
	}
}
