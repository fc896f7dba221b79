package journal

import (
	"encoding/json"
	"fmt"
	"io"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
)

// Encoder writes entries as lines. It is not safe for concurrent use.
type Encoder struct {
	w      io.Writer
	seen   cluster.Objects
	policy *policy.Policy
	begun  bool
}

// NewEncoder returns an encoder whose first line is a full one.
func NewEncoder(w io.Writer) *Encoder { return &Encoder{w: w} }

// Encode writes one entry as one line, by one Write. After an error the next line is a full one.
func (e *Encoder) Encode(entry Entry) error {
	before := e.seen
	if !e.begun {
		before = cluster.Objects{}
	}
	after := entry.Seen.Objects
	r := record{
		Version: Version, Cycle: entry.Cycle, Time: entry.Seen.Time, Full: !e.begun, DryRun: entry.DryRun,
		Nodes:      between(before.Nodes, after.Nodes),
		Pods:       between(before.Pods, after.Pods),
		DaemonSets: between(before.DaemonSets, after.DaemonSets),
		Budgets:    between(before.Budgets, after.Budgets),
		Namespaces: between(before.Namespaces, after.Namespaces),
		Groups:     entry.Seen.Groups,
		Before:     entry.Before, Plan: entry.Plan, Results: entry.Results,
	}
	if !e.begun || e.policy != entry.Policy {
		r.Policy = entry.Policy
	}
	line, err := json.Marshal(r)
	if err != nil {
		e.begun = false
		return fmt.Errorf("write cycle %d: %w", entry.Cycle, err)
	}
	if _, err := e.w.Write(append(line, '\n')); err != nil {
		e.begun = false
		return fmt.Errorf("write cycle %d: %w", entry.Cycle, err)
	}
	e.seen, e.policy, e.begun = after, entry.Policy, true
	return nil
}
