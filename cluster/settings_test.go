package cluster_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/cluster"
)

func TestSchedulesChangeLimitsInTheirHoursOnly(t *testing.T) {
	for name, tc := range map[string]struct {
		schedules []string
		at        string
		want      [2]int // of a group with min 1 and max 10
	}{
		"no schedule":                        {nil, "2026-08-05T09:00:00Z", [2]int{1, 10}},
		"in its hours":                       {[]string{"Mon-Fri 08:00-20:00 min=3 max=20"}, "2026-08-05T09:00:00Z", [2]int{3, 20}},
		"out of them":                        {[]string{"Mon-Fri 08:00-20:00 min=3 max=20"}, "2026-08-05T21:00:00Z", [2]int{1, 10}},
		"min alone leaves max":               {[]string{"daily min=3"}, "2026-08-05T09:00:00Z", [2]int{3, 10}},
		"max alone leaves min":               {[]string{"daily max=4"}, "2026-08-05T09:00:00Z", [2]int{1, 4}},
		"the last one in force wins":         {[]string{"daily min=2 max=5", "Wed max=7"}, "2026-08-05T09:00:00Z", [2]int{2, 7}},
		"one that is not in force is silent": {[]string{"daily min=2 max=5", "Thu max=7"}, "2026-08-05T09:00:00Z", [2]int{2, 5}},
		"max holds against a scheduled min":  {[]string{"daily min=30"}, "2026-08-05T09:00:00Z", [2]int{10, 10}},
		"a scheduled max lowers min":         {[]string{"daily max=0"}, "2026-08-05T09:00:00Z", [2]int{0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			var schedules []cluster.Schedule
			for _, text := range tc.schedules {
				s, err := cluster.ParseSchedule(text)
				if err != nil {
					t.Fatal(err)
				}
				schedules = append(schedules, s)
			}
			at, err := time.Parse(time.RFC3339, tc.at)
			if err != nil {
				t.Fatal(err)
			}
			least, most := cluster.Limits(1, 10, schedules, at)
			if got := [2]int{least, most}; got != tc.want {
				t.Errorf("min and max %v, want %v", got, tc.want)
			}
		})
	}
}

func TestSettingsThatMakeNoSenseSayWhatIsAllowed(t *testing.T) {
	schedule := func(text string) error { _, err := cluster.ParseSchedule(text); return err }
	headroom := func(text string) error { _, err := cluster.ParseHeadroom(text); return err }
	ceiling := func(text string) error { _, err := cluster.ParseCeiling(text); return err }
	pods := func(text string) error { _, err := cluster.ParsePodSelector(text); return err }
	for text, tc := range map[string]struct {
		parse func(string) error
		want  string
	}{
		"Mon-Fri 08:00-20:00":             {schedule, "neither min nor max"},
		"Mon-Fri min=5 max=3":             {schedule, "max 3 is below min 5"},
		"Mon-Fri min=5 min=6":             {schedule, "once each"},
		"Mon-Fri min=-5":                  {schedule, `"min=-5" is no limit`},
		"Mon-Fri size=5":                  {schedule, `"size=5" is no limit`},
		"min=5":                           {schedule, "names no time"},
		"Mon-Fri 08:00-20:00 Paris min=3": {schedule, "no time zone"},
		"machines":                        {headroom, "give machines:N or cores:N"},
		"machines:-1":                     {headroom, "give machines:N or cores:N"},
		"cores:1.5":                       {headroom, "give machines:N or cores:N"},
		"pods:3":                          {headroom, "give machines:N or cores:N"},
		"machines:20":                     {ceiling, "has a window if it counts what happens over time"},
		"machines:2.5/1h":                 {ceiling, `"2.5" is no limit of machines`},
		"machines:0/1h":                   {ceiling, "above zero"},
		"usd:NaN/1h":                      {ceiling, "above zero"},
		"usd:Inf/1h":                      {ceiling, "above zero"},
		"usd:12/10s":                      {ceiling, "no window from 1m to 744h"},
		"usd:12/day":                      {ceiling, "no window"},
		"usd-per-hour:12/1h":              {ceiling, "and only then"},
		"eur:12/1h":                       {ceiling, `"eur" counts nothing`},
		"render":                          {pods, "it chooses by no label; give NAMESPACE/SELECTOR"},
		"render/ ":                        {pods, "it chooses by no label"},
		"app=worker":                      {pods, `"app=worker" is no namespace; give NAMESPACE/SELECTOR`},
		"render/app in worker":            {pods, `"app in worker" is no label selector`},
		"render/app=a b":                  {pods, `"app=a b" is no label selector`},
	} {
		t.Run(text, func(t *testing.T) {
			if err := tc.parse(text); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one that says %q", err, tc.want)
			}
		})
	}
}

func TestAGroupsSettingsSurviveTheJournal(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var want cluster.Options
	want.Headroom = &cluster.Headroom{}
	must(want.Headroom.UnmarshalText([]byte("cores:16")))
	for _, text := range []string{"Fri-Mon,Wed 22:00-06:00 Europe/Berlin min=3", "daily max=2"} {
		s, err := cluster.ParseSchedule(text)
		must(err)
		want.Schedules = append(want.Schedules, s)
	}
	for _, text := range []string{"machines:20/10m", "usd:0.5/24h", "usd-per-hour:12"} {
		c, err := cluster.ParseCeiling(text)
		must(err)
		want.Ceilings = append(want.Ceilings, c)
	}
	for _, text := range []string{"render/app=worker", "render/tier in (a,b),!app.kubernetes.io/name"} {
		s, err := cluster.ParsePodSelector(text)
		must(err)
		want.DaemonWork = append(want.DaemonWork, s)
	}
	data, err := json.Marshal(want)
	must(err)
	var got cluster.Options
	must(json.Unmarshal(data, &got))
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("written as %s and read back (-want +got):\n%s", data, d)
	}
	if want := "Mon,Wed,Fri-Sun 22:00-06:00 Europe/Berlin"; got.Schedules[0].Hours.String() != want {
		t.Errorf("the hours read %q, want %q", got.Schedules[0].Hours, want)
	}
}
