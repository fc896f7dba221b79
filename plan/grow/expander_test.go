package grow

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// helped is an option that helps so many pods with so many machines.
func helped(group cluster.GroupID, nodes, pods int, change ...func(*Option)) Option {
	o := Option{Group: group, Nodes: nodes}
	for i := range pods {
		o.Pods = append(o.Pods, fmt.Sprintf("default/p-%03d", i))
	}
	for _, c := range change {
		c(&o)
	}
	return o
}

// room is what pods ask for and machines have: thousandths of cores and GiB.
func room(milli, gib, ofMilli, ofGiB int64) func(*Option) {
	return func(o *Option) {
		o.RequestedMilli, o.RequestedBytes, o.CapacityMilli, o.CapacityBytes = milli, gib<<30, ofMilli, ofGiB<<30
	}
}

func priced(usd float64) func(*Option) { return func(o *Option) { o.PriceUSDPerHour = usd } }

func ranked(text string) *corev1.ConfigMap {
	c := &corev1.ConfigMap{Data: map[string]string{"priorities": text}}
	c.Name, c.Namespace = cluster.RankingName, "kube-system"
	return c
}

func TestAChainOfExpandersChoosesAsTheOperatorSays(t *testing.T) {
	sizes := []Option{
		helped("small", 4, 8, room(8000, 16, 16000, 64), priced(0.8)),
		helped("large", 1, 8, room(8000, 16, 16000, 64), priced(0.8)),
		helped("cheap", 2, 6, room(6000, 12, 16000, 32), priced(0.4)),
		helped("gift", 3, 9, room(9000, 18, 48000, 192)),
	}
	for name, tc := range map[string]struct {
		options []Option
		chain   []policy.Expander
		ranking string
		want    []cluster.GroupID // of which one is chosen; nil when none is
	}{
		"most pods":       {sizes, []policy.Expander{policy.MostPods}, "", []cluster.GroupID{"gift"}},
		"fewest machines": {sizes, []policy.Expander{policy.LeastNodes}, "", []cluster.GroupID{"large"}},
		"least waste, by what pods helped ask for":    {sizes, []policy.Expander{policy.LeastWaste}, "", []cluster.GroupID{"small", "large"}},
		"a tie is decided by the next":                {sizes, []policy.Expander{policy.LeastWaste, policy.LeastNodes}, "", []cluster.GroupID{"large"}},
		"price counts what is asked for, not at all":  {sizes, []policy.Expander{policy.Price}, "", []cluster.GroupID{"cheap"}},
		"dearer as a whole, cheaper by what is asked": {[]Option{helped("a", 1, 2, room(2000, 4, 4000, 16), priced(0.3)), helped("b", 1, 8, room(8000, 16, 8000, 32), priced(0.4))}, []policy.Expander{policy.Price}, "", []cluster.GroupID{"b"}},
		"memory is wasted as cores are":               {[]Option{helped("a", 1, 2, room(2000, 4, 4000, 16)), helped("b", 1, 2, room(2000, 4, 4000, 8))}, []policy.Expander{policy.LeastWaste}, "", []cluster.GroupID{"b"}},
		"prices nobody knows leave all":               {[]Option{helped("a", 1, 1), helped("b", 1, 1)}, []policy.Expander{policy.Price}, "", []cluster.GroupID{"a", "b"}},
		"a lot leaves one":                            {sizes, []policy.Expander{policy.Random}, "", []cluster.GroupID{"small", "large", "cheap", "gift"}},
		"the highest rank wins":                       {sizes, []policy.Expander{policy.Priority}, "10: [gift]\n20: ['^small$', ch.ap]", []cluster.GroupID{"small", "cheap"}},
		"expressions match anywhere in the name":      {sizes, []policy.Expander{policy.Priority}, "1: [arg]", []cluster.GroupID{"large"}},
		"a rank that no option has is passed by":      {sizes, []policy.Expander{policy.Priority}, "10: [gift]\n20: [render]", []cluster.GroupID{"gift"}},
		"rank -1 wins when nothing else does":         {sizes, []policy.Expander{policy.Priority}, "-1: [gift]", []cluster.GroupID{"gift"}},
		"a rank below -1 never wins":                  {sizes, []policy.Expander{policy.Priority, policy.LeastNodes}, "-2: [gift]", []cluster.GroupID{"large"}},
		"no match leaves all":                         {sizes, []policy.Expander{policy.Priority, policy.LeastNodes}, "10: [render]", []cluster.GroupID{"large"}},
		"a bad expression leaves all":                 {sizes, []policy.Expander{policy.Priority, policy.LeastNodes}, "10: ['gift(']", []cluster.GroupID{"large"}},
		"rank first, then most pods":                  {sizes, []policy.Expander{policy.Priority, policy.MostPods}, "10: [small, cheap]", []cluster.GroupID{"small"}},
		"a machine of which nothing is known wastes":  {[]Option{helped("a", 1, 1, room(1000, 1, 0, 0)), helped("b", 1, 1, room(1000, 1, 4000, 16))}, []policy.Expander{policy.LeastWaste}, "", []cluster.GroupID{"b"}},
		"no option, no choice":                        {nil, []policy.Expander{policy.MostPods, policy.Random}, "", nil},
		"the only option is chosen by whatever chain": {sizes[:1], []policy.Expander{policy.Priority}, "10: [render]", []cluster.GroupID{"small"}},
	} {
		t.Run(name, func(t *testing.T) {
			var ranking Ranking
			if tc.ranking != "" {
				ranking = ReadRanking(ranked(tc.ranking))
			}
			c := Expand(tc.options, tc.chain, ranking, nil, Start)
			if len(tc.want) == 0 && c.Group != "" || len(tc.want) > 0 && !slices.Contains(tc.want, c.Group) || c.Ask != nil {
				t.Errorf("chose %q and asks %v, want one of %q", c.Group, c.Ask, tc.want)
			}
			dropped := 0
			for _, why := range c.Dropped {
				if why.Code == reason.ExpanderDropped {
					dropped++
				}
				if why.About.Name == string(c.Group) {
					t.Errorf("says of the chosen group: %s", why)
				}
			}
			if dropped != max(0, len(tc.options)-1) {
				t.Errorf("%d reasons for %d options: %v", dropped, len(tc.options), c.Dropped)
			}
		})
	}
}

