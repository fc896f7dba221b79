package node_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// view looks at the cluster at [Start]. The process has decided for an hour; nobody keeps a ledger of machines.
func view(set func(*policy.Policy), groups []*cluster.Group, objects ...any) *node.View {
	allowed := policy.Default()
	if set != nil {
		set(allowed)
	}
	return look(cluster.New(Start, Objects(objects...), groups), allowed)
}

func look(s *cluster.Snapshot, allowed *policy.Policy) *node.View {
	v := node.NewView(s, allowed, memory.Memory{Since: Start.Add(-time.Hour)}, scheduling.NewChecker(s), &node.Memo{})
	v.Memo.Look(v, nil)
	v.NoticeLost()
	v.NoticeRestarts()
	return v
}

// codes are the codes of reasons in one line.
func codes(all ...*reason.Reason) string {
	var words []string
	for _, r := range all {
		if r != nil {
			words = append(words, string(r.Code))
		}
	}
	return strings.Join(words, " ")
}

func made(ago time.Duration) func(*corev1.Node) {
	return func(n *corev1.Node) { n.CreationTimestamp = metav1.NewTime(Start.Add(-ago)) }
}

func annotated(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) { metav1.SetMetaDataAnnotation(&n.ObjectMeta, key, value) }
}

func labelled(key string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels[key] = "" }
}

// are changes of a node.
type are []func(*corev1.Node)

func cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

// incumbent is cordoned by cluster-autoscaler, which began so long ago.
func incumbent(ago time.Duration) func(*corev1.Node) {
	return func(n *corev1.Node) {
		cordoned(n)
		since := strconv.FormatInt(Start.Add(-ago).Unix(), 10)
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: cluster.IncumbentTaint, Value: since, Effect: corev1.TaintEffectNoSchedule})
	}
}

// control is the label of control-plane nodes.
const control = "node-role.kubernetes.io/control-plane"

