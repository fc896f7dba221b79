package guard_test

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/guard"
	"sluice.dev/sluice/policy"
)

// stranger is a write that the guard does not know.
type stranger struct{ guard.Grow }

// world is a write that is allowed, with the evidence for it; every case spoils one thing.
type world struct {
	write    guard.Write
	objects  cluster.Objects
	groups   []*cluster.Group
	evidence guard.Evidence
	policy   *policy.Policy
	unknown  bool // nobody keeps a ledger
}

func (w *world) check() error {
	if w.evidence.Newest == nil {
		w.evidence.Newest = cluster.New(Start.Add(time.Minute), w.objects, w.groups)
	}
	if w.evidence.Decided == nil {
		w.evidence.Decided = w.evidence.Newest
	}
	if w.evidence.Looked == nil {
		w.evidence.Looked = map[string]*corev1.Node{}
		for _, n := range w.objects.Nodes {
			w.evidence.Looked[n.Name] = n
		}
	}
	if w.evidence.Fleet == nil && !w.unknown {
		now := *w.evidence.Newest
		if now.Groups = w.groups; w.evidence.Group != nil {
			now.Groups = []*cluster.Group{w.evidence.Group}
		}
		w.evidence.Fleet = Ledger(&now, 2*time.Hour).At(fleet.At(now.Time))
	}
	return guard.Check(w.write, w.evidence, w.policy)
}

// meanwhile changes a node since a watch has told of it.
func (w *world) meanwhile(at int, how func(*corev1.Node)) {
	n := w.objects.Nodes[at].DeepCopy()
	how(n)
	w.evidence.Looked = map[string]*corev1.Node{n.Name: n}
}

// change changes the pod that is to be evicted.
func (w *world) change(how func(*corev1.Pod)) { w.objects.Pods[2] = Changed(w.objects.Pods[2], how) }

// agents is a group of three machines, of which node agents-1 is on its way out, empty, and agents-2 works.
func agents() *world {
	g := Group("agents", 1, 5, Machine("0", "agents-0"), Machine("1", "agents-1"), Machine("2", "agents-2"))
	leaving := cluster.Machine{Group: "agents", ID: "1", UID: "vm-1"}
	w := &world{
		objects: Objects(Node("agents-0"), Node("agents-1", Removing(Start.Add(-time.Minute), leaving)), Node("agents-2"),
			Pod("busy", On("agents-2")), Pod("ds", On("agents-1"), OwnedBy("DaemonSet", "ds"))),
		groups:   []*cluster.Group{g},
		evidence: guard.Evidence{Started: Start.Add(-time.Hour), Group: g},
		policy:   policy.Default(),
	}
	w.objects.Namespaces = []*corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: cluster.PauseNamespace, UID: "uid-home"}}}
	w.policy.ClusterID = "uid-home"
	return w
}

func growing() *world {
	w := agents()
	w.write = guard.Grow{Group: "agents", From: 3, To: 5}
	return w
}

// unanswered is a group that was asked for a capacity, and no answer has come.
func unanswered(name string, capacity, of int) *cluster.Group {
	g := Group(name, 0, 5)
	g.Capacity, g.Asked, g.Problem = capacity, of, "no answer yet"
	return g
}

func deleting() *world {
	w := agents()
	w.write = guard.Delete{Group: "agents", Machines: []guard.Target{{Machine: cluster.Machine{Group: "agents", ID: "1", UID: "vm-1"}, Node: "agents-1"}}}
	return w
}

// cleaning deletes a machine that never joined.
func cleaning() *world {
	w := agents()
	w.groups[0].Instances = append(w.groups[0].Instances, Machine("3", "", func(i *cluster.Instance) { i.Group = "agents" }))
	w.groups[0].Capacity = 4
	w.write = guard.Delete{Group: "agents", Machines: []guard.Target{{Machine: cluster.Machine{Group: "agents", ID: "3", UID: "vm-3"}}}}
	return w
}

// foreign does so in a cluster of which nobody has said that the groups are its own, and in which none of the group's machines was ever a
// node.
func foreign() *world {
	w := cleaning()
	w.policy.ClusterID = ""
	w.groups[0].Joined = false
	w.objects.Nodes, w.objects.Pods = []*corev1.Node{Node("elsewhere")}, nil
	return w
}

// requested deletes one of as many as sluice has asked for.
func requested() *world {
	w := foreign()
	w.asked(4)
	return w
}

// asked has sluice have asked for so many of the machines, of a group that had none.
func (w *world) asked(n int) {
	now := Start.Add(time.Minute)
	w.evidence.Fleet = AskedFor(w.groups[0], n, now).At(fleet.At(now))
}

// vouched deletes one where the operator has said which cluster the groups belong to.
func vouched() *world {
	w := foreign()
	w.asked(0)
	w.policy.ClusterID = "uid-home"
	return w
}