// TestALotIsDrawnFairlyAndAlwaysTheSame draws 4,000 times among five: 800 each are expected, with a deviation of 25.
func TestALotIsDrawnFairlyAndAlwaysTheSame(t *testing.T) {
	var options []Option
	for _, name := range []cluster.GroupID{"a", "b", "c", "d", "e"} {
		options = append(options, helped(name, 1, 1))
	}
	counts := map[cluster.GroupID]int{}
	for i := range 4000 {
		at := Start.Add(time.Duration(i) * time.Second)
		c := Expand(options, []policy.Expander{policy.Random}, Ranking{}, nil, at)
		slices.Reverse(options)
		if again := Expand(options, []policy.Expander{policy.Random}, Ranking{}, nil, at); again.Group != c.Group {
			t.Fatalf("%s and, in another order, %s", c.Group, again.Group)
		}
		counts[c.Group]++
	}
	for _, o := range options {
		if n := counts[o.Group]; n < 700 || n > 900 {
			t.Errorf("%s was drawn %d times of 4000, want about 800: %v", o.Group, n, counts)
		}
	}
}

func TestARankingThatIsNotInOrderSaysWhatToDo(t *testing.T) {
	empty := ranked("")
	delete(empty.Data, "priorities")
	for name, tc := range map[string]struct {
		c    *corev1.ConfigMap
		want string
	}{
		"missing":        {nil, "is missing; create it"},
		"without key":    {empty, "has no key priorities"},
		"no map":         {ranked("[a, b]"), "give a map from numbers to lists"},
		"no list":        {ranked("10: a"), "give a map from numbers to lists"},
		"no number":      {ranked("high: [a]"), `has the rank "high"`},
		"no expression":  {ranked("10: ['a(']"), `has "a(" at rank 10, which is no regular expression`},
		"a rank twice":   {ranked("10: [a]\n10: [b]"), "cannot be read"},
		"all in order":   {ranked("10: [a, b.*]\n-5: [c]"), ""},
		"nothing at all": {ranked(""), ""},
	} {
		r := ReadRanking(tc.c)
		if (r.Wrong() == "") != (tc.want == "") || !strings.Contains(r.Wrong(), tc.want) || strings.Contains(r.Wrong(), "\n") {
			t.Errorf("%s: %q, want %q", name, r.Wrong(), tc.want)
		}
	}
	c := Expand([]Option{helped("a", 1, 1), helped("b", 1, 1)}, []policy.Expander{policy.Priority}, ReadRanking(nil), nil, Start)
	if len(c.Dropped) != 2 || !strings.Contains(c.Dropped[0].String(), "is missing") {
		t.Errorf("without the ConfigMap the choice says %v", c.Dropped)
	}
}

