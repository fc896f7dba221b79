package house

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the pages that are made here")

const (
	// peersPage says of each behaviour that peers' documents state whether sluice has it. It is made of the lines that begin with "# peer:" in
	// the prose of scenarios, and of [peersFile].
	peersPage = "docs/reference/peers.md"

	// peersFile has the rows that no scenario shows: what is not there and cannot be played, and what a test shows.
	peersFile = "internal/house/peers.txt"

	// fewestPeers is how many rows have a scenario, at least.
	fewestPeers = 150
)

// A peerSource is what peers state behaviours in. Its topics are in the order of the page, each a word and a heading.
type peerSource struct {
	name, title, about string
	topics             [][2]string
}

var peerSources = []peerSource{
	{"e2e", "Kubernetes' and cluster-autoscaler's e2e suites",
		"`test/e2e/autoscaling` of Kubernetes, with its suite of scalability, and `cluster-autoscaler/e2e`, which has superseded it.",
		[][2]string{{"scale-up", "Scale-up"}, {"gpu", "GPU pools"}, {"priority", "Priority"}, {"scheduler", "Schedulers that are bypassed"}, {"scale-down", "Scale-down"}}},
	{"faq", "cluster-autoscaler's FAQ",
		"Its answers, and its table of flags where that states a behaviour.",
		[][2]string{
			{"size", "When the size changes, and how fast"}, {"keep", "Pods that keep a node"}, {"priority", "Priority and preemption"}, {"taints", "Taints"},
			{"zones", "Groups that are alike, and zones"}, {"howto", "How to"}, {"daemons", "DaemonSets"}, {"requests", "ProvisioningRequests"}, {"scale-up", "Scale-up"},
			{"scale-down", "Scale-down"}, {"drain", "Disruption budgets and grace periods"}, {"unready", "Nodes that are not Ready"}, {"expanders", "Expanders"},
			{"limits", "Flags: limits"}, {"flags", "Flags: the rest"}, {"trouble", "Troubleshooting"}, {"reports", "What it reports"},
		}},
	{"units", "cluster-autoscaler's core",
		"What its code does and its unit tests hold that no document states: its state of the cluster, its rules for drains, its growth and its removals.",
		[][2]string{{"scale-up", "Scale-up"}, {"state", "State of the cluster"}, {"drain", "Drain rules"}, {"scale-down", "Scale-down"}}},
	{"karpenter", "Karpenter's documents",
		"The pages on disruption, scheduling and NodePools. A NodePool is compared with a node group.",
		[][2]string{
			{"control", "Disruption: the order of things"}, {"consolidation", "Disruption: consolidation"}, {"drift", "Disruption: drift"}, {"expiration", "Disruption: expiration"},
			{"interruption", "Disruption: interruption"}, {"repair", "Disruption: repair"}, {"grace", "Disruption: how long a drain may take"}, {"budgets", "Disruption: budgets"},
			{"pods", "Disruption: pods and nodes that say no"}, {"scheduling", "Scheduling: what pods ask for"}, {"spread", "Scheduling: spread and affinity"},
			{"volumes", "Scheduling: volumes"}, {"weights", "Scheduling: which pool"}, {"pools", "NodePools"},
		}},
}

// peerVerdicts are in the order of the page. All but the first need a reason.
var peerVerdicts = []string{"same", "better", "different", "not there"}

// A peerRow is one behaviour.
type peerRow struct {
	at                                string // the file, and the line in it
	source, topic, verdict, says, why string
	scenario, test                    string // what shows it: one of them, or neither
}

// peerTest is the name of a test, as the last field of a row.
var peerTest = regexp.MustCompile(`^([a-z0-9/]+)\.(Test\w+)$`)