// known deletes one of a group that the decision knew for the cluster's own.
func known() *world {
	w := foreign()
	w.asked(0)
	joined := *w.groups[0]
	joined.Joined = true
	w.evidence.Decided = cluster.New(Start, w.objects, []*cluster.Group{&joined})
	return w
}

// forced does so in a group that falls below its min.
func forced() *world {
	w := cleaning()
	w.groups[0].Min, w.policy.Removal.Unregistered.Force = 4, true
	return w
}

func evicting() *world {
	w := agents()
	w.objects.Pods = append(w.objects.Pods, Pod("web", On("agents-1")))
	w.write = guard.Evict{Namespace: "default", Pod: "web", UID: "uid-web", Node: "agents-1"}
	return w
}

// dismissing evicts a daemon's pod from a node that is empty.
func dismissing() *world {
	w := agents()
	w.write = guard.Evict{Namespace: "default", Pod: "ds", UID: "uid-ds", Node: "agents-1"}
	return w
}

// crowned deletes one of three control-plane nodes, which are opted in.
func crowned() *world {
	w := deleting()
	w.policy.Removal.ControlPlane = true
	for _, n := range w.objects.Nodes {
		n.Labels["node-role.kubernetes.io/control-plane"] = "true"
	}
	return w
}

// dethroning cordons such a node.
func dethroning() *world {
	w := cordoning()
	w.policy.Removal.ControlPlane = true
	w.objects.Nodes[0].Labels["node-role.kubernetes.io/control-plane"] = "true"
	w.objects.Nodes[2].Labels["node-role.kubernetes.io/control-plane"] = "true"
	w.objects.Nodes = append(w.objects.Nodes, Node("other", func(n *corev1.Node) { n.Labels["node-role.kubernetes.io/control-plane"] = "true" }))
	return w
}

// outlasting deletes a machine with a pod that was told to end an hour before its grace period is over.
func outlasting() *world {
	w := deleting()
	w.policy.Removal.Drain.AfterDeadline, w.policy.Removal.Drain.Deadline = policy.Force, time.Minute
	w.objects.Pods = append(w.objects.Pods, Pod("slow", On("agents-1"), func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: Start.Add(time.Hour)} }))
	return w
}

func cordoning() *world {
	w := agents()
	w.write = guard.Cordon{Node: "agents-0", UID: "uid-agents-0", Machine: cluster.Machine{Group: "agents", ID: "0", UID: "vm-0"}}
	return w
}

// softening steers pods away from node 0.
func softening() *world {
	w := agents()
	w.write = guard.CandidateTaint{Node: "agents-0", UID: "uid-agents-0"}
	return w
}

// crown makes node 2 one of the control plane.
func (w *world) crown() { w.objects.Nodes[2].Labels["node-role.kubernetes.io/control-plane"] = "true" }

// givingBack takes back what a sluice of that name has put on a node of no group.
func givingBack(owner string) *world {
	w := agents()
	w.policy.Installation = "kube-system/sluice"
	n := Node("strange", Removing(Start.Add(-time.Hour), cluster.Machine{Group: "batch", ID: "1", UID: "vm-b"}))
	n.Annotations[cluster.OwnerAnnotation] = owner
	w.objects.Nodes = append(w.objects.Nodes, n)
	w.write = guard.Uncordon{Node: "strange", UID: "uid-strange"}
	return w
}

