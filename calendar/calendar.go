// Package calendar says when a weekly rule is in force: on days of the week, between hours of the day, as a clock on the wall of a time zone
// shows them. It has no clock of its own: the caller brings the instant.
package calendar

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// day is the length of a day on the wall, in minutes.
const day = 24 * 60

// Hours are in force from one time of the day to another, on each day of the week that is named. Hours that end at or before the time at
// which they begin end on the next day, so that "Fri 22:00-06:00" is in force on Saturday at 5. Where a clock is put forward or back, a time
// that does not exist or exists twice is one of the two instants it could be. Make one with [Parse]; the zero value is never in force.
type Hours struct {
	days     [7]bool // on which they begin, by time.Weekday
	from, to int     // minutes of the day; 0 <= from < 1440, 0 < to <= 1440
	zone     *time.Location
}

// Parse reads "[days] [hh:mm-hh:mm] [zone]", such as "Mon-Fri 08:00-20:00 Europe/Berlin", "Sat,Sun" or "22:00-06:00 UTC". Without days it is
// every day, without hours the whole day, without a zone UTC; of days and hours one must be there. The zone is a name of the IANA database.
// Errors are one clause for the operator: what is wrong and what is allowed.
func Parse(text string) (Hours, error) {
	h := Hours{days: [7]bool{true, true, true, true, true, true, true}, to: day, zone: time.UTC}
	fields := strings.Fields(text)
	if len(fields) > 0 && !hoursLike(fields[0]) {
		days, err := parseDays(fields[0])
		if err != nil {
			return Hours{}, err
		}
		h.days, fields = days, fields[1:]
	} else if len(fields) == 0 {
		return Hours{}, fmt.Errorf("it names no time; give days, hours or both, such as Mon-Fri 08:00-20:00")
	}
	if len(fields) > 0 && hoursLike(fields[0]) {
		from, to, err := parseHours(fields[0])
		if err != nil {
			return Hours{}, err
		}
		h.from, h.to, fields = from, to, fields[1:]
	}
	switch {
	case len(fields) > 1:
		return Hours{}, fmt.Errorf("%q is one word too many; give days, hours and a time zone in this order, such as Mon-Fri 08:00-20:00 Europe/Berlin", fields[1])
	case len(fields) == 1:
		zone, err := time.LoadLocation(fields[0])
		if err != nil || zone == time.Local {
			return Hours{}, fmt.Errorf("%q is no time zone; give a name of the IANA database, such as Europe/Berlin or UTC", fields[0])
		}
		h.zone = zone
	}
	return h, nil
}

// hoursLike says whether a word is meant to be hours: no day and no zone begins with a digit.
func hoursLike(word string) bool { return word[0] >= '0' && word[0] <= '9' }

// names are the days of the week by time.Weekday.
var names = []string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}

func parseDays(text string) (days [7]bool, err error) {
	if strings.EqualFold(text, "daily") {
		return [7]bool{true, true, true, true, true, true, true}, nil
	}
	index := func(name string) int {
		return slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
	}
	for _, part := range strings.Split(text, ",") {
		first, last, run := strings.Cut(part, "-")
		if !run {
			last = first
		}
		from, to := index(first), index(last)
		if from < 0 || to < 0 {
			return days, fmt.Errorf("%q is no day of the week; give such as Mon-Fri, Sat,Sun or daily", part)
		}
		for d := from; ; d = (d + 1) % 7 {
			days[d] = true
			if d == to {
				break
			}
		}
	}
	return days, nil
}

func parseHours(text string) (from, to int, err error) {
	first, last, ok := strings.Cut(text, "-")
	from, fromOK := parseMinute(first)
	to, toOK := parseMinute(last)
	switch {
	case !ok || !fromOK || !toOK || from == day || to == 0 && from == 0:
		return 0, 0, fmt.Errorf("%q are no hours; give hh:mm-hh:mm from 00:00 to 24:00, such as 08:00-20:00", text)
	case from == to:
		return 0, 0, fmt.Errorf("%q begins and ends at the same time; leave the hours out for the whole day", text)
	case to == 0:
		to = day
	}
	return from, to, nil
}

func parseMinute(text string) (minute int, ok bool) {
	hours, minutes, ok := strings.Cut(text, ":")
	h, hErr := strconv.ParseUint(hours, 10, 8)
	m, mErr := strconv.ParseUint(minutes, 10, 8)
	ok = ok && hErr == nil && mErr == nil && len(hours) <= 2 && len(minutes) == 2 && m < 60 && (h < 24 || h == 24 && m == 0)
	return int(h*60 + m), ok
}

// In says whether the hours are in force at t.
func (h Hours) In(t time.Time) bool {
	if h.zone == nil {
		return false
	}
	for _, back := range []int{0, -1} {
		if from, to, ok := h.on(t, back); ok && !t.Before(from) && t.Before(to) {
			return true
		}
	}
	return false
}

// Next is the first instant after t at which the hours begin or end, in UTC; zero when there is none.
func (h Hours) Next(t time.Time) time.Time {
	var next time.Time
	if h.zone == nil {
		return next
	}
	for ahead := -1; ahead <= 8; ahead++ { // a day to look back for hours that end today, and one week and a day for a clock that was put forward
		from, to, ok := h.on(t, ahead)
		if !ok {
			continue
		}
		for _, edge := range []time.Time{from, to} {
			if edge.After(t) && (next.IsZero() || edge.Before(next)) {
				next = edge
			}
		}
	}
	return next
}

// on are the hours that begin on the day of t or so many days later, false when none begin on that day.
func (h Hours) on(t time.Time, later int) (from, to time.Time, ok bool) {
	y, m, d := t.In(h.zone).Date()
	d += later
	if !h.days[time.Date(y, m, d, 12, 0, 0, 0, time.UTC).Weekday()] {
		return from, to, false
	}
	end := h.to
	if end <= h.from {
		end += day
	}
	from = time.Date(y, m, d, 0, h.from, 0, 0, h.zone).UTC()
	to = time.Date(y, m, d, 0, end, 0, 0, h.zone).UTC()
	return from, to, from.Before(to)
}

// String is what [Parse] reads, in its shortest usual form.
func (h Hours) String() string {
	if h.zone == nil {
		return ""
	}
	return fmt.Sprintf("%s %02d:%02d-%02d:%02d %s", h.dayNames(), h.from/60, h.from%60, h.to/60, h.to%60, h.zone)
}

// dayNames joins runs of days, in the order of a working week.
func (h Hours) dayNames() string {
	if h.days == [7]bool{true, true, true, true, true, true, true} {
		return "daily"
	}
	var runs []string
	week := func(i int) int { return (i + 1) % 7 } // Monday first
	for i := 0; i < 7; i++ {
		if !h.days[week(i)] {
			continue
		}
		last := i
		for last+1 < 7 && h.days[week(last+1)] {
			last++
		}
		run := names[week(i)]
		if last > i {
			run += "-" + names[week(last)]
		}
		runs = append(runs, run)
		i = last
	}
	return strings.Join(runs, ",")
}

// Equal says whether both are in force at the same times by their words.
func (h Hours) Equal(other Hours) bool { return h.String() == other.String() }

// MarshalText writes [Hours.String].
func (h Hours) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads it again.
func (h *Hours) UnmarshalText(text []byte) (err error) {
	*h, err = Parse(string(text))
	return err
}
