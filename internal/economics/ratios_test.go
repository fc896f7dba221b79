package economics

import (
	"slices"
	"testing"
)

// TestRatiosCompareWithinOneFarm divides by what the other contender paid for the same boot times: against itself every ratio is 1.
func TestRatiosCompareWithinOneFarm(t *testing.T) {
	autoscaler := Contender{Name: TheParallel, New: func(Workload) Autoscaler { own := parallel; own.Expander = Expanders[2]; return &own }}
	w := slice(1)
	var told []int
	got := Ratios(w, []Contender{autoscaler, autoscaler}, 1, 3, func(done, all int) { told = append(told, done, all) })
	if want := []int{1, 6, 2, 6, 3, 6, 4, 6, 5, 6, 6, 6}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
	one := Spread{Median: 1, Least: 1, Most: 1}
	if len(got) != 1 || got[0].USD != one || got[0].Hours != one || got[0].Farms != 3 {
		t.Errorf("against itself: %+v", got)
	}
	if p := got[0].Paid; p.Least == p.Most {
		t.Errorf("three farms cost the same %g USD: their boot times do not differ", p.Least)
	}
}

func TestSpread(t *testing.T) {
	if got, want := spread([]float64{4, 1, 3, 2}), (Spread{Median: 2.5, Least: 1, Most: 4}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
