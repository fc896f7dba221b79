package node

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// Acknowledged says whether a person knows that the node's machine is lost.
func (d *View) Acknowledged(n *cluster.Node) bool {
	return d.Fleet != nil && n.Instance != nil && d.Fleet.Acknowledged(fleet.GroupID(n.Instance.Group), fleet.UID(n.Instance.UID))
}

// untouched says of nodes that sluice leaves alone why it does.
func (d *View) untouched(v *Facts) (action.Outcome, []reason.Reason, bool) {
	n, about := v.Node, reason.Node(v.Name())
	keep := func(code reason.Code, facts ...any) (action.Outcome, []reason.Reason, bool) {
		return action.NodeKeep, []reason.Reason{reason.New(code, about, facts...)}, true
	}
	switch {
	case len(n.Suspects) > 0 && !n.Outlived():
		names := ""
		for i, in := range n.Suspects {
			if i > 0 {
				names += ", "
			}
			names += fmt.Sprintf("%s/%s", in.Group, in.ID)
		}
		return action.NodeHold, []reason.Reason{reason.New(reason.NodeAmbiguous, about, "instances", names)}, true
	case n.Group == "" || d.groups[n.Group] == nil:
		return keep(reason.NodeUnmanaged)
	case v.Controls && !d.Policy.Removal.ControlPlane && !(v.OnLadder && n.Instance != nil): // which is given back
		return keep(reason.NodeControlPlane)
	case d.groups[n.Group].Servers && !(v.OnLadder && n.Instance != nil):
		return action.NodeKeep, []reason.Reason{d.Controlled(n.Group)}, true
	case n.Parked.UID != "":
		return action.NodeParked, []reason.Reason{reason.New(reason.NodeMachineParked, about, "instance", n.Parked.ID)}, true
	case !v.Ready && WasParked(n) && d.Restarts(n):
		return keep(reason.NodeStarting, "age", d.Waited(n.Instance))
	case v.OnLadder:
		return "", nil, false
	case n.Instance == nil:
		return "", nil, false
	case n.Instance.State == cluster.StateDeleting:
		return Leaves(d.Parks(d.groups[n.Group], n)), []reason.Reason{reason.New(reason.NodeLeaving, about, "instance", n.Instance.ID, "fate", Fate(d.Parks(d.groups[n.Group], n)))}, true
	case cluster.Noticed(n.Object) && !n.CameTrue():
		return action.NodeKeep, []reason.Reason{Noticed(n)}, true
	case d.ofIncumbent(n) != nil:
		return action.NodeKeep, inVain(n, *d.ofIncumbent(n)), true
	case n.Object.Spec.Unschedulable:
		return action.NodeKeep, inVain(n, reason.New(reason.NodeHeldByPerson, about)), true
	case cluster.Kept(n.Object):
		return action.NodeKeep, inVain(n, reason.New(reason.NodeScaleDownOff, about)), true
	case d.Held(n) != nil:
		return action.NodeKeep, inVain(n, *d.Held(n)), true
	case n.Instance.Protected:
		return action.NodeKeep, inVain(n, reason.New(reason.NodeProtected, about, "instance", n.Instance.ID)), true
	case len(n.Awaits) > 0 && d.Starting(n):
		return keep(reason.NodeAwaitsDevices, "age", Age(d.Now, n.Object.CreationTimestamp), "devices", deviceNames(n))
	case d.Starting(n) && v.Ready && len(d.AwaitsTaint(n)) > 0:
		return keep(reason.NodeAwaitsTaint, d.AwaitsTaint(n)...)
	case d.Starting(n):
		return keep(reason.NodeStarting, "age", Age(d.Now, n.Object.CreationTimestamp))
	case !v.Ready && d.Restarts(n):
		return keep(reason.NodeStarting, "age", d.Waited(n.Instance))
	}
	return "", nil, false
}

// AwaitsTaint is what a reason says of the startup taint that the node bears, nil when it bears none: of several the first.
func (d *View) AwaitsTaint(n *cluster.Node) []any {
	taints := d.Policy.Growth.Taints.Awaited(n.Object.Spec.Taints)
	if len(taints) == 0 {
		return nil
	}
	return []any{
		"age", Age(d.Now, n.Object.CreationTimestamp), "taint", taints[0].ToString(), "who", d.Policy.Growth.Taints.Remover(taints[0].Key),
		"limit", d.Policy.Growth.Startup,
	}
}

// Controlled says why the group is taken for one of control-plane nodes.
func (d *View) Controlled(g cluster.GroupID) reason.Reason {
	return reason.New(reason.GroupControlPlane, reason.Group(string(g)), "role", string(d.groups[g].ControlPlane))
}

// inVain is why people keep the node, and that another one has asked for it to be emptied meanwhile, where that is so.
func inVain(n *cluster.Node, why reason.Reason) []reason.Reason {
	all := []reason.Reason{why}
	if asked := AskedFor(n); asked != nil {
		all = append(all, *asked)
	}
	return all
}

// deviceNames are the devices that the node awaits, in one word.
func deviceNames(n *cluster.Node) string {
	var names []string
	for name := range n.Awaits {
		names = append(names, string(name))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// Age is how long ago t was, in whole seconds.
func Age(now time.Time, t metav1.Time) time.Duration { return now.Sub(t.Time).Truncate(time.Second) }

// Percent prints a share, with halves as they read in decimals.
func Percent(share float64) string {
	p := math.RoundToEven(math.Round(share*1e6) / 1e4)
	if p >= 0 && p < float64(len(percents)) {
		return percents[int(p)]
	}
	return fmt.Sprintf("%.0f%%", p)
}

// percents are the words for the shares of most nodes.
var percents = func() (words [101]string) {
	for i := range words {
		words[i] = fmt.Sprintf("%d%%", i)
	}
	return words
}()
