package calendar_test

import (
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/calendar"
)

func TestHoursAreInForceAsAClockOnTheWallShowsThem(t *testing.T) {
	for name, tc := range map[string]struct {
		hours, at string
		in        bool
		next      string
	}{
		"a working morning":                               {"Mon-Fri 08:00-20:00 UTC", "2026-08-05T09:00:00Z", true, "2026-08-05T20:00:00Z"},
		"the first instant counts":                        {"Mon-Fri 08:00-20:00 UTC", "2026-08-05T08:00:00Z", true, "2026-08-05T20:00:00Z"},
		"the last does not":                               {"Mon-Fri 08:00-20:00 UTC", "2026-08-05T20:00:00Z", false, "2026-08-06T08:00:00Z"},
		"a weekend waits for Monday":                      {"Mon-Fri 08:00-20:00 UTC", "2026-08-08T09:00:00Z", false, "2026-08-10T08:00:00Z"},
		"a zone east of Greenwich begins earlier":         {"Mon-Fri 08:00-20:00 Europe/Berlin", "2026-08-05T06:00:00Z", true, "2026-08-05T18:00:00Z"},
		"a zone west of it later":                         {"Mon-Fri 08:00-20:00 America/New_York", "2026-08-05T11:59:59Z", false, "2026-08-05T12:00:00Z"},
		"it is Monday already in Auckland":                {"Mon Pacific/Auckland", "2026-08-09T13:00:00Z", true, "2026-08-10T12:00:00Z"},
		"a night belongs to the day it begins":            {"Fri 22:00-06:00 UTC", "2026-08-08T05:00:00Z", true, "2026-08-08T06:00:00Z"},
		"and not to the one before":                       {"Fri 22:00-06:00 UTC", "2026-08-07T05:00:00Z", false, "2026-08-07T22:00:00Z"},
		"days alone are whole days":                       {"Sat,Sun", "2026-08-08T00:00:00Z", true, "2026-08-09T00:00:00Z"},
		"hours alone are every day":                       {"22:00-06:00", "2026-08-09T23:00:00Z", true, "2026-08-10T06:00:00Z"},
		"days run over the end of the week":               {"Sat-Mon", "2026-08-10T12:00:00Z", true, "2026-08-11T00:00:00Z"},
		"daily is every day":                              {"daily 08:00-24:00", "2026-08-09T23:59:59Z", true, "2026-08-10T00:00:00Z"},
		"midnight at the end is 24:00":                    {"daily 08:00-00:00", "2026-08-09T23:59:59Z", true, "2026-08-10T00:00:00Z"},
		"once a week, just over":                          {"Wed 08:00-09:00", "2026-08-05T09:00:00Z", false, "2026-08-12T08:00:00Z"},
		"in winter, an hour later by the sun":             {"daily 08:00-20:00 Europe/Berlin", "2026-01-05T06:30:00Z", false, "2026-01-05T07:00:00Z"},
		"the night in which the clock is put forward":     {"Sun 01:00-04:00 Europe/Berlin", "2026-03-29T01:30:00Z", true, "2026-03-29T02:00:00Z"},
		"the night in which it is put back lasts longer":  {"Sun 01:00-04:00 Europe/Berlin", "2026-10-25T02:30:00Z", true, "2026-10-25T03:00:00Z"},
		"hours that the clock jumps over do not exist":    {"Sun 02:00-03:00 Europe/Berlin", "2026-03-29T00:59:00Z", false, "2026-04-05T00:00:00Z"},
		"a time of another zone is the same instant here": {"Mon-Fri 08:00-20:00 UTC", "2026-08-05T22:30:00+09:00", true, "2026-08-05T20:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := calendar.Parse(tc.hours)
			if err != nil {
				t.Fatal(err)
			}
			at := instant(t, tc.at)
			if got := h.In(at); got != tc.in {
				t.Errorf("in force: %t, want %t", got, tc.in)
			}
			if got := h.Next(at); !got.Equal(instant(t, tc.next)) {
				t.Errorf("changes next at %s, want %s", got.Format(time.RFC3339), tc.next)
			}
			again, err := calendar.Parse(h.String())
			if err != nil || !again.Equal(h) {
				t.Errorf("written as %q and read back: %v, %v", h, again, err)
			}
		})
	}
}

// TestHoursChangeOnlyWhereNextSays walks through two years, both changes of the clock included.
func TestHoursChangeOnlyWhereNextSays(t *testing.T) {
	for _, text := range []string{"Mon-Fri 08:00-20:00 Europe/Berlin", "22:30-02:30 America/New_York", "Sun 01:00-04:00 Europe/Berlin", "Sat,Tue Australia/Lord_Howe"} {
		h, err := calendar.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		next := h.Next(at)
		for in := h.In(at); at.Year() < 2028; at = at.Add(15 * time.Minute) {
			if now := h.In(at); now != in {
				if !next.Equal(at) {
					t.Fatalf("%s: changes at %s, announced was %s", text, at, next)
				}
				in = now
			}
			if !at.Before(next) {
				next = h.Next(at)
			}
		}
	}
}

func TestWhatIsNoTimeIsSaid(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "names no time",
		"Mon-Fry 08:00-20:00":          `"Mon-Fry" is no day of the week`,
		"Mon-Fri 8-20":                 `"8-20" are no hours`,
		"08:00-25:00":                  "from 00:00 to 24:00",
		"08:00-20:60":                  "from 00:00 to 24:00",
		"08:00":                        "give hh:mm-hh:mm",
		"24:00-08:00":                  "from 00:00 to 24:00",
		"08:00-08:00":                  "leave the hours out for the whole day",
		"00:00-00:00":                  "give hh:mm-hh:mm",
		"Mon 08:00-20:00 Berlin":       `"Berlin" is no time zone`,
		"Mon 08:00-20:00 Local":        `"Local" is no time zone`,
		"Mon 08:00-20:00 UTC tomorrow": "one word too many",
	} {
		if h, err := calendar.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, error %v, want one that says %q", text, h, err, want)
		}
	}
}

func TestHoursThatNobodyMadeAreNeverInForce(t *testing.T) {
	var h calendar.Hours
	if at := instant(t, "2026-08-05T09:00:00Z"); h.In(at) || !h.Next(at).IsZero() || h.String() != "" {
		t.Errorf("the zero value is in force: %t, next %s, %q", h.In(at), h.Next(at), h)
	}
}

func TestHoursAreReadAsTheyAreWritten(t *testing.T) {
	for _, text := range []string{"Mon-Fri 08:00-20:00 Europe/Berlin", "daily 22:00-06:00 UTC", "Mon,Wed 00:00-24:00 UTC"} {
		var h calendar.Hours
		if err := h.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if again, err := h.MarshalText(); err != nil || string(again) != text {
			t.Errorf("%q is written as %q (%v)", text, again, err)
		}
	}
}

func instant(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}
