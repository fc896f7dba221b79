package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
)

// Band is a step in which pods leave a node: those of its priority and of higher ones, up to the next band's, together, once those of lower
// bands are gone. Pods below the first band are in it.
type Band struct {
	Priority int32         `json:"priority"`
	Grace    time.Duration `json:"grace"` // longest grace period that they get
}

// critical is the priority from which Kubernetes' own classes for critical pods begin (system-cluster-critical).
const critical = 2_000_000_000

// ParseBands reads --drain-priority-config, "PRIORITY:SECONDS,...", in any order. Its error is one clause for the operator.
func ParseBands(text string) ([]Band, error) {
	const form = "give PRIORITY:SECONDS for each band, with commas between, such as 0:600,1000:60"
	var bands []Band
	for _, part := range strings.Split(text, ",") {
		if part == "" {
			continue
		}
		from, grace, ok := strings.Cut(part, ":")
		priority, err := strconv.ParseInt(from, 10, 32)
		seconds, graceErr := strconv.ParseInt(grace, 10, 32)
		if !ok || err != nil || graceErr != nil || seconds < 0 {
			return nil, fmt.Errorf("%q is no band; %s", part, form)
		}
		bands = append(bands, Band{int32(priority), time.Duration(seconds) * time.Second})
	}
	slices.SortFunc(bands, func(a, b Band) int { return cmp.Compare(a.Priority, b.Priority) })
	for i := range bands {
		if i > 0 && bands[i].Priority == bands[i-1].Priority {
			return nil, fmt.Errorf("priority %d has two bands; %s", bands[i].Priority, form)
		}
	}
	return bands, nil
}

// PrintBands is what [ParseBands] reads.
func PrintBands(bands []Band) string {
	return joined(bands, ",", func(b Band) string { return fmt.Sprintf("%d:%d", b.Priority, b.Grace/time.Second) })
}

// Turn is when the pod leaves its node, compared with others of the node: those of the lowest turn leave first. Where no bands are set
// critical pods are the last.
func (r Removal) Turn(p *cluster.Pod) int {
	priority := p.Priority()
	if len(r.Drain.Bands) == 0 {
		if priority >= critical {
			return 1
		}
		return 0
	}
	turn := 0
	for i, b := range r.Drain.Bands {
		if priority >= b.Priority {
			turn = i
		}
	}
	return turn
}

// longest is the longest grace that the pod may get.
func (r Removal) longest(p *cluster.Pod) time.Duration {
	if len(r.Drain.Bands) == 0 {
		return r.Drain.MaxGrace
	}
	return r.Drain.Bands[r.Turn(p)].Grace
}
