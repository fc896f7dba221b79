// Package world runs scenarios: one simulated Azure, one simulated Kubernetes and the real sluice on one clock.
//
// Nothing of sluice is replaced. The autoscaler of package app speaks with the real Azure SDK to azuresim and with the real
// client-go to kubesim, both inside the process; only the clock is the world's own. It stands still while anybody acts and
// jumps from one event to the next: a machine boots, a kubelet joins, a pod finishes, a timer of sluice runs out, the script goes
// on. Before each cycle the world waits until sluice has seen all that Kubernetes has to show, so that a scenario has the same
// transcript on every machine and a simulated night takes a second.
//
// A scenario is a txtar archive: prose and a script, then the transcript that is expected, then files that the script applies.
//
//	# Scale-in removes the idle machine, not the newest one.
//	group agents size=Standard_D4s_v5 min=1 max=5 machines=3
//	pod render-0 cpu=3 on=agents_2 owner=job
//	advance 11m
//	-- transcript --
//	00:00 node agents_0             idle       nothing but daemons for 0s (limit 10m0s)
//	...
//
// # Script
//
// One statement a line: a verb, what it is about, and settings as name=value. A value with blanks stands in double quotes. What
// stands before the first advance, until or restart is how things are when sluice starts; what follows happens to a running one.
// [Help] lists the statements.
//
// A statement after the word try may fail: then it has done nothing.
//
// # Names
//
// A machine is named as Azure names it: agents_2 is instance 2 of group agents. The node that it becomes bears the machine's
// computer name, agents000002; script and transcript call both agents_2. Pods that a controller makes are called after it and
// numbered in the order in which they came, web-1, web-2, instead of by random letters. Pods without a namespace are in default.
//
// # Transcript
//
// A line is a time, a subject, an outcome and sentences:
//
//	10:00 node agents_1             cordoned   idle for 10m0s
//
// The time is minutes and seconds since the start, and hours in front of them from the first hour on. The clock starts at midnight, so
// that times of day inside of sentences are the same. There are three kinds of lines, in the order in which things happened:
//
//   - what the script did: "> cordon agents_1";
//   - what happened in the world: a machine was created, is being deleted, failed or is gone; a node became ready, or is ready no more;
//     a pod runs, has finished, was evicted, deleted or lost;
//   - what sluice decided: the verdict about a pending pod, a machine without a node, a node or a group, whenever its outcome or
//     the code of its first reason changes; and results of actions that were refused, failed or skipped, once while they last.
//
// Lines about several pods of one controller that say the same are one: "pods default/web-1..10".
package world

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/tools/txtar"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"sluice.dev/sluice/internal/kubesim"
	"sluice.dev/sluice/internal/observer"
)

// Options of a run. The zero value is ready for use.
type Options struct {
	Seed      uint64 // of every generated id and name
	NoJournal bool   // keep none, and do not decide again from it
	Trace     bool   // keep what sluice asked and was told, for comparing two plays of one history

	// Kubernetes carries what sluice and its agents ask of the API server; nil: nothing comes between.
	Kubernetes func(http.RoundTripper) http.RoundTripper
}

// Result is what came of a run that reached the end of its script.
type Result struct {
	Transcript string               // what was written
	Expected   string               // the scenario's transcript section; "" when it has none
	HasOne     bool                 // whether it has one
	Broken     []string             // promises of sluice that the simulators saw broken, one sentence each
	Violations []observer.Violation // the same, but for cycles that the journal does not reproduce
	Cycles     int                  // that sluice turned
	Elapsed    time.Duration        // on the world's clock
	Actions    int                  // of plans, whatever became of them
	Refused    map[string]int       // writes that the safety contract forbade, to the guard or to plan, by property
	Judged     map[string]int       // writes that the observer judged, by what they were
	Contained  map[string]int       // what the observer saw of losses and removals, by kind
	Journal    []byte               // of all cycles, as journal.Encoder writes it
	Trace      string               // every request to Azure and every write to Kubernetes, in order; "" unless asked for
}

// transcriptName is the archive's section with the expected transcript.
const transcriptName = "transcript"

// Run plays a scenario and writes its transcript to w as it goes. Errors are one sentence with the line of the script; the Result
// then holds what was written until there.
func Run(ctx context.Context, file []byte, w io.Writer, o Options) (Result, error) {
	archive := txtar.Parse(file)
	var r Result
	fixtures := map[string][]byte{}
	for _, f := range archive.Files {
		if f.Name == transcriptName {
			r.Expected, r.HasOne = string(f.Data), true
			continue
		}
		fixtures[f.Name] = f.Data
	}
	script, err := parse(archive.Comment)
	if err != nil {
		return r, err
	}
	var said bytes.Buffer
	world := newWorld(o, fixtures, io.MultiWriter(&said, w))
	defer world.close()
	err = world.play(ctx, script)
	r.Transcript, r.Cycles, r.Trace = said.String(), world.recording.cycles, world.wire.trace.all(world.cluster)
	if err != nil {
		return r, err
	}
	r.Journal = world.recording.journal.Bytes()
	r.Elapsed, r.Actions, r.Refused, r.Judged = world.elapsed(), world.tally.actions, world.tally.refused, world.judges.observer.Judged()
	r.Contained = world.judges.observer.Contained()
	r.Broken, err = world.promises()
	r.Violations = world.judges.observer.Violations()
	return r, err
}

// Update is the scenario file with this transcript in the place of the one that it expects.
func Update(file []byte, transcript string) []byte {
	archive := txtar.Parse(file)
	section := txtar.File{Name: transcriptName, Data: []byte(transcript)}
	for i, f := range archive.Files {
		if f.Name == transcriptName {
			archive.Files[i] = section
			return txtar.Format(archive)
		}
	}
	archive.Files = append([]txtar.File{section}, archive.Files...)
	return txtar.Format(archive)
}

// play runs the statements.
func (w *world) play(ctx context.Context, script []statement) error {
	install(w.cluster, w.fixtures, script)
	for _, s := range script {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.perform(ctx, s); err != nil && (!s.try || ctx.Err() != nil) {
			return fmt.Errorf("line %d: %w", s.line, err)
		}
	}
	if !w.procs.started() {
		return fmt.Errorf("the script never lets time pass: end it with a statement such as advance 10m")
	}
	return w.out.err
}

// install has the cluster serve from the beginning what the script will make objects of: sluice looks for new APIs by a clock that is
// not the world's.
func install(c *kubesim.Cluster, fixtures map[string][]byte, script []statement) {
	for _, s := range script {
		switch {
		case s.verb.name == "podgroup" && s.value("api", "") == "coscheduling":
			c.Install(kubesim.Coscheduling)
		case s.verb.name == "podgroup" || s.has("podgroup") && !c.Installed(kubesim.Coscheduling):
			c.Install(kubesim.Gangs)
		case s.verb.name == "buffer":
			c.Install(kubesim.CapacityBuffers)
		case s.verb.name == "provisioningrequest":
			c.Install(kubesim.ProvisioningRequests)
		case s.verb.name == "apply":
			for _, o := range documents(fixtures[s.names[0]]) {
				if api := kubesim.APIOf(o); api != "" {
					c.Install(api)
				}
			}
		}
	}
}

// documents are the objects of a section as far as they can be read; doApply says what is wrong with the others.
func documents(section []byte) (all []kubesim.Object) {
	for read := utilyaml.NewYAMLReader(newLines(section)); ; {
		document, err := read.Read()
		if err != nil {
			return all
		}
		if o, err := decode(document); err == nil {
			if o, ok := o.(kubesim.Object); ok {
				all = append(all, o)
			}
		}
	}
}
