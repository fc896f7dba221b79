package report

import (
	"testing"
	"time"
)

func TestMetricsTellWhatTheCloudsAPIWasAsked(t *testing.T) {
	m := NewMetrics()
	classes := []APIClass{
		{
			Class: "machine lists", Region: "westeurope", Answered: map[string]int{"200": 7, "429": 1}, Held: map[string]int{"share": 2, "throttled": 3},
			Limited: true, Left: 12.5, Most: 1200, Until: time.Unix(1772366400, 0),
		},
		{Class: "disk reads", Answered: map[string]int{"200": 1}},
	}
	m.WatchAPI(func() []APIClass { return classes })
	for range 2 { // every scrape reads again
		got := scrape(t, m)
		for sample, want := range map[string]string{
			`sluice_azure_requests_total{class="machine lists",region="westeurope",status="200"}`:            "7",
			`sluice_azure_requests_total{class="machine lists",region="westeurope",status="429"}`:            "1",
			`sluice_azure_requests_total{class="machine lists",region="westeurope",status="403"}`:            "0",
			`sluice_azure_requests_total{class="disk reads",region="",status="429"}`:                         "0",
			`sluice_azure_requests_held_total{class="machine lists",reason="share",region="westeurope"}`:     "2",
			`sluice_azure_requests_held_total{class="machine lists",reason="throttled",region="westeurope"}`: "3",
			`sluice_azure_budget_requests{class="machine lists",region="westeurope"}`:                        "12.5",
			`sluice_azure_budget_max_requests{class="machine lists",region="westeurope"}`:                    "1200",
			`sluice_azure_throttled_until_timestamp_seconds{class="machine lists",region="westeurope"}`:      "1.7723664e+09",
			`sluice_azure_throttled_until_timestamp_seconds{class="disk reads",region=""}`:                   "0",
			`sluice_azure_budget_requests{class="disk reads",region=""}`:                                     "",
		} {
			if got[sample] != want {
				t.Errorf("%s is %q, want %q", sample, got[sample], want)
			}
		}
	}
	classes[0].Answered["200"] = 8
	if got := scrape(t, m)[`sluice_azure_requests_total{class="machine lists",region="westeurope",status="200"}`]; got != "8" {
		t.Errorf("the next scrape says %s, want 8", got)
	}
}
