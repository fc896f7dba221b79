package economics

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"text/tabwriter"
)

// Spread is a figure over several farms.
type Spread struct {
	Median float64 `json:"median"`
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
}

// Ratio is what sluice came to, divided by what another contender came to on the same farm, over farms that differ in their boot times.
type Ratio struct {
	Workload string `json:"workload"`
	Against  string `json:"against"`
	Farms    int    `json:"farms"`
	USD      Spread `json:"usd"`
	Hours    Spread `json:"machineHours"`
	Paid     Spread `json:"paidUSD"`    // by the other one
	Killed   Spread `json:"jobsKilled"` // by the other one
}

// Ratios replays the workload on one farm a seed, from the first seed on, and compares the first contender with each of the others.
// It says after each replay how many of all are done.
func Ratios(w Workload, contenders []Contender, first uint64, farms int, ended func(done, all int)) []Ratio {
	runs := make([][]Replayed, len(contenders))
	var wait sync.WaitGroup
	var mu sync.Mutex
	done := 0
	cores := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, c := range contenders {
		runs[i] = make([]Replayed, farms)
		for farm := range farms {
			wait.Go(func() {
				cores <- struct{}{}
				defer func() { <-cores }()
				runs[i][farm] = c.Run(w, DrawnBoot(first+uint64(farm)))
				mu.Lock()
				defer mu.Unlock()
				done++
				ended(done, farms*len(contenders))
			})
		}
	}
	wait.Wait()
	own := runs[0]
	var all []Ratio
	for i, c := range contenders[1:] {
		other := runs[i+1]
		over := func(figure func(farm int) float64) Spread {
			values := make([]float64, farms)
			for farm := range values {
				values[farm] = figure(farm)
			}
			return spread(values)
		}
		all = append(all, Ratio{
			Workload: w.Name, Against: c.Name, Farms: farms,
			USD:    over(func(farm int) float64 { return own[farm].CostUSD / other[farm].CostUSD }),
			Hours:  over(func(farm int) float64 { return own[farm].MachineHours / other[farm].MachineHours }),
			Paid:   over(func(farm int) float64 { return other[farm].CostUSD }),
			Killed: over(func(farm int) float64 { return float64(other[farm].Killed) }),
		})
	}
	return all
}

func spread(values []float64) Spread {
	slices.Sort(values)
	return Spread{Median: (values[(len(values)-1)/2] + values[len(values)/2]) / 2, Least: values[0], Most: values[len(values)-1]}
}

// WriteRatios prints ratios as a table.
func WriteRatios(to io.Writer, all []Ratio) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "workload\tsluice against\tfarms\tUSD, ratio\tleast\tmost\tmachine-hours, ratio\tleast\tmost\tUSD of the other\t"+
		"its Job pods killed\t")
	for _, r := range all {
		fmt.Fprintf(w, "%s\t%s\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.0f\t%.0f\t\n", r.Workload, r.Against, r.Farms,
			r.USD.Median, r.USD.Least, r.USD.Most, r.Hours.Median, r.Hours.Least, r.Hours.Most, r.Paid.Median, r.Killed.Median)
	}
	w.Flush()
}