func TestSoundWritesPass(t *testing.T) {
	for name, open := range map[string]func() *world{
		"grow": growing, "delete a drained machine": deleting, "delete a machine that never joined": cleaning, "delete a machine that never joined of as many as were asked for": requested, "delete one of a group of which nodes are known": known, "delete one of a group that is vouched for": vouched, "delete a machine that never came above min": coming, "delete one on the count of one that works before it is made": working, "delete one below min where the operator says so": forced, "evict": evicting, "dismiss a daemon": dismissing, "delete one of three control-plane nodes that are opted in": crowned, "cordon one of them": dethroning, "delete a machine with a pod that is forced": outlasting, "cordon": cordoning, "soft taint": softening, "delete a dead node": burying, "delete a node whose machine others deleted": missing, "delete one whose name a younger machine has": succeeded, "take over a removal": adopting, "cordon the node of a parked machine": parking, "open a gate": opening,
	} {
		if err := open().check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEachPropertyRefusesItsWrite(t *testing.T) {
	cases := map[string]struct {
		open     func() *world
		spoil    func(*world)
		property string
	}{
		"a gate of a pod that is gone":        {opening, func(w *world) { w.objects.Pods = w.objects.Pods[:2] }, "S-41"},
		"a gate of another pod of the name":   {opening, func(w *world) { w.change(func(p *corev1.Pod) { p.UID = "uid-new" }) }, "S-41"},
		"a gate that is open":                 {opening, func(w *world) { w.change(gates()) }, "S-41"},
		"a gate beside somebody else's":       {opening, func(w *world) { w.change(gates(cluster.CapacityGate, "example.com/approval")) }, "S-41"},
		"a gate for a node that is gone":      {opening, func(w *world) { w.objects.Nodes = w.objects.Nodes[1:] }, "S-41"},
		"a gate for a node that is not Ready": {opening, func(w *world) { w.objects.Nodes[0] = Node("agents-0", NotReady(Start)) }, "S-41"},
		"a gate for a node on its way out": {opening, func(w *world) {
			w.write = guard.OpenGate{Namespace: "default", Pod: "gated", UID: "uid-gated", Node: "agents-1"}
		}, "S-41"},
		"a gate in a dry run":                          {opening, func(w *world) { w.evidence.DryRun = true }, "S-24"},
		"a capacity below the live machines":           {growing, func(w *world) { w.write = guard.Grow{Group: "agents", From: 3, To: 2} }, "S-05"},
		"a growth on a read older than the last write": {growing, func(w *world) { w.evidence.LastWrite = Start.Add(time.Second) }, "S-01"},
		"a delete on a read older than the last write": {deleting, func(w *world) { w.evidence.LastWrite = Start.Add(time.Second) }, "S-01"},
		"a capacity read as 0 while machines live":     {growing, func(w *world) { w.groups[0].Capacity = 0; w.write = guard.Grow{Group: "agents", From: 0, To: 3} }, "S-02"},
		"a read from before the start":                 {growing, func(w *world) { w.evidence.Started = Start.Add(time.Second) }, "S-02"},
		"an incomplete read":                           {deleting, func(w *world) { w.groups[0].Read.Complete = false }, "S-02"},
		"an unknown capacity":                          {growing, func(w *world) { w.groups[0].Capacity = -1 }, "S-02"},
		"a group that could not be read":               {growing, func(w *world) { w.groups[0].Problem = "forbidden" }, "S-02"},
		"no read at all":                               {growing, func(w *world) { w.evidence.Group = nil }, "S-02"},
		"a capacity that the cloud did not say":        {growing, func(w *world) { w.write = guard.Grow{Group: "agents", From: 4, To: 5} }, "S-03"},
		"a read without a version":                     {growing, func(w *world) { w.groups[0].Read.Version = "" }, "S-04"},
		"a growth to the same size":                    {growing, func(w *world) { w.write = guard.Grow{Group: "agents", From: 3, To: 3} }, "S-05"},
		"a removal that keeps more than its capacity":  {deleting, func(w *world) { w.groups[0].Capacity = 2 }, "S-05"},
		"a growth above max":                           {growing, func(w *world) { w.write = guard.Grow{Group: "agents", From: 3, To: 6} }, "S-06"},
		"a removal below min":                          {deleting, func(w *world) { w.groups[0].Min = 3 }, "S-44"},
		"a removal below min of the machines that are listed": {deleting, func(w *world) {
			w.groups[0].Instances[2].State, w.groups[0].Min = cluster.StateDeleting, 2
		}, "S-44"},
		"a clean-up of one that is still coming below min": {coming, func(w *world) { w.groups[0].Min = 4 }, "S-06"},
		"a clean-up below min":                             {cleaning, func(w *world) { w.groups[0].Min = 4 }, "S-06"},
		"a clean-up below min that is forced for failed machines alone": {cleaning, func(w *world) {
			w.groups[0].Min, w.policy.Removal.ForceFailed = 4, true
		}, "S-06"},
		"a removal of a node below min where clean-ups are forced": {deleting, func(w *world) {
			w.groups[0].Min, w.policy.Removal.Unregistered.Force, w.policy.Removal.ForceFailed = 3, true, true
		}, "S-44"},
		"more nodes than the cluster may have": {growing, func(w *world) { w.policy.Growth.Max.Nodes = 4 }, "S-06"},
		"more nodes than the cluster may have with those that another group was asked for": {growing, func(w *world) {
			w.groups = append(w.groups, unanswered("render", 0, 1))
			w.policy.Growth.Max.Nodes = 5
		}, "S-06"},
		"machines that cost more than a ceiling with those that another group was asked for": {growing, func(w *world) {
			w.groups = append(w.groups, unanswered("render", 0, 1))
			w.ceiling("usd-per-hour:1.1")
		}, "S-06"},
		"more cores than the cluster may have":                         {growing, func(w *world) { w.policy.Growth.Max.Cores = 19 }, "S-06"},
		"more memory than the cluster may have":                        {growing, func(w *world) { w.policy.Growth.Max.MemoryGiB = 79 }, "S-06"},
		"any core where none may be":                                   {growing, func(w *world) { w.policy.Growth.Max.Cores = 0 }, "S-06"},
		"any memory where none may be":                                 {growing, func(w *world) { w.policy.Growth.Max.MemoryGiB = 0 }, "S-06"},
		"machines that cost more than a ceiling":                       {growing, func(w *world) { w.ceiling("usd-per-hour:0.9") }, "S-06"},
		"a ceiling on machines without a price":                        {growing, func(w *world) { w.ceiling("agents=usd-per-hour:9"); w.groups[0].PriceUSDPerHour = 0 }, "S-06"},
		"a removal that names nobody":                                  {deleting, func(w *world) { w.write = guard.Delete{Group: "agents"} }, "S-10"},
		"a machine that is being deleted":                              {deleting, func(w *world) { w.groups[0].Instances[1].State = cluster.StateDeleting; w.groups[0].Capacity = 2 }, "S-11"},
		"a machine that a fresh list lacks":                            {deleting, func(w *world) { w.groups[0].Instances = w.groups[0].Instances[:1] }, "S-11"},
		"an id that the list gives to another machine than the ledger": {deleting, func(w *world) { w.decided().relist(1, "vm-new") }, "S-11"},
		"a growth of which no ledger knows":                            {growing, func(w *world) { w.unknown = true }, "S-02"},
		"a cordon of another Node object of the name":                  {cordoning, func(w *world) { w.objects.Nodes[0].UID = "uid-new" }, "S-14"},
		"a removal of which no ledger knows":                           {deleting, func(w *world) { w.unknown = true }, "S-02"},
		"an id that belongs to a new machine":                          {deleting, func(w *world) { w.groups[0].Instances[1].UID = "vm-new" }, "S-11"},
		"a machine named by its id alone": {deleting, func(w *world) {
			w.write = guard.Delete{Group: "agents", Machines: []guard.Target{{Machine: cluster.Machine{Group: "agents", ID: "1"}, Node: "agents-1"}}}
		}, "S-11"},
		"a machine named twice": {deleting, func(w *world) {
			d := w.write.(guard.Delete)
			d.Machines = append(d.Machines, d.Machines[0])
			w.write = d
		}, "S-11"},
		"a machine that never joined but could be a node by address": {cleaning, func(w *world) {
			w.groups[0].Instances[3].PrivateIPs = []string{"10.0.0.9"}
			w.objects.Nodes[0].Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.9"}}
		}, "S-12"},
		"a provider id in other letters":                   {cleaning, func(w *world) { w.objects.Nodes[0].Spec.ProviderID = "CLOUD:///machines/3" }, "S-12"},
		"a machine that two nodes could be":                {deleting, func(w *world) { w.objects.Nodes[0].Status.NodeInfo.SystemUUID = "VM-1" }, "S-12"},
		"a removal from a group whose capacity is unknown": {deleting, func(w *world) { w.groups[0].Capacity = -1 }, "S-02"},
		"a write that is none":                             {deleting, func(w *world) { w.write = stranger{} }, "S-24"},
		"a machine whose node another machine could be": {deleting, func(w *world) {
			other := *w.groups[0].Instances[0]
			other.ID, other.UID, other.ProviderID, other.ComputerName = "9", "vm-9", "", "agents-1"
			w.groups[0].Instances = append(w.groups[0].Instances, &other)
			w.groups[0].Capacity++
			w.evidence.Newest = cluster.New(Start.Add(time.Minute), w.objects, w.groups)
			w.evidence.Newest.Node("agents-1").Suspects = w.groups[0].Instances[:2]
		}, "S-12"},
		"a machine that is another node": {deleting, func(w *world) {
			w.write = guard.Delete{Group: "agents", Machines: []guard.Target{{Machine: cluster.Machine{Group: "agents", ID: "2", UID: "vm-2"}, Node: "agents-1"}}}
		}, "S-12"},
		"a cordon for the wrong machine": {cordoning, func(w *world) {
			w.write = guard.Cordon{Node: "agents-0", UID: "uid-agents-0", Machine: cluster.Machine{Group: "agents", ID: "2", UID: "vm-2"}}
		}, "S-12"},
		"a node that registered meanwhile": {cleaning, func(w *world) {
			w.evidence.Decided = cluster.New(Start, w.objects, w.groups)
			w.objects.Nodes = append(w.objects.Nodes, Node("late", func(n *corev1.Node) { n.Spec.ProviderID = "cloud:///machines/3" }))
		}, "S-13"},
		"a node that registered while the watch was silent": {cleaning, func(w *world) {
			w.groups[0].Instances[3].ComputerName = "Agents-3"
			w.evidence.Looked = map[string]*corev1.Node{"agents-3": Node("agents-3", func(n *corev1.Node) { n.Status.NodeInfo.SystemUUID = "vm-3" })}
		}, "S-13"},
		"a growth from a list that a Ready node contradicts": {growing, func(w *world) {
			w.groups[0].Instances, w.groups[0].Capacity, w.groups[0].Missing = w.groups[0].Instances[1:], 2, []string{"vm-0"}
			w.objects.Nodes[0].Status.NodeInfo.SystemUUID = "VM-0"
			w.write = guard.Grow{Group: "agents", From: 2, To: 3}
		}, "S-02"},
		"a Node object whose kubelet reports that it is not Ready": {burying, func(w *world) { NotReady(Start.Add(-2 * time.Minute))(w.objects.Nodes[1]) }, "S-14"},
		"a Node object that is Ready by now":                       {missing, func(w *world) { w.objects.Nodes[1].Status.Conditions = Node("x").Status.Conditions }, "S-14"},
		"a Node object of a group that is managed no more":         {burying, func(w *world) { w.groups[0].ID = "other" }, "S-14"},
		"a Node object whose unique id is another machine's":       {burying, func(w *world) { w.objects.Nodes[1].Status.NodeInfo.SystemUUID = "vm-7" }, "S-14"},
		"a Node object of another life":                            {burying, func(w *world) { w.objects.Nodes[1].UID = "reborn" }, "S-14"},
		"a Node object whose machine lives":                        {burying, func(w *world) { w.groups[0].Instances = append(w.groups[0].Instances, Machine("1", "agents-1")) }, "S-14"},
		"a Job's pod":                                              {evicting, func(w *world) { w.change(OwnedBy("Job", "render")) }, "S-15"},
		"a pod whose controller is gone":                           {evicting, func(w *world) { w.objects.Controllers.Known = true }, "S-15"},
		"a bare pod":                                               {evicting, func(w *world) { w.change(OwnedBy("", "")) }, "S-15"},
		"a pod marked do-not-disrupt":                              {evicting, func(w *world) { w.change(Annotated("karpenter.sh/do-not-disrupt", "true")) }, "S-15"},
		"a pod marked safe-to-evict=false": {evicting, func(w *world) {
			w.change(Annotated("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"))
		}, "S-15"},
		"a daemon's pod where daemons are left alone":     {dismissing, func(w *world) { w.policy.Removal.Drain.OccupiedDaemons = false }, "S-15"},
		"a daemon's pod where others still are":           {dismissing, func(w *world) { w.objects.Pods = append(w.objects.Pods, Pod("late", On("agents-1"))) }, "S-15"},
		"a machine with a pod that is waited for":         {outlasting, func(w *world) { w.policy.Removal.Drain.AfterDeadline = policy.Wait }, "S-15"},
		"a machine with a pod that has time left":         {outlasting, func(w *world) { w.policy.Removal.Drain.Deadline = time.Hour }, "S-15"},
		"a pod of a node that is gone":                    {evicting, func(w *world) { w.objects.Nodes = nil }, "S-14"},
		"a pod of another life":                           {evicting, func(w *world) { w.change(func(p *corev1.Pod) { p.UID = "reborn" }) }, "S-15"},
		"a pod of a node that stays":                      {evicting, func(w *world) { w.objects.Nodes[1] = Node("agents-1") }, "S-15"},
		"a machine to whose name a pod is bound":          {cleaning, func(w *world) { w.objects.Pods = append(w.objects.Pods, Pod("p", On("unjoined-3"))) }, "S-15"},
		"one whose name a machine has that is no younger": {succeeded, func(w *world) { w.groups[0].Instances[len(w.groups[0].Instances)-1].Created = Start.Add(-time.Hour) }, "S-14"},
		"one without a unique id": {missing, func(w *world) {
			w.objects.Nodes[1].Status.NodeInfo.SystemUUID = ""
			w.write = guard.DeleteNode{Node: "agents-1", UID: "uid-agents-1", Machine: cluster.Machine{Group: "agents"}}
		}, "S-14"},
		"one of the control plane": {missing, func(w *world) { w.objects.Nodes[1].Labels["node-role.kubernetes.io/etcd"] = "true" }, "S-17"},
		"one whose volumes are another node's": {missing, func(w *world) {
			d := w.write.(guard.DeleteNode)
			d.Attachments = []cluster.Attachment{{Name: "csi-a", UID: "uid-csi-a"}}
			w.write = d
			a := &storagev1.VolumeAttachment{Spec: storagev1.VolumeAttachmentSpec{NodeName: "agents-2"}}
			a.Name, a.UID = "csi-a", "uid-csi-a"
			w.objects.VolumeAttachments = append(w.objects.VolumeAttachments, a)
		}, "S-37"},
		"what another sluice has put on a node of no group": {func() *world { return givingBack("batch/sluice") }, func(*world) {}, "S-37"},
		"its soft taint": {func() *world { return givingBack("batch/sluice") }, func(w *world) { w.write = guard.CandidateUntaint{Node: "strange", UID: "uid-strange"} }, "S-37"},
		"a takeover of a node as another machine": {adopting, func(w *world) {
			w.write = guard.Mark{Node: "agents-1", UID: "uid-agents-1", Machine: cluster.Machine{Group: "agents", ID: "0", UID: "vm-0"}}
		}, "S-12"},
		"a takeover of a node that is not on its way out": {adopting, func(w *world) { w.objects.Nodes[1] = Node("agents-1") }, "S-12"},
		"a takeover of a node of another life":            {adopting, func(w *world) { w.objects.Nodes[1].UID = "reborn" }, "S-14"},
		"a machine whose node still has a pod":            {deleting, func(w *world) { w.objects.Pods = append(w.objects.Pods, Pod("late", On("agents-1"))) }, "S-15"},
		"a machine whose node runs a Job": {deleting, func(w *world) {
			w.objects.Pods = append(w.objects.Pods, Pod("late", On("agents-1"), OwnedBy("Job", "j")))
		}, "S-15"},
		"a node that a pending pod fits": {deleting, func(w *world) { w.evidence.Counted = map[string]string{"agents-1": "default/p"} }, "S-16"},
		"a node that is not cordoned":    {deleting, func(w *world) { w.objects.Nodes[1] = Node("agents-1") }, "S-16"},
		"a node, while a pod has come that the decision did not know": {deleting, func(w *world) {
			w.evidence.Decided = cluster.New(Start, w.objects, w.groups)
			w.objects.Pods = append(w.objects.Pods, Pod("new"))
		}, "S-16"},
		"a cordon of a node that a pending pod fits": {cordoning, func(w *world) { w.evidence.Counted = map[string]string{"agents-0": "default/p"} }, "S-16"},
		"a control-plane node's machine":             {deleting, func(w *world) { w.objects.Nodes[1].Labels["node-role.kubernetes.io/control-plane"] = "true" }, "S-17"},
		"a control-plane node's machine while another one leaves": {crowned, func(w *world) {
			w.objects.Nodes[2].Spec.Taints = append(w.objects.Nodes[2].Spec.Taints, w.objects.Nodes[1].Spec.Taints...)
		}, "S-17"},
		"a control-plane node's machine while another one is not Ready":      {crowned, func(w *world) { NotReady(Start)(w.objects.Nodes[2]) }, "S-17"},
		"a control-plane node's machine while another one's is going":        {crowned, func(w *world) { w.groups[0].Instances[2].State = cluster.StateDeleting }, "S-17"},
		"a control-plane node's machine while another one's is switched off": {crowned, func(w *world) { w.groups[0].Instances[2].State = cluster.StateStopped }, "S-17"},
		"a cordon of a control-plane node while another one's machine has gone": {dethroning, func(w *world) {
			w.objects.Nodes[2].Annotations = map[string]string{cluster.MachineAnnotation: w.groups[0].Instances[2].Machine().String()}
			w.groups[0].Instances = append(w.groups[0].Instances[:2:2], w.groups[0].Instances[3:]...)
		}, "S-17"},
		"a control-plane node's machine where only two vote": {crowned, func(w *world) {
			w.objects.Nodes[0].Labels["node-role.kubernetes.io/etcd"] = "true"
			w.objects.Nodes[1].Labels["node-role.kubernetes.io/etcd"] = "true"
		}, "S-17"},
		"a cordon of a control-plane node while another one is not Ready": {dethroning, func(w *world) { NotReady(Start)(w.objects.Nodes[2]) }, "S-17"},
		"a cordon of a control-plane node that is not opted in":           {dethroning, func(w *world) { w.policy.Removal.ControlPlane = false }, "S-17"},
		"a cordon of a control-plane node":                                {cordoning, func(w *world) { w.objects.Nodes[0].Labels["node-role.kubernetes.io/etcd"] = "true" }, "S-17"},
		"a machine on the count of one that is still coming":              {working, func(w *world) { NotReady(Start)(w.objects.Nodes[2]) }, "S-44"},
		"a machine on the count of one of the same id":                    {working, func(w *world) { w.relist(2, "vm-new") }, "S-44"},
		"a machine whose node was annotated to stay": {deleting, func(w *world) {
			w.objects.Nodes[1].Annotations["cluster-autoscaler.kubernetes.io/scale-down-disabled"] = "true"
		}, "S-18"},
		"a machine whose node a person uncordoned": {deleting, func(w *world) { w.objects.Nodes[1].Spec.Unschedulable = false }, "S-18"},
		"a machine whose node a person uncordoned while the watch was silent": {deleting, func(w *world) {
			w.meanwhile(1, func(n *corev1.Node) { n.Spec.Unschedulable = false })
		}, "S-18"},
		"a machine whose node was annotated to stay while the watch was silent": {deleting, func(w *world) {
			w.meanwhile(1, func(n *corev1.Node) { n.Annotations["cluster-autoscaler.kubernetes.io/scale-down-disabled"] = "true" })
		}, "S-18"},
		"a machine whose node was deleted while the watch was silent": {deleting, func(w *world) { w.evidence.Looked = map[string]*corev1.Node{} }, "S-20"},
		"a machine whose node became another one while the watch was silent": {deleting, func(w *world) {
			w.meanwhile(1, func(n *corev1.Node) { n.UID = "reborn" })
		}, "S-20"},
		"a pod of a node that a person uncordoned":  {evicting, func(w *world) { w.objects.Nodes[1].Spec.Unschedulable = false }, "S-18"},
		"a cordon of a node that a person cordoned": {cordoning, func(w *world) { w.objects.Nodes[0].Spec.Unschedulable = true }, "S-18"},
		"a cordon of a node on which a notice stands, and whose machine runs": {cordoning, func(w *world) {
			Noticed(cluster.Notice{ID: "n", Kind: "Preempt"})(w.objects.Nodes[0])
		}, "S-18"},
		"a cordon of a node that a person cordoned, and whose machine is switched off": {cordoning, func(w *world) {
			Noticed(cluster.Notice{ID: "n", Kind: "Preempt"})(w.objects.Nodes[0])
			w.objects.Nodes[0].Spec.Unschedulable = true
			w.groups[0].Instances[0].State = cluster.StateStopped
		}, "S-18"},
		"a drain of a node that ran dry and that a person uncordoned": {cordoning, func(w *world) {
			w.objects.Nodes[0].Spec.Taints = append(w.objects.Nodes[0].Spec.Taints, cluster.Removal{Since: Start, Why: cluster.RunsDry}.Taint())
		}, "S-18"},
		"a drain of a node that was idle when it was cordoned": {cordoning, func(w *world) {
			w.objects.Nodes[0].Spec.Unschedulable = true
			w.objects.Nodes[0].Spec.Taints = append(w.objects.Nodes[0].Spec.Taints, cluster.Removal{Since: Start, Why: "idle"}.Taint())
		}, "S-18"},
		"a cordon of a node annotated to stay": {cordoning, func(w *world) {
			w.objects.Nodes[0].Annotations = map[string]string{"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}
		}, "S-18"},
		"a soft taint on another object of the name":        {softening, func(w *world) { w.objects.Nodes[0].UID = "reborn" }, "S-14"},
		"a soft taint on a control-plane node":              {softening, func(w *world) { w.objects.Nodes[0].Labels["node-role.kubernetes.io/control-plane"] = "true" }, "S-17"},
		"a soft taint on a node that is nobody's":           {softening, func(w *world) { w.groups[0].Instances = w.groups[0].Instances[1:] }, "S-12"},
		"a soft taint on a node whose machine is protected": {softening, func(w *world) { w.groups[0].Instances[0].Protected = true }, "S-18"},
		"a soft taint on a node annotated to stay": {softening, func(w *world) {
			w.objects.Nodes[0].Annotations = map[string]string{"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}
		}, "S-18"},
		"a machine whose node was written to and not seen since": {deleting, func(w *world) { w.evidence.Unseen = map[string]bool{"agents-1": true} }, "S-20"},
		"a pod of a node that was written to and not seen since": {evicting, func(w *world) { w.evidence.Unseen = map[string]bool{"agents-1": true} }, "S-20"},
		"a Node object that was written to and not seen since":   {burying, func(w *world) { w.evidence.Unseen = map[string]bool{"agents-1": true} }, "S-20"},
		"a removal while the API server is silent":               {deleting, func(w *world) { w.evidence.Silent = 61 * time.Second }, "S-20"},
		"a cordon while the API server is silent":                {cordoning, func(w *world) { w.evidence.Silent = 61 * time.Second }, "S-20"},
		"an eviction while the API server is silent":             {evicting, func(w *world) { w.evidence.Silent = 61 * time.Second }, "S-20"},
		"a growth that the lease does not outlive": {growing, func(w *world) {
			w.evidence.Leads, w.evidence.Answer = Start.Add(time.Minute+4*time.Second), 5*time.Second
		}, "S-23"},
		"a growth of a group whose machines do not join": {growing, func(w *world) {
			for _, id := range []string{"7", "8", "9"} {
				w.groups[0].Instances = append(w.groups[0].Instances, Machine(id, "", func(in *cluster.Instance) { in.Created = Start.Add(-time.Hour) }))
			}
			w.groups[0].Capacity, w.groups[0].Max = 6, 9
			w.write = guard.Grow{Group: "agents", From: 6, To: 7}
		}, "S-35"},
		"a growth that others undo each time": {growing, func(w *world) {
			w.evidence.Opposed = &guard.Opposition{Times: 3, Until: Start.Add(time.Hour)}
		}, "S-36"},
		"a Node object whose machine is parked":                            {burying, func(w *world) { w.park() }, "S-14"},
		"a cordon for a machine that is not parked":                        {parking, func(w *world) { w.groups[0].Parked = nil }, "S-14"},
		"a cordon for a parked machine on a Ready node":                    {parking, func(w *world) { w.objects.Nodes[1].Status.Conditions = Node("x").Status.Conditions }, "S-14"},
		"a cordon for a parked machine on a node that a person uncordoned": {parking, func(w *world) { w.objects.Nodes[1].Spec.Unschedulable = false }, "S-14"},
		"a cordon for a parked machine on a node annotated to stay": {parking, func(w *world) {
			w.objects.Nodes[1].Annotations["cluster-autoscaler.kubernetes.io/scale-down-disabled"] = "true"
		}, "S-14"},
		"a growth of a group with control-plane nodes": {growing, func(w *world) { w.crown() }, "S-17"},
		"a machine that never joined, beside one":      {cleaning, func(w *world) { w.crown() }, "S-17"},
		"a cordon of a node beside one":                {cordoning, func(w *world) { w.crown() }, "S-17"},
		"a growth of a group that its description calls one": {growing, func(w *world) {
			w.groups[0].Template = Node("", func(n *corev1.Node) { n.Labels["node-role.kubernetes.io/etcd"] = "" })
		}, "S-17"},
		"a machine that never joined, beside the one that sluice runs on, which is no node": {cleaning, func(w *world) { w.groups[0].Own = w.groups[0].Instances[3].UID }, "S-17"},
		"any soft taint in a dry run":                   {softening, func(w *world) { w.evidence.DryRun = true }, "S-24"},
		"a protected machine":                           {deleting, func(w *world) { w.groups[0].Instances[1].Protected = true }, "S-18"},
		"a protected machine that never joined":         {cleaning, func(w *world) { w.groups[0].Instances[3].Protected = true }, "S-18"},
		"a cordon of a node whose machine is protected": {cordoning, func(w *world) { w.groups[0].Instances[0].Protected = true }, "S-18"},
		"a pod of a node whose machine is protected":    {evicting, func(w *world) { w.groups[0].Instances[1].Protected = true }, "S-18"},
		"a growth of a paused group":                    {growing, func(w *world) { w.pause("agents") }, "S-18"},
		"a removal from a paused group":                 {deleting, func(w *world) { w.pause("agents") }, "S-18"},
		"a machine that never joined, all paused":       {cleaning, func(w *world) { w.pause("*") }, "S-18"},
		"a cordon in a paused group":                    {cordoning, func(w *world) { w.pause("agents") }, "S-18"},
		"a soft taint in a paused group":                {softening, func(w *world) { w.pause("agents") }, "S-18"},
		"a pod of a node of a paused group":             {evicting, func(w *world) { w.pause("agents") }, "S-18"},
		"a takeover in a paused group":                  {adopting, func(w *world) { w.pause("agents") }, "S-18"},
		"a Node object of a paused group":               {burying, func(w *world) { w.pause("agents") }, "S-18"},
		"a machine whose node is held":                  {deleting, func(w *world) { w.objects.Nodes[1].Annotations[cluster.HoldAnnotation] = "2026-01-05T09:01:01Z" }, "S-18"},
		"a cordon of a node that is held": {cordoning, func(w *world) {
			w.objects.Nodes[0].Annotations = map[string]string{cluster.HoldAnnotation: "25h"}
		}, "S-18"},
		"a machine of a group that may be another cluster's":     {foreign, func(*world) {}, "S-22"},
		"one more than sluice has asked for":                     {foreign, func(w *world) { w.asked(3) }, "S-22"},
		"any growth in another cluster":                          {growing, func(w *world) { w.objects.Namespaces[0].UID = "uid-elsewhere" }, "S-22"},
		"any cordon in another cluster":                          {cordoning, func(w *world) { w.policy.ClusterID = "uid-elsewhere" }, "S-22"},
		"any eviction in a cluster of which nobody knows the id": {evicting, func(w *world) { w.objects.Namespaces = nil }, "S-22"},
		"any growth in a dry run":                                {growing, func(w *world) { w.evidence.DryRun = true }, "S-24"},
		"any removal in a dry run":                               {deleting, func(w *world) { w.evidence.DryRun = true }, "S-24"},
		"any cordon in a dry run":                                {cordoning, func(w *world) { w.evidence.DryRun = true }, "S-24"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := c.open()
			c.spoil(w)
			err := w.check()
			var refusal *guard.Refusal
			if !errors.As(err, &refusal) {
				t.Fatalf("check = %v, want a refusal by %s", err, c.property)
			}
			if refusal.Property != c.property {
				t.Errorf("refused by %s, want %s: %s", refusal.Property, c.property, refusal)
			}
		})
	}
}

// pause pauses a group for an hour.
func (w *world) pause(id cluster.GroupID) {
	p := cluster.Pauses{id: Start.Add(time.Hour)}
	w.objects.Namespaces[0].Annotations = map[string]string{cluster.PauseAnnotation: p.Annotation()}
}
