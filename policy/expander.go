package policy

import (
	"fmt"
	"slices"
	"strings"
)

// Expander is one rule by which an operator lets sluice choose the group that grows. Rules stand in a chain: each keeps some of the groups
// that the one before it kept.
type Expander string

// The expanders. The names but the first are cluster-autoscaler's.
const (
	LeastCost  Expander = "least-cost"  // no filter: the machines of all groups are chosen together so that they cost least
	Random     Expander = "random"      // one group, each as likely
	MostPods   Expander = "most-pods"   // those that help most pods
	LeastWaste Expander = "least-waste" // those that leave the smallest share of cores and memory idle
	LeastNodes Expander = "least-nodes" // those that need fewest machines
	Price      Expander = "price"       // those whose machines cost least for what is asked of them
	Priority   Expander = "priority"    // those that the ConfigMap cluster-autoscaler-priority-expander ranks highest
	GRPC       Expander = "grpc"        // those that a server of the operator's own names
)

var expanders = []Expander{LeastCost, Random, MostPods, LeastWaste, LeastNodes, Price, Priority, GRPC}

// Expands says whether a rule is in the chain.
func (g Growth) Expands(by Expander) bool { return slices.Contains(g.Expanders, by) }

// Joint says whether the machines of all groups are chosen together at least cost: no expander is set that says otherwise.
func (g Growth) Joint() bool { return len(g.Expanders) == 0 || g.Expands(LeastCost) }

// parseExpanders reads names with commas between them. Whether they make a chain is judged once all flags were read.
func parseExpanders(text string) (chain []Expander, err error) {
	for name := range strings.SplitSeq(text, ",") {
		chain = append(chain, Expander(strings.TrimSpace(name)))
	}
	return chain, nil
}

func printExpanders(chain []Expander) string { return joined(chain, ",", word) }

// checkExpanders refuses names that nobody knows, and chains in which a rule would have no say.
func checkExpanders(chain []Expander) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("--expander=%s: %s", printExpanders(chain), fmt.Sprintf(format, args...))
	}
	for i, e := range chain {
		switch {
		case !slices.Contains(expanders, e):
			return bad("there is no expander %q; give one or several of %s", e, joined(expanders, ", ", word))
		case slices.Contains(chain[:i], e):
			return bad("%s stands there twice; give each expander once", e)
		case e == LeastCost && len(chain) > 1:
			return bad("%s decides over all groups together and stands alone; in a chain give price instead", e)
		case e == Random && i < len(chain)-1:
			return bad("nothing may follow random, since it leaves one group; put it last")
		}
	}
	return nil
}
