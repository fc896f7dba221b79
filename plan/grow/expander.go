package grow

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/plan/place"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// Option is one way to help pending pods: so many machines of one group.
type Option struct {
	Group cluster.GroupID
	Nodes int      // machines to add
	Pods  []string // that they help, "namespace/name", sorted

	RequestedMilli, RequestedBytes int64 // of these pods: thousandths of cores, memory
	CapacityMilli, CapacityBytes   int64 // of these machines

	PriceUSDPerHour float64 // of these machines together; 0 when unknown
}

// Choice is what a chain of expanders made of options.
type Choice struct {
	Group   cluster.GroupID     // that grows; "" when none does
	Ask     *action.AskExpander // what to ask before there is a choice; then Group is ""
	Dropped []reason.Reason     // one for each group that is not chosen and one for what went wrong, in the order in which it happened
	Because *reason.Reason      // by which steps the group was chosen, nil when there was nothing to choose from
}

// Expand chooses one of the options by the operator's chain of expanders. Each expander keeps some of what the one before it kept, and the
// chain ends with the first that leaves one. A lot decides between several that are left at the end.
//
//	expander     keeps the options                            when it cannot tell
//	most-pods    that help most pods                          keeps those with as many
//	least-nodes  with the fewest machines                     keeps those with as few
//	least-waste  whose machines have the least share unused   keeps those with as little
//	price        that cost least for what their pods ask for  keeps all when no price is known
//	priority     of the highest rank in the ConfigMap         keeps all, and complains when the ConfigMap is wrong
//	grpc         that the operator's server names             keeps all when it did not answer, and complains
//	random       one, by lot
//
// answer is what the server of the expander grpc said in the last cycle, nil when nothing was asked. Options stand in the order of their
// groups' names here, so the choice does not depend on the order of the groups. A chain with least-cost does not come here.
func Expand(options []Option, chain []policy.Expander, ranking Ranking, answer *memory.Answer, now time.Time) Choice {
	left := slices.Clone(options)
	slices.SortFunc(left, func(a, b Option) int { return cmp.Compare(a.Group, b.Group) })
	var c Choice
	var steps []string
	drop := func(kept []Option, by policy.Expander, wrong string) {
		c.drop(left, kept, by, wrong)
		if len(kept) == len(left) {
			steps = append(steps, fmt.Sprintf("%s kept all", by))
		} else if len(kept) > 0 {
			steps = append(steps, fmt.Sprintf("%s kept %s", by, nameOptions(kept)))
		}
		left = kept
	}
	for _, by := range chain {
		if len(left) == 0 {
			return c
		}
		kept, why := left, ""
		switch by {
		case policy.MostPods:
			kept = fewest(left, func(o Option) float64 { return -float64(len(o.Pods)) })
		case policy.LeastNodes:
			kept = fewest(left, func(o Option) float64 { return float64(o.Nodes) })
		case policy.LeastWaste:
			kept = fewest(left, waste)
		case policy.Price:
			kept = fewest(left, dearness)
		case policy.Priority:
			kept, why = ranking.keep(left)
		case policy.GRPC:
			if answer == nil || !answers(answer, left) {
				c.Ask = ask(left)
				return c
			}
			kept, why = chosen(answer, left)
		case policy.Random:
			kept = draw(left, now)
		}
		if drop(kept, by, why); len(left) == 1 {
			break
		}
	}
	if len(left) > 1 {
		drop(draw(left, now), policy.Random, "")
	}
	if len(left) == 1 {
		c.Group = left[0].Group
	}
	if len(options) > 1 && c.Group != "" {
		r := reason.New(reason.ExpanderChose, reason.Group(string(c.Group)), "options", len(options), "steps", strings.Join(steps, ", "))
		c.Because = &r
	}
	return c
}

// nameOptions names a few groups, and counts them when there are more.
func nameOptions(options []Option) string {
	const named = 3
	if len(options) > named {
		return fmt.Sprintf("%d", len(options))
	}
	names := make([]string, len(options))
	for i, o := range options {
		names[i] = string(o.Group)
	}
	return strings.Join(names, " and ")
}

// drop notes why options of before are not in after, and what went wrong, if anything did. after is empty when a server wants no group to
// grow: then no score is told.
func (c *Choice) drop(before, after []Option, by policy.Expander, wrong string) {
	if wrong != "" {
		c.Dropped = append(c.Dropped, reason.New(reason.ExpanderFailed, reason.Ref{}, "expander", by, "message", wrong))
	}
	for _, o := range before {
		if !slices.ContainsFunc(after, func(k Option) bool { return k.Group == o.Group }) {
			score := ""
			if his := o.score(by); his != "" && len(after) > 0 {
				score = fmt.Sprintf(": %s, group %s %s", his, after[0].Group, after[0].score(by))
			}
			c.Dropped = append(c.Dropped, reason.New(reason.ExpanderDropped, reason.Group(string(o.Group)), "expander", by, "score", score))
		}
	}
}

// score is what an expander holds against the option, "" where that is no number.
func (o Option) score(by policy.Expander) string {
	switch by {
	case policy.MostPods:
		return "helps " + plural(len(o.Pods), "pod")
	case policy.LeastNodes:
		return "takes " + plural(o.Nodes, "machine")
	case policy.LeastWaste:
		return fmt.Sprintf("wastes %s", node.Percent(waste(o)/2))
	case policy.Price:
		if o.PriceUSDPerHour <= 0 {
			return "costs nobody knows what"
		}
		return fmt.Sprintf("costs %s USD an hour for each core", Dollars(dearness(o)))
	}
	return ""
}

// fewest are the options that have least of something, in their order. They are all options when each has infinitely much of it.
func fewest(options []Option, of func(Option) float64) []Option {
	var kept []Option
	least := math.Inf(1)
	for _, o := range options {
		n := of(o)
		if n < least {
			least, kept = n, nil
		}
		if n == least {
			kept = append(kept, o)
		}
	}
	return kept
}

// waste is the share of cores plus the share of memory that no pod asked for: from 0 to 2.
func waste(o Option) float64 {
	return idle(o.RequestedMilli, o.CapacityMilli) + idle(o.RequestedBytes, o.CapacityBytes)
}

func idle(requested, capacity int64) float64 {
	if capacity <= 0 {
		return 1
	}
	return float64(capacity-requested) / float64(capacity)
}

// dearness is what the option costs an hour for each core that its pods ask for, 4 GiB of memory counting as a core. Options whose price is
// unknown are the dearest of all.
func dearness(o Option) float64 {
	if o.PriceUSDPerHour <= 0 {
		return math.Inf(1)
	}
	asked := float64(o.RequestedMilli)/1000 + float64(o.RequestedBytes)/(4<<30)
	return o.PriceUSDPerHour / (asked + place.PodWeight*float64(len(o.Pods)))
}

// draw keeps one option by lot, each as likely. The lot is a hash of the time and the options, so that a replay of the journal draws the
// same (scenario expander-random).
func draw(options []Option, now time.Time) []Option {
	if len(options) < 2 {
		return options
	}
	h := sha256.New()
	fmt.Fprintf(h, "%d", now.UnixNano())
	for _, o := range options {
		fmt.Fprintf(h, "\x00%s", o.Group)
	}
	// The high half of the product is the hash scaled to the number of options.
	i, _ := bits.Mul64(binary.BigEndian.Uint64(h.Sum(nil)), uint64(len(options)))
	return options[i : i+1]
}