func TestTheServerOfAnExpanderIsAskedOnce(t *testing.T) {
	chain := []policy.Expander{policy.MostPods, policy.GRPC, policy.LeastNodes}
	options := []Option{helped("b", 2, 5), helped("a", 3, 5), helped("few", 1, 1), helped("c", 1, 5)}
	first := Expand(options, chain, Ranking{}, nil, Start)
	if first.Group != "" || first.Ask == nil {
		t.Fatalf("at first: %+v, want a question", first)
	}
	var offered []cluster.GroupID
	for _, o := range first.Ask.Offers {
		offered = append(offered, o.Group)
	}
	if d := cmp.Diff([]cluster.GroupID{"a", "b", "c"}, offered); d != "" || first.Ask.Offers[0].Nodes != 3 || len(first.Ask.Offers[0].Pods) != 5 {
		t.Errorf("asks about %+v (-want +got):\n%s", first.Ask.Offers, d)
	}
	answered := func(r memory.Result) *memory.Answer {
		m := memory.Memory{}.After(action.Plan{Actions: []action.Action{*first.Ask}}, []memory.Result{r}, policy.Default())
		if forgotten := m.After(action.Plan{}, nil, policy.Default()); forgotten.Answer != nil {
			t.Errorf("the answer %+v is kept for another cycle", *forgotten.Answer)
		}
		return m.Answer
	}
	more := append(slices.Clone(options), helped("d", 1, 5))
	for name, tc := range map[string]struct {
		options []Option
		result  memory.Result
		want    cluster.GroupID
		asks    bool
		says    string
	}{
		"it names one":               {options, memory.Result{Status: memory.Accepted, Chosen: []cluster.GroupID{"a"}}, "a", false, "expander grpc"},
		"it names two, the chain on": {options, memory.Result{Status: memory.Accepted, Chosen: []cluster.GroupID{"a", "b"}}, "b", false, "expander least-nodes"},
		"it names none":              {options, memory.Result{Status: memory.Accepted}, "", false, "expander grpc"},
		"it names only strangers":    {options, memory.Result{Status: memory.Accepted, Chosen: []cluster.GroupID{"x"}}, "c", false, "names only groups that were not offered"},
		"it fails":                   {options, memory.Result{Status: memory.Failed, Message: "no route"}, "c", false, "no route"},
		"nobody asked it":            {options, memory.Result{Status: memory.Skipped, Message: "no server"}, "c", false, "no server"},
		"other groups are offered":   {more, memory.Result{Status: memory.Accepted, Chosen: []cluster.GroupID{"a"}}, "", true, ""},
		"more pods came meanwhile":   {[]Option{helped("a", 4, 9), helped("b", 4, 9), helped("c", 4, 9)}, memory.Result{Status: memory.Accepted, Chosen: []cluster.GroupID{"a"}}, "a", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := Expand(tc.options, chain, Ranking{}, answered(tc.result), Start)
			if c.Group != tc.want || (c.Ask != nil) != tc.asks || !strings.Contains(fmt.Sprint(c.Dropped), tc.says) {
				t.Errorf("chose %q, asks %v, says %v; want %q, %t, %q", c.Group, c.Ask != nil, c.Dropped, tc.want, tc.asks, tc.says)
			}
		})
	}
}

func TestAQuestionSurvivesTheJournal(t *testing.T) {
	want := action.Plan{Time: Start, Actions: []action.Action{action.AskExpander{Offers: []action.Offer{{Group: "a", Nodes: 2, Pods: []string{"default/p"}}}}}}
	data, err := want.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var got action.Plan
	if err := got.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestGroupsThatNoRankCanMakeWinAreUnranked(t *testing.T) {
	r := ReadRanking(ranked("-5: [never]\n-1: [seldom]\n10: [agents-, spot$]"))
	for group, want := range map[cluster.GroupID]bool{"never": true, "seldom": false, "agents-1": false, "a-spot": false, "spot-b": true, "other": true} {
		if got := r.Unranked(group); got != want {
			t.Errorf("group %s is unranked: %v, want %v", group, got, want)
		}
	}
	if ReadRanking(nil).Unranked("other") || (Ranking{wrong: "x"}).Unranked("other") {
		t.Error("a ranking that is not in order leaves groups out")
	}
}
