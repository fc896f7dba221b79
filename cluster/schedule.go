package cluster

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"sluice.dev/sluice/calendar"
)

// Schedule gives a group other limits in hours of the week.
type Schedule struct {
	Hours calendar.Hours
	Min   *int // nil leaves it as it is; at least one of the two is set
	Max   *int
}

// ParseSchedule reads hours as [calendar.Parse] does, followed by min=N, max=N or both, such as
// "Mon-Fri 08:00-20:00 Europe/Berlin min=3 max=20". Errors are one clause for the operator.
func ParseSchedule(text string) (Schedule, error) {
	var s Schedule
	var hours []string
	for _, word := range strings.Fields(text) {
		key, value, limit := strings.Cut(word, "=")
		if !limit {
			hours = append(hours, word)
			continue
		}
		field := map[string]**int{"min": &s.Min, "max": &s.Max}[key]
		n, err := strconv.Atoi(value)
		if field == nil || *field != nil || err != nil || n < 0 {
			return Schedule{}, fmt.Errorf("%q is no limit; give min=N and max=N once each, as numbers of machines", word)
		}
		*field = &n
	}
	switch {
	case s.Min == nil && s.Max == nil:
		return Schedule{}, fmt.Errorf("it sets neither min nor max; add such as min=3 max=20")
	case s.Min != nil && s.Max != nil && *s.Max < *s.Min:
		return Schedule{}, fmt.Errorf("max %d is below min %d; give max at least min", *s.Max, *s.Min)
	}
	var err error
	s.Hours, err = calendar.Parse(strings.Join(hours, " "))
	return s, err
}

// String is what [ParseSchedule] reads.
func (s Schedule) String() string {
	text := s.Hours.String()
	if s.Min != nil {
		text += fmt.Sprintf(" min=%d", *s.Min)
	}
	if s.Max != nil {
		text += fmt.Sprintf(" max=%d", *s.Max)
	}
	return text
}

// Equal says whether both say the same.
func (s Schedule) Equal(other Schedule) bool { return s.String() == other.String() }

// MarshalText writes what [ParseSchedule] reads.
func (s Schedule) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is [ParseSchedule].
func (s *Schedule) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSchedule(string(text))
	return err
}

// Limits are min and max under the schedules in force at t. Of several the last wins, for each limit alone; a max below the min lowers the
// min: max always holds.
func Limits(least, most int, schedules []Schedule, t time.Time) (newLeast, newMost int) {
	for _, s := range schedules {
		if !s.Hours.In(t) {
			continue
		}
		if s.Min != nil {
			least = *s.Min
		}
		if s.Max != nil {
			most = *s.Max
		}
	}
	return min(least, most), most
}