// readPeer reads what follows "peer:" in a line: source/topic | verdict | behaviour | reason, and a test where no scenario shows it.
func readPeer(text string) (peerRow, error) {
	fields := strings.Split(text, "|")
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	var r peerRow
	if last := fields[len(fields)-1]; peerTest.MatchString(last) {
		r.test, fields = last, fields[:len(fields)-1]
	}
	if len(fields) < 3 || len(fields) > 4 {
		return r, fmt.Errorf("write source/topic | verdict | behaviour | reason; the reason is left out with verdict %q", peerVerdicts[0])
	}
	var ok bool
	if r.source, r.topic, ok = strings.Cut(fields[0], "/"); !ok || !knownTopic(r.source, r.topic) {
		return r, fmt.Errorf("%q is no source/topic of peerSources", fields[0])
	}
	r.verdict, r.says = fields[1], fields[2]
	if !slices.Contains(peerVerdicts, r.verdict) {
		return r, fmt.Errorf("%q is no verdict; there are %s", r.verdict, strings.Join(peerVerdicts, ", "))
	}
	if len(fields) == 4 {
		r.why = fields[3]
	}
	switch {
	case r.verdict == "same" && r.why != "":
		return r, fmt.Errorf("what is the same needs no reason, and %q is one", r.why)
	case r.verdict != "same" && r.why == "":
		return r, fmt.Errorf("%q needs a reason", r.verdict)
	}
	for _, sentence := range []string{r.says, r.why} {
		if sentence != "" && !strings.HasSuffix(sentence, ".") {
			return r, fmt.Errorf("%q is no sentence: it has no period", sentence)
		}
	}
	return r, nil
}

func knownTopic(source, topic string) bool {
	return slices.ContainsFunc(peerSources, func(s peerSource) bool {
		return s.name == source && slices.ContainsFunc(s.topics, func(t [2]string) bool { return t[0] == topic })
	})
}

// peerRows are the rows of all scenarios and of [peersFile]. What is wrong with one fails the test, and the row is left out.
func peerRows(t *testing.T) []peerRow {
	t.Helper()
	var rows []peerRow
	met := map[string]string{}
	for _, file := range append(scenariosOfTheHouse(t), peersFile) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		prose, rest, _ := strings.Cut(string(text), "\n-- ")
		prefix := "# peer:"
		if file == peersFile {
			prose, prefix = string(text), "peer:"
		}
		if file != peersFile && strings.Contains(rest, "peer:") {
			t.Errorf("%s: a row stands in the prose, before the transcript", file)
		}
		for i, line := range strings.Split(prose, "\n") {
			at := fmt.Sprintf("%s:%d", file, i+1)
			said, ok := strings.CutPrefix(line, prefix)
			if !ok {
				if strings.Contains(line, "peer:") && (file != peersFile || line[0] != '#') {
					t.Errorf("%s: a row begins with %q", at, prefix)
				}
				continue
			}
			r, err := readPeer(said)
			if err != nil {
				t.Errorf("%s: %v", at, err)
				continue
			}
			r.at = at
			if file != peersFile {
				r.scenario = strings.TrimSuffix(filepath.Base(file), ".txtar")
			}
			if r.scenario != "" && r.test != "" {
				t.Errorf("%s: the scenario shows it, and %s does, too; name one", at, r.test)
			}
			if r.scenario == "" && r.test == "" && r.verdict != "not there" {
				t.Errorf("%s: nothing shows it; write it into a scenario, or name a test", at)
			}
			if before := met[strings.ToLower(r.says)]; before != "" {
				t.Errorf("%s: %q stands at %s already", at, r.says, before)
			}
			met[strings.ToLower(r.says)] = at
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, func(a, b peerRow) int {
		return cmp.Or(cmp.Compare(slices.Index(peerVerdicts, a.verdict), slices.Index(peerVerdicts, b.verdict)), cmp.Compare(a.says, b.says))
	})
	return rows
}

