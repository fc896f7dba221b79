package fidelity

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	corev1 "k8s.io/api/core/v1"
)

// Tally sums up walks. Its zero value is ready.
type Tally struct {
	Worlds, Pods, Placements, Refusals, Questions, Fits, Disagreements int

	// WrongFits and WrongRefusals are the disagreements of either kind: what was said to fit does not, or fits after all.
	WrongFits, WrongRefusals int

	Coverage Coverage
}

// Add counts a world and what came of it.
func (t *Tally) Add(w *World, got Walked) {
	t.Worlds++
	t.Pods += len(w.Pods)
	for _, at := range got.Placements {
		if at.Pod != "" {
			t.Placements++
		}
	}
	t.Refusals += len(got.Refused)
	t.Questions += got.Questions
	t.Fits += got.Fits
	t.Disagreements += len(got.Disagreements)
	for _, d := range got.Disagreements {
		switch d.Said {
		case answer(true):
			t.WrongFits++
		case answer(false):
			t.WrongRefusals++
		}
	}
	t.Coverage.add(w, got.Coverage)
}

// String is one line.
func (t *Tally) String() string {
	return fmt.Sprintf("worlds %d pods %d placements %d refusals %d disagreements %d: wrong fits %d, wrong refusals %d (%d questions, %d fit)",
		t.Worlds, t.Pods, t.Placements, t.Refusals, t.Disagreements, t.WrongFits, t.WrongRefusals, t.Questions, t.Fits)
}

// Seeds are 0 to n-1, or those that the environment names in SLUICE_WORLD: one, to look into a world again, or a range such as
// 2000-9999, to look further.
func Seeds(n int) (seeds []uint64, chosen bool, err error) {
	first, last := uint64(0), uint64(n)-1
	if name := os.Getenv("SLUICE_WORLD"); name != "" {
		from, to, isRange := strings.Cut(name, "-")
		if !isRange {
			to = from
		}
		var errs [2]error
		first, errs[0] = strconv.ParseUint(from, 10, 64)
		last, errs[1] = strconv.ParseUint(to, 10, 64)
		if err := errors.Join(errs[:]...); err != nil {
			return nil, true, fmt.Errorf("SLUICE_WORLD names worlds by their seeds, such as 7 or 2000-9999: %w", err)
		}
		chosen = true
	}
	for seed := first; seed <= last; seed++ {
		seeds = append(seeds, seed)
	}
	return seeds, chosen, nil
}

// Coverage counts what worlds were drawn under and what kube-scheduler refused. Its zero value is ready.
type Coverage struct {
	worlds  map[Constraint]*covered
	plugins map[string]int // refusals by the plugin that refused first
}

// covered is one constraint's row.
type covered struct {
	alone, combined int // worlds
	fits, refusals  int // answers about pods that carry it, or in worlds that it shapes
}

func (c *Coverage) row(of Constraint) *covered {
	if c.worlds == nil {
		c.worlds, c.plugins = map[Constraint]*covered{}, map[string]int{}
	}
	if c.worlds[of] == nil {
		c.worlds[of] = &covered{}
	}
	return c.worlds[of]
}

// names are all constraints of the kinds that were drawn, in their order.
func (c *Coverage) names() []Constraint {
	var names []Constraint
	for _, kind := range [][]Constraint{Constraints, VolumeConstraints, DeviceConstraints} {
		if slices.ContainsFunc(kind, func(of Constraint) bool { return c.worlds[of] != nil }) {
			names = append(names, kind...)
		}
	}
	return names
}

// count takes down kube-scheduler's answer about a pod.
func (c *Coverage) count(w *World, p *corev1.Pod, why string) {
	c.tell(w, p, why == "")
	if why != "" {
		plugin, _, _ := strings.Cut(why, ":")
		c.row(w.Constraints[0])
		c.plugins[plugin]++
	}
}

// Tell counts an outcome as answers: every pod with a place as one that fits, every refused one as a refusal.
func (c *Coverage) Tell(w *World, out Outcome) {
	for _, at := range out.Placements {
		if at.Pod != "" {
			c.tell(w, w.Pod(at.Pod), true)
		}
	}
	for _, key := range out.Refused {
		c.tell(w, w.Pod(key), false)
	}
}

// tell counts an answer for the constraints that the pod carries, and those that no pod carries.
func (c *Coverage) tell(w *World, p *corev1.Pod, fits bool) {
	count := func(of Constraint) {
		if fits {
			c.row(of).fits++
		} else {
			c.row(of).refusals++
		}
	}
	for _, of := range w.Carries[keyOf(p)] {
		count(of)
	}
	for _, of := range w.Constraints {
		if rules[of].pod == nil { // it is in the nodes, or in pods one by one
			count(of)
		}
	}
}

// add counts a world and what its walk has counted.
func (c *Coverage) add(w *World, of Coverage) {
	for _, name := range w.Constraints {
		row := c.row(name)
		if len(w.Constraints) == 1 {
			row.alone++
		} else {
			row.combined++
		}
	}
	for name, r := range of.worlds {
		row := c.row(name)
		row.fits, row.refusals = row.fits+r.fits, row.refusals+r.refusals
	}
	for name, n := range of.plugins {
		c.plugins[name] += n
	}
}

// Lacking says which constraints were in too few worlds, alone or combined, or never made for both answers; nil when none. It says so of
// those given, or of all of the kinds that were drawn.
func (c *Coverage) Lacking(alone, combined int, of ...Constraint) []string {
	if len(of) == 0 {
		of = c.names()
	}
	var lacks []string
	for _, name := range of {
		if r := c.row(name); r.alone < alone || r.combined < combined || r.fits == 0 || r.refusals == 0 {
			lacks = append(lacks, fmt.Sprintf("%s: %d worlds alone, %d combined, %d fits, %d refusals", name, r.alone, r.combined, r.fits, r.refusals))
		}
	}
	return lacks
}

// String is a table: a row for every constraint, then one for every plugin that refused.
func (c *Coverage) String() string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "constraint\talone\tcombined\tfits\trefusals\t")
	for _, name := range c.names() {
		r := c.row(name)
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t\n", name, r.alone, r.combined, r.fits, r.refusals)
	}
	fmt.Fprintln(t, "refused by\t\t\t\t\t")
	for _, name := range sortedKeys(c.plugins) {
		fmt.Fprintf(t, "%s\t\t\t\t%d\t\n", name, c.plugins[name])
	}
	_ = t.Flush() // a Builder takes everything
	return b.String()
}
