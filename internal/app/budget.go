package app

import (
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/report"
)

// apiClasses are the budget's classes as the metrics show them. A single resource that Azure asked to be left alone is no class of its
// own: its requests count as held.
func apiClasses(budget []azure.ClassBudget) []report.APIClass {
	out := make([]report.APIClass, 0, len(budget))
	for _, b := range budget {
		c := report.APIClass{
			Class: b.Class, Region: b.Region, Answered: map[string]int{}, Held: map[string]int{"share": b.Held, "throttled": b.Shut},
			Limited: b.Limited, Left: b.Left, Most: b.Most, Until: b.Until,
		}
		for _, a := range b.Answered {
			c.Answered[a.Status] = a.Count
		}
		out = append(out, c)
	}
	return out
}
