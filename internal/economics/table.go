package economics

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
)

// Row is how one method does on one family of instances.
type Row struct {
	Family    string  `json:"family"`
	Method    string  `json:"method"`
	Instances int     `json:"instances"`
	CostUSD   float64 `json:"costUSDPerHour"` // of all instances together
	Bound     float64 `json:"boundUSDPerHour"`
	Median    float64 `json:"median"` // of the ratio of cost to bound
	Worst     float64 `json:"worst"`
	WorstAt   string  `json:"worstAt"`
	Unplaced  int     `json:"unplaced"`
	// DearerThanExpander counts the instances that cost more than with the best expander.
	DearerThanExpander int `json:"dearerThanExpander"`
}

// Compare answers every instance by sluice's plan and by every other method, a row for each method and family.
func Compare(instances []Instance, methods []Method) []Row {
	var rows []Row
	at := map[[2]string]int{}
	ratios := map[int][]float64{}
	for _, in := range instances {
		bound := Bound(in)
		best := math.Inf(1) // of the expanders
		costs := make([]float64, len(methods))
		answers := make([]Answer, len(methods))
		for i, m := range methods {
			answers[i] = m.Answer(in)
			costs[i] = answers[i].Cost(in.Kinds)
			if m.Expander && answers[i].Unplaced == 0 {
				best = min(best, costs[i])
			}
		}
		for i, m := range methods {
			key := [2]string{in.Family, m.Name}
			r, known := at[key]
			if !known {
				r = len(rows)
				at[key] = r
				rows = append(rows, Row{Family: in.Family, Method: m.Name})
			}
			row := &rows[r]
			row.Instances++
			row.CostUSD += costs[i]
			row.Bound += bound
			row.Unplaced += answers[i].Unplaced
			ratio := costs[i] / bound
			ratios[r] = append(ratios[r], ratio)
			if ratio > row.Worst {
				row.Worst, row.WorstAt = ratio, in.Name
			}
			if costs[i] > best*(1+even) {
				row.DearerThanExpander++
			}
		}
	}
	for r := range rows {
		slices.Sort(ratios[r])
		rows[r].Median = ratios[r][len(ratios[r])/2]
	}
	return rows
}

// WriteRows prints rows as a table.
func WriteRows(to io.Writer, rows []Row) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "instances\tn\tmethod\tUSD an hour\tbound\tmedian\tworst\tdearer than best expander\tunplaced\t")
	last := ""
	for _, r := range rows {
		family := r.Family
		if family == last {
			family = ""
		}
		last = r.Family
		fmt.Fprintf(w, "%s\t%d\t%s\t%.2f\t%.2f\t%.3f\t%.3f\t%d\t%d\t\n",
			family, r.Instances, r.Method, r.CostUSD, r.Bound, r.Median, r.Worst, r.DearerThanExpander, r.Unplaced)
	}
	w.Flush()
}