// TestThePageOfPeersIsCurrent keeps docs/reference/peers.md, which is made here, true to the scenarios, and the rows to their form.
func TestThePageOfPeersIsCurrent(t *testing.T) {
	rows := peerRows(t)
	if shown := len(slices.DeleteFunc(slices.Clone(rows), func(r peerRow) bool { return r.scenario == "" })); shown < fewestPeers {
		t.Errorf("%d rows have a scenario, fewer than %d", shown, fewestPeers)
	}
	tests := testsOfTheHouse(t)
	for _, r := range rows {
		if m := peerTest.FindStringSubmatch(r.test); len(m) == 3 && !tests[m[1]][m[2]] {
			t.Errorf("%s: %s has no %s", r.at, m[1], m[2])
		}
	}
	page := peersAsPage(rows)
	if *update && !t.Failed() {
		if err := os.WriteFile(peersPage, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(peersPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != page {
		t.Errorf("%s is not current: run go test ./internal/house -run Peers -update", peersPage)
	}
}

// TestARowOfPeersIsReadStrictly gives rows with a fault each.
func TestARowOfPeersIsReadStrictly(t *testing.T) {
	for _, text := range []string{
		"e2e/scale-up | same",
		"e2e/nothing | same | A pod gets a node.",
		"nobody/scale-up | same | A pod gets a node.",
		"e2e/scale-up | alike | A pod gets a node.",
		"e2e/scale-up | same | A pod gets a node",
		"e2e/scale-up | same | A pod gets a node. | It does.",
		"e2e/scale-up | better | A pod gets a node.",
		"e2e/scale-up | different | A pod gets a node.",
		"e2e/scale-up | not there | A pod gets a node. |",
		"e2e/scale-up | different | A pod gets a node. | It gets two. | It gets three.",
	} {
		if _, err := readPeer(text); err == nil {
			t.Errorf("%q is read", text)
		}
	}
	for _, text := range []string{"e2e/scale-up | same | A pod gets a node.", "faq/size | better | A pod gets a node. | It gets it sooner. | plan.TestX"} {
		if _, err := readPeer(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func peersAsPage(rows []peerRow) string {
	var b strings.Builder
	b.WriteString(`# Where sluice differs from its peers

What the documents and tests of cluster-autoscaler and Karpenter state and sluice does otherwise. What is the same is counted only: each scenario that shows it has a line
that begins with ` + "`# peer:`" + `, and ` + "`" + peersFile + "`" + ` has what no scenario shows. This page is made by ` + "`go test ./internal/house -run Peers -update`" + `.

- **same**: sluice does the same; the scenario fails otherwise.
- **better**: sluice does the same with less loss, sooner, or in more cases.
- **different**: sluice does something else on purpose, or by another measure.
- **not there**: sluice does not have it; the scenario, if one can be played, shows what happens instead.

`)
	b.WriteString("| stated by | " + strings.Join(peerVerdicts, " | ") + " | rows |\n|---|" + strings.Repeat("---|", len(peerVerdicts)+1) + "\n")
	for _, s := range peerSources {
		b.WriteString(peerCounts("["+s.title+"](#"+anchorOf(s.title)+")", of(rows, s.name, "")))
	}
	b.WriteString(peerCounts("all", rows))
	for _, s := range peerSources {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", s.title, s.about)
		for _, topic := range s.topics {
			some := slices.DeleteFunc(of(rows, s.name, topic[0]), func(r peerRow) bool { return r.verdict == peerVerdicts[0] })
			if len(some) == 0 {
				continue
			}
			fmt.Fprintf(&b, "\n### %s\n\n| what they state | sluice | why | shown by |\n|---|---|---|---|\n", topic[1])
			for _, r := range some {
				fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.says, r.verdict, r.why, r.shown())
			}
		}
	}
	return b.String()
}

// of are the rows of a source and, when one is named, of one of its topics.
func of(rows []peerRow, source, topic string) []peerRow {
	return slices.DeleteFunc(slices.Clone(rows), func(r peerRow) bool { return r.source != source || topic != "" && r.topic != topic })
}

func peerCounts(title string, rows []peerRow) string {
	line := "| " + title + " |"
	for _, v := range peerVerdicts {
		line += fmt.Sprintf(" %d |", len(slices.DeleteFunc(slices.Clone(rows), func(r peerRow) bool { return r.verdict != v })))
	}
	return line + fmt.Sprintf(" %d |\n", len(rows))
}

// anchorOf is the fragment by which a heading is linked to.
func anchorOf(title string) string {
	return strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
}

func (r peerRow) shown() string {
	switch {
	case r.scenario != "":
		return "[" + r.scenario + "](../../testdata/" + r.scenario + ".txtar)"
	case r.test != "":
		return "`" + r.test + "`"
	}
	return ""
}