// TestWhatANodeShowsByItself looks at node a-0 of group a.
func TestWhatANodeShowsByItself(t *testing.T) {
	mine := cluster.Machine{Group: "a", ID: "0", UID: "vm-0"}
	few, busy := Pod("w", On("a-0")), []any{Pod("w", On("a-0"), CPU("3"))}
	daemon := Pod("d", On("a-0"), OwnedBy("DaemonSet", "d"))
	marked := Pod("d", On("a-0"), OwnedBy("DaemonSet", "d"), Annotated("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"))
	held := annotated(cluster.HoldAnnotation, Start.Add(time.Hour).Format(time.RFC3339))
	reboots, unclear := Noticed(cluster.Notice{Kind: "Reboot"}), Noticed(cluster.Notice{Kind: "Party"})
	wanted := annotated(cluster.DrainAnnotation, "t")
	protected := func(in *cluster.Instance) { in.Protected = true }
	finished := func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }
	opted := func(p *policy.Policy) { p.Removal.ControlPlane = true }
	for name, c := range map[string]struct {
		node    are
		pods    []any
		machine func(*cluster.Instance)
		none    bool // the group has no machine
		twice   bool // another machine has its name
		set     func(*policy.Policy)
		said    string // outcome and codes; "" leaves it to others
		movers  string
		shut    bool // to pods
		wakes   time.Duration
	}{
		"a node with nothing but daemons is idle":      {pods: []any{daemon}},
		"a node with few pods tells who has to move":   {pods: []any{daemon, few}, movers: "default/w"},
		"a node that its pods use stays":               {pods: busy, said: "keep NodeBusy"},
		"a pod of a Job is one that has to move":       {pods: []any{Pod("j", On("a-0"), OwnedBy("Job", "j"))}, movers: "default/j"},
		"a daemon marked to stay keeps its node":       {pods: []any{marked}, said: "keep PodNotSafeToEvict", movers: "default/d"},
		"a node that leaves says no more":              {node: are{Removing(Start, mine)}, pods: busy, movers: "default/w", shut: true},
		"a node without a machine and a group is left": {none: true, said: "keep NodeUnmanaged"},
		"a node that two machines could be is held":    {twice: true, said: "hold NodeAmbiguous"},
		"a control-plane node is left alone":           {node: are{labelled(control)}, said: "keep NodeControlPlane"},
		"so is one of etcd":                            {node: are{labelled("node-role.kubernetes.io/etcd")}, said: "keep NodeControlPlane"},
		"unless control planes are opted in":           {node: are{labelled(control)}, set: opted},
		"a control-plane node that leaves is told of":  {node: are{labelled(control), Removing(Start, mine)}, shut: true},
		"a machine on its way out is told of":          {machine: In(cluster.StateDeleting), said: "deleting NodeLeaving"},
		"a protected machine keeps its node":           {machine: protected, said: "keep NodeProtected"},
		"a node that a person has cordoned stays":      {node: are{cordoned}, said: "keep NodeHeldByPerson", shut: true},
		"a node annotated to stay does":                {node: are{annotated(cluster.KeepAnnotation, "true")}, said: "keep NodeScaleDownOff"},
		"a node that is held stays until then":         {node: are{held}, said: "keep NodeHeld", wakes: time.Hour},
		"a hold that is over holds nothing":            {node: are{annotated(cluster.HoldAnnotation, "24h")}},
		"two people may want two things of a node":     {node: are{held, wanted}, said: "keep NodeHeld NodeAskedFor", wakes: time.Hour},
		"a node asked for is never too busy":           {node: are{wanted}, pods: busy, movers: "default/w"},
		"an announced node takes no pods":              {node: are{reboots}, said: "keep NodeNoticed", shut: true},
		"a notice may be unclear":                      {node: are{unclear}, said: "keep NodeNoticeUnclear", shut: true},
		"what was announced has come":                  {node: are{reboots}, machine: In(cluster.StateStopped), shut: true},
		"a node that another autoscaler removes":       {node: are{incumbent(time.Minute)}, said: "keep NodeOfIncumbent", shut: true},
		"one that it began with before this led":       {node: are{incumbent(2 * time.Hour)}, said: "keep NodeLeftByIncumbent", shut: true},
		"a young node that is not Ready starts":        {node: are{made(time.Minute), NotReady(Start)}, said: "keep NodeStarting", shut: true},
		"an old one does not":                          {node: are{NotReady(Start)}, shut: true},
		"nor does one that fell silent":                {node: are{made(time.Minute), Silent(Start)}, shut: true},
		"a finished pod has left":                      {pods: []any{Pod("w", On("a-0"), finished)}},
	} {
		t.Run(name, func(t *testing.T) {
			g := Group("a", 0, 5)
			if !c.none {
				in := Machine("0", "a-0")
				if c.machine != nil {
					c.machine(in)
				}
				if g = Group("a", 0, 5, in); c.twice {
					g = Group("a", 0, 5, in, Machine("1", "a-0"))
				}
			}
			v := view(c.set, []*cluster.Group{g}, append(c.pods, Node("a-0", c.node...))...)
			f := v.Memo.Facts[0]
			said := string(f.Verdict.Outcome)
			for _, r := range f.Verdict.Because {
				said += " " + string(r.Code)
			}
			var movers []string
			for _, p := range f.Movers {
				movers = append(movers, p.String())
			}
			if said != c.said || strings.Join(movers, " ") != c.movers || f.Takes == c.shut {
				t.Errorf("said is %q, movers are %v, takes %t", said, movers, f.Takes)
			}
			if watched := slices.Contains(v.Memo.Watched, 0); watched != (c.said == "" || f.Passing) {
				t.Errorf("it is watched: %t", watched)
			}
			if c.wakes > 0 && !v.Next.Equal(Start.Add(c.wakes)) {
				t.Errorf("the next cycle is at %s", v.Next)
			}
		})
	}
}

// TestWhichNodeAMachineIs asks about machine 1 of group a, which is no node for certain, and is waited for.
func TestWhichNodeAMachineIs(t *testing.T) {
	named := func(ago time.Duration) *cluster.Instance { return Machine("1", "a-1", Born(Start.Add(-ago))) }
	earlier := []any{Node("a-1", func(n *corev1.Node) { n.Status.NodeInfo.SystemUUID = "vm-7" })}
	twice := []any{
		Node("x", func(n *corev1.Node) { n.Spec.ProviderID = "CLOUD:///machines/1" }),
		Node("y", func(n *corev1.Node) { n.Status.NodeInfo.SystemUUID = "VM-1" }),
	}
	for name, c := range map[string]struct {
		machine  *cluster.Instance
		nodes    []any
		suspect  string
		taken    bool // its name
		comes    bool
		overdue  bool
		unjoined bool
	}{
		"a young machine is waited for":                  {machine: named(time.Minute), comes: true},
		"one that has had its time is not":               {machine: named(15 * time.Minute), overdue: true, unjoined: true},
		"one a moment before is":                         {machine: named(15*time.Minute - time.Second), comes: true},
		"one that is being deleted is not waited for":    {machine: Machine("1", "a-1", In(cluster.StateDeleting))},
		"nor is one that is switched off":                {machine: Machine("1", "a-1", In(cluster.StateStopped))},
		"another machine's node is no suspect":           {machine: named(time.Minute), nodes: []any{Node("a-0")}, comes: true},
		"two nodes of its ids are suspects, one is told": {machine: named(time.Minute), nodes: twice, suspect: "x"},
		"and keep it from having never joined":           {machine: named(time.Hour), nodes: twice, suspect: "x", overdue: true},
		"a node of an earlier machine takes its name":    {machine: named(time.Minute), nodes: earlier, suspect: "a-1", taken: true, comes: true},
		"not for ever": {machine: named(15 * time.Minute), nodes: earlier, suspect: "a-1", taken: true, overdue: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := Group("a", 0, 5, Machine("0", "a-0"), c.machine)
			v := view(nil, []*cluster.Group{g}, c.nodes...)
			st, in := v.Listed[0], v.Snapshot.Groups[0].Instances[1]
			suspect := ""
			if n := v.Suspect(in); n != nil {
				suspect = n.Name()
			}
			if suspect != c.suspect || v.NameTaken(in) != nil != c.taken {
				t.Errorf("it may be %q, its name is taken: %v", suspect, v.NameTaken(in))
			}
			if comes, overdue := v.Comes(st, in), v.Overdue(st, in); comes != c.comes || overdue != c.overdue {
				t.Errorf("comes %t, overdue %t", comes, overdue)
			}
			if unjoined := slices.Contains(v.Unjoined(st), in); unjoined != c.unjoined {
				t.Errorf("never joined: %t", unjoined)
			}
		})
	}
}

