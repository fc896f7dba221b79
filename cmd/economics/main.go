// Command economics prints what decisions cost: plans for pods that wait beside a lower bound, and replays of recorded workloads. See
// docs/reference/economics.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/internal/economics"
	"sluice.dev/sluice/internal/progress"
	"sluice.dev/sluice/internal/traces"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "economics:", err)
		os.Exit(1)
	}
}

// options are the command's flags.
type options struct {
	data, json, only, workload, contender string
	moments, farms                        int
	until                                 time.Duration
	seed                                  uint64
}

// document is what -json writes.
type document struct {
	Plans   []economics.Row      `json:"plans,omitempty"`
	Replays []economics.Replayed `json:"replays,omitempty"`

	Removals []economics.Replayed `json:"removals,omitempty"`
	Story    []economics.Replayed `json:"story,omitempty"`
	Ratios   []economics.Ratio    `json:"ratios,omitempty"`
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("economics", flag.ContinueOnError)
	flags.StringVar(&o.data, "data", "", "`directory` with the traces and prices that docs/reference/economics.md names; the story needs none")
	flags.StringVar(&o.json, "json", "", "file to write the tables to as JSON")
	flags.StringVar(&o.only, "only", "", "print only \"plans\", \"replays\", \"removals\", \"ratios\" to cluster-autoscaler or the founding \"story\"")
	flags.StringVar(&o.workload, "workload", "", "replay only workloads whose name contains this")
	flags.StringVar(&o.contender, "contender", "", "replay only contenders whose name contains this")
	flags.IntVar(&o.moments, "moments", 40, "moments of each workload that are planned for")
	flags.Uint64Var(&o.seed, "boot-seed", 0, "draw boot times from this seed; 0 for 180 s flat")
	flags.IntVar(&o.farms, "farms", 20, "farms of the ratios, each with boot times of a seed of its own")
	flags.DurationVar(&o.until, "until", 0, "replay only the pods that come before this time of the workload, such as 24h; 0 for all")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if !slices.Contains([]string{"", "plans", "replays", "removals", "ratios", "story"}, o.only) {
		return fmt.Errorf("-only=%s: say plans, replays, removals, ratios or story", o.only)
	}
	if o.farms < 1 {
		return fmt.Errorf("-farms=%d: give at least 1", o.farms)
	}
	if o.data == "" && o.only != "story" {
		return errors.New("-data is not given: name the directory with the traces that docs/reference/economics.md lists, or say -only=story")
	}
	var doc document
	if o.only == "" || o.only == "story" {
		for _, c := range economics.StoryTellers() {
			doc.Story = append(doc.Story, c.Run(economics.FoundingStory(), economics.FlatBoot))
		}
		economics.WriteRemovals(out, doc.Story)
		fmt.Fprintln(out)
	}
	if o.only == "story" {
		return doc.write(o.json)
	}
	t, err := load(ctx, o.data)
	if err != nil {
		return err
	}
	if o.only == "" || o.only == "plans" {
		doc.Plans = economics.Compare(t.instances(o.moments), economics.Methods())
		economics.WriteRows(out, doc.Plans)
		fmt.Fprintln(out)
	}
	if o.only == "" || o.only == "replays" {
		doc.Replays = t.replay(o, economics.Contenders(), economics.Workload.Pinned)
		economics.WriteReplays(out, doc.Replays)
		fmt.Fprintln(out)
	}
	if o.only == "" || o.only == "removals" {
		doc.Removals = t.replay(o, economics.Removals(), func(w economics.Workload) economics.Workload { return w })
		economics.WriteRemovals(out, doc.Removals)
		fmt.Fprintln(out)
		economics.WriteSpells(out, doc.Removals)
		fmt.Fprintln(out)
	}
	if o.only == "" || o.only == "ratios" {
		line := progress.NewLine(os.Stderr)
		for _, w := range t.workloads(o) {
			meter := line.Meter()
			ended := func(done, all int) {
				meter.At(int64(done), int64(all), func() string { return fmt.Sprintf("%d of %d replays of %s", done, all, w.Name) })
			}
			doc.Ratios = append(doc.Ratios, economics.Ratios(w, economics.Parallels(), max(1, o.seed), o.farms, ended)...)
		}
		line.Clear()
		economics.WriteRatios(out, doc.Ratios)
	}
	return doc.write(o.json)
}

// write writes the tables to a file, to none when it has no name.
func (doc document) write(file string) error {
	if file == "" {
		return nil
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// loaded is what the directory holds.
type loaded struct {
	farm          []economics.Kind // that serves W1 and W2
	ten, forty    []economics.Kind // that openb waits for at once
	openb, w1, w2 []traces.Pod
}

func load(ctx context.Context, dir string) (loaded, error) {
	var t loaded
	d, err := traces.Open(dir)
	if err != nil {
		return t, err
	}
	sizes, err := d.Sizes()
	if err != nil {
		return t, err
	}
	if t.farm, err = economics.FarmKinds(sizes); err != nil {
		return t, err
	}
	if t.ten, t.forty, err = economics.OpenbKinds(sizes); err != nil {
		return t, err
	}
	if t.openb, err = d.Openb(); err != nil {
		return t, err
	}
	if t.w1, err = d.W1(ctx); err != nil {
		return t, err
	}
	t.w2, err = d.W2(ctx)
	return t, err
}

// instances are the sets of pods that are planned for.
func (t loaded) instances(moments int) []economics.Instance {
	all := []economics.Instance{
		economics.NewInstance("openb, ten groups", "openb", t.ten, t.openb),
		economics.NewInstance("openb, forty sizes", "openb", t.forty, t.openb),
	}
	all = append(all, economics.Moments("W1", t.farm, t.w1, moments)...)
	return append(all, economics.Moments("W2", t.farm, t.w2, moments)...)
}

// workloads are those that the options choose.
func (t loaded) workloads(o options) []economics.Workload {
	all := []economics.Workload{
		economics.NewWorkload(economics.W1CPU, t.farm, t.w1, false),
		economics.NewWorkload(economics.W1GPU, t.farm, t.w1, true),
		economics.NewWorkload(economics.W2, t.farm, t.w2, false),
	}
	for i := range all {
		all[i].Pods = slices.DeleteFunc(all[i].Pods, func(p traces.Pod) bool { return o.until > 0 && p.At >= o.until })
	}
	return slices.DeleteFunc(all, func(w economics.Workload) bool { return !strings.Contains(w.Name, o.workload) })
}

func (t loaded) replay(o options, contenders []economics.Contender, as func(economics.Workload) economics.Workload) []economics.Replayed {
	boot := economics.FlatBoot
	if o.seed != 0 {
		boot = economics.DrawnBoot(o.seed)
	}
	var all []economics.Replayed
	for _, w := range t.workloads(o) {
		for _, c := range contenders {
			if (c.Only == "" || c.Only == w.Name) && strings.Contains(c.Name, o.contender) {
				all = append(all, c.Run(as(w), boot))
			}
		}
	}
	return all
}
