package actuate

import (
	"testing"
	"time"
)

// TestNoRequestIsGivenLongerThanTheLease holds also where less is left than the guard wanted when it looked.
func TestNoRequestIsGivenLongerThanTheLease(t *testing.T) {
	now := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		leads time.Time
		want  time.Duration
	}{
		"nobody elects":           {time.Time{}, requestTimeout},
		"the lease ends far away": {now.Add(time.Hour), requestTimeout},
		"ten seconds are left":    {now.Add(10 * time.Second), 10 * time.Second},
		"one second is left":      {now.Add(time.Second), time.Second},
		"it has ended":            {now.Add(-time.Second), -time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			a := &Actuator{Now: func() time.Time { return now }, Leads: func() time.Time { return c.leads }}
			if got := a.within(); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
