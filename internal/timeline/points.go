package timeline

import (
	"maps"
	"time"
)

// series are points, the coarser the older:
//
//	part   points            until they are
//	exact  one a cycle       six hours old, or 10,000
//	day    one a minute      a day old
//	week   one in 10 minutes a week old
//
// Each part is in the order of time, and older than the next one.
type series struct{ week, day, exact []Point }

const (
	exactFor    = 6 * time.Hour
	minutesFor  = 24 * time.Hour
	minutely    = time.Minute
	tenMinutely = 10 * time.Minute
	mostExact   = 10_000 // cycles of a busy hour follow each other by the second
)

// add appends a point, which is later than all others.
func (s *series) add(p Point) {
	if last := s.newest(); last != nil && maps.Equal(last.ByGroup, p.ByGroup) {
		p.ByGroup = last.ByGroup
	}
	s.exact = append(s.exact, p)
	s.age(p.Time)
}

func (s *series) newest() *Point {
	for _, part := range [][]Point{s.exact, s.day, s.week} {
		if n := len(part); n > 0 {
			return &part[n-1]
		}
	}
	return nil
}

// age moves points to the coarser parts, and lets go of the oldest.
func (s *series) age(now time.Time) {
	for len(s.exact) > 0 && (len(s.exact) > mostExact || now.Sub(s.exact[0].Time) > exactFor) {
		s.day = merged(s.day, s.exact[0], minutely)
		s.exact = shifted(s.exact)
	}
	for len(s.day) > 0 && now.Sub(s.day[0].Time) > minutesFor {
		s.week = merged(s.week, s.day[0], tenMinutely)
		s.day = shifted(s.day)
	}
	for len(s.week) > 0 && now.Sub(s.week[0].Time) > week {
		s.week = shifted(s.week)
	}
}

// shifted are the points without the first. What is cut off in front stays in memory until the slice grows.
func shifted(points []Point) []Point {
	points[0] = Point{}
	return points[1:]
}

// merged are the points with one more, which becomes one with the last one when both are of the same stretch of that width.
func merged(points []Point, p Point, width time.Duration) []Point {
	if n := len(points); n > 0 && points[n-1].Time.Truncate(width).Equal(p.Time.Truncate(width)) {
		points[n-1] = points[n-1].and(p)
		return points
	}
	return append(points, p)
}

// and is this point and a later one as one.
func (p Point) and(o Point) Point {
	o.Waiting, o.Stuck, o.Coming = max(p.Waiting, o.Waiting), max(p.Stuck, o.Stuck), max(p.Coming, o.Coming)
	o.Grown, o.Removed, o.Refused, o.Guarded = p.Grown+o.Grown, p.Removed+o.Removed, p.Refused+o.Refused, p.Guarded+o.Guarded
	return o
}

// between are the points of a stretch of time.
func (s *series) between(from, to time.Time) (all []Point) {
	for _, part := range [][]Point{s.week, s.day, s.exact} {
		for _, p := range part {
			if !p.Time.Before(from) && !p.Time.After(to) {
				all = append(all, p)
			}
		}
	}
	return all
}
