package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/reason"
)

// record is what sluice's journal says about the story.
type record struct {
	cycles  int
	differs []uint64 // cycles that replay decides otherwise

	verdicts int
	unjudged []string // "cycle 12: pod default/web-0": what the cycle had no verdict about

	removed []removed // in their order
}

// removed is one machine whose deletion was accepted.
type removed struct {
	group   cluster.GroupID
	node    string // "" for a machine that never became one
	because string // why its node stepped on the ladder, or why the machine without a node went
	why     string // the same in one word
}

// readJournal reads a journal and decides every cycle of it again. A last line that is being written is left out.
func readJournal(path string) (*record, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	r := &record{}
	cordons := map[string]action.Cordon{}
	for decoder := journal.NewDecoder(file); ; {
		entry, err := decoder.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, journal.ErrCut) {
			return r, nil
		}
		if err != nil {
			return nil, fmt.Errorf("journal %s: %w", path, err)
		}
		_, same, err := journal.Replay(entry)
		if err != nil {
			return nil, err
		}
		r.cycles++
		if !same {
			r.differs = append(r.differs, entry.Cycle)
		}
		r.judge(entry)
		r.remove(entry, cordons)
	}
}

// judge holds the verdicts of a cycle against what it saw.
func (r *record) judge(entry journal.Entry) {
	judged := map[reason.Ref]bool{}
	for _, v := range entry.Plan.Verdicts {
		judged[v.Subject] = len(v.Because) > 0 && v.Outcome != ""
	}
	r.verdicts += len(judged)
	about := func(subject reason.Ref) {
		if !judged[subject] {
			r.unjudged = append(r.unjudged, fmt.Sprintf("cycle %d: %s", entry.Cycle, subject))
		}
	}
	for _, p := range entry.Seen.Pending {
		about(reason.Pod(p.Namespace, p.Name))
	}
	for _, n := range entry.Seen.Nodes {
		about(reason.Node(n.Name()))
	}
	for _, g := range entry.Seen.Groups {
		about(reason.Group(string(g.ID)))
	}
}

// remove notes the accepted deletions of machines, with the reasons for which their nodes were cordoned.
func (r *record) remove(entry journal.Entry, cordons map[string]action.Cordon) {
	for i, act := range entry.Plan.Actions {
		if i >= len(entry.Results) || entry.Results[i].Status != memory.Accepted {
			continue
		}
		switch act := act.(type) {
		case action.Cordon:
			cordons[act.Node] = act
		case action.DeleteInstances:
			for _, l := range act.Machines {
				gone := removed{group: l.Group, node: l.Node, because: l.Because.Sentence(), why: string(l.Because.Code)}
				if c, ok := cordons[l.Node]; ok {
					gone.because, gone.why = c.Because.Sentence(), c.Removal.Why
				}
				r.removed = append(r.removed, gone)
			}
		}
	}
}