// TestAMachineIsLateByWhatOthersTook has a group whose machines took up to two minutes, or so long, to become nodes.
func TestAMachineIsLateByWhatOthersTook(t *testing.T) {
	for name, c := range map[string]struct {
		longest time.Duration
		size    string // that it was learned of
		age     time.Duration
		late    bool
	}{
		"a machine within three times as long is in time": {2 * time.Minute, "Standard_D4s_v5", 6*time.Minute - 1, false},
		"after that it is late":                           {2 * time.Minute, "standard_d4s_v5", 6 * time.Minute, true},
		"nothing is late before three minutes":            {10 * time.Second, "Standard_D4s_v5", 3*time.Minute - 1, false},
		"then it is":                                      {10 * time.Second, "Standard_D4s_v5", 3 * time.Minute, true},
		"nothing is known of its size":                    {2 * time.Minute, "Standard_E4s_v5", 14 * time.Minute, false},
		"nothing is late that is overdue as soon":         {5 * time.Minute, "Standard_D4s_v5", 15 * time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			v := view(nil, []*cluster.Group{Group("a", 0, 5, Machine("0", "", Born(Start.Add(-c.age)))), Group("b", 0, 5)})
			v.Remember("b", memory.GroupMemory{Boot: memory.Boot{Longest: c.longest, Size: c.size}})
			if _, late := v.IsLate(v.Listed[0], v.Listed[0].Unregistered[0]); late != c.late {
				t.Errorf("late: %t", late)
			}
		})
	}
}

// TestAMinKeepsMachines asks whether so many Ready nodes such as a-0 may go.
func TestAMinKeepsMachines(t *testing.T) {
	three := []any{Node("a-0"), Node("a-1"), Node("a-2")}
	unready := []any{Node("a-0"), Node("a-1"), Node("a-2", NotReady(Start.Add(-time.Hour)))}
	machines := func(change ...func(*cluster.Instance)) []*cluster.Instance {
		return []*cluster.Instance{Machine("0", "a-0"), Machine("1", "a-1"), Machine("2", "a-2", change...)}
	}
	for name, c := range map[string]struct {
		min      int
		nodes    []any
		machines []*cluster.Instance
		going    bool // machine 1 goes already
		n        int
		code     string
	}{
		"one above the min may go":                      {2, three, machines(), false, 1, ""},
		"two may not":                                   {2, three, machines(), false, 2, "GroupAtMin"},
		"nor may one beside another that goes":          {2, three, machines(), true, 1, "GroupAtMin"},
		"below the min none may":                        {4, three, machines(), false, 1, "GroupBelowMin"},
		"a node that is not Ready serves nobody (S-44)": {2, unready, machines(), false, 1, "GroupMinReady"},
		"a machine that is still to come serves nobody": {2, three[:2], machines(Born(Start.Add(-time.Minute))), false, 1, "GroupAwaits"},
	} {
		t.Run(name, func(t *testing.T) {
			g := Group("a", c.min, 9, c.machines...)
			s := cluster.New(Start, Objects(c.nodes...), []*cluster.Group{g})
			s.Fleet = Ledger(s, time.Hour)
			v := look(s, policy.Default())
			exit := func(id string) node.Exit {
				return node.Exit{Verb: fleet.Delete, Target: fleet.Target{UID: fleet.UID("vm-" + id), ID: id, Clear: true}}
			}
			batch := v.Listed[0].Contract.Leaving
			if c.going {
				batch.Add(exit("1").Verb, exit("1").Target)
			}
			if got := codes(v.Needed(v.Listed[0], exit("0"), batch, c.n)); got != c.code {
				t.Errorf("kept by %q, want %q", got, c.code)
			}
		})
	}
}
