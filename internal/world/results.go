package world

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/memory"
)

// tally counts the actions of all processes, and what the safety contract has forbidden them.
type tally struct {
	actions   int               // of plans, whatever became of them
	refused   map[string]int    // writes, by the property that forbade them
	forbidden map[string]string // nodes and machines that it keeps now, by their names, with the property
}

// recording is the journal of the process that leads.
type recording struct {
	journal bytes.Buffer
	encoder *journal.Encoder
	sparse  bool // no journal is kept
	cycles  int
}

// count notes what the guard refused, and what plan did not ask for since the safety contract forbids it: once for as long as it does.
func (t *tally) count(entry journal.Entry) {
	held := map[string]string{}
	for _, v := range entry.Plan.Verdicts {
		for _, why := range v.Because {
			about, property := v.Subject.String(), why.Property()
			if property == "" {
				continue
			}
			if held[about] = property; t.forbidden[about] != property {
				t.refused[property]++
			}
		}
	}
	t.forbidden = held
	for _, r := range entry.Results {
		t.add(r)
	}
}

func (t *tally) add(r memory.Result) {
	t.actions++
	if r.Property != "" {
		t.refused[r.Property]++
	}
}

// keep adds a cycle.
func (r *recording) keep(entry journal.Entry) error {
	if r.sparse {
		return nil
	}
	if err := r.encoder.Encode(entry); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// replay decides every cycle again from the journal alone.
func (r *recording) replay() (different []string, err error) {
	entries := journal.NewDecoder(bytes.NewReader(r.journal.Bytes()))
	for {
		e, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return different, nil
		}
		if err != nil {
			return different, fmt.Errorf("read the journal again: %w", err)
		}
		_, same, err := journal.Replay(e)
		if err != nil {
			return different, err
		}
		if !same {
			different = append(different, fmt.Sprintf("cycle %d at %s is decided differently on replay", e.Cycle, clock(e.Seen.Time.Sub(start))))
		}
	}
}
