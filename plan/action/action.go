// Package action is what a plan consists of: actions, the outcome of every subject, and verdicts with their reasons. It decides nothing.
package action

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// Plan is one cycle's decision.
type Plan struct {
	Time     time.Time         // the snapshot's
	Actions  []Action          // in the order in which they are to be performed; growth first
	Verdicts []Verdict         // one for every pending pod, oldest first; then one for every machine without a node, node, group, request and buffer, each kind by name
	Counted  map[string]string // nodes on which pending pods count, by name, with one of the pods: none of them may leave (S-16)
	Cost     *Cost             // of the machines that it adds for pods; nil when it adds none or not every price is known
	Measure  []string          // nodes whose use is to be measured, by name, sorted: the answer is a fact of later snapshots
	Next     time.Time         // when a timer will change the decision even if nothing else does; zero when none runs
}

// Cost is what the machines cost that a plan adds.
type Cost struct {
	USDPerHour      float64 `json:"usdPerHour"`
	LeastUSDPerHour float64 `json:"leastUSDPerHour"` // nothing that serves the same pods costs less; proven, not reached by every plan
}

// Action is one change to make. Each is repeatable: performing it twice is the same as once.
//
//	action                            writes to                            promises of the safety contract, among others
//	SetCapacity                       the group's capacity in Azure        S-01 to S-06
//	DeleteInstances                   machines in Azure, each by its name  S-10 to S-13, S-16, S-19
//	Cordon, Mark, Uncordon            a Node object                        S-17, S-18
//	CandidateTaint, CandidateUntaint  a Node object                        none: the scheduler may still choose the node
//	Evict                             a pod                                S-15
//	DeleteNode                        a Node object                        S-14
//	AnswerNotice                      a Node object                        S-15: the agent agrees to the notice by it
//	OpenGate                          a pod                                S-41
//	AnswerRequest, AnswerBuffer       the status of the object             none: nothing of a node or machine changes
//	AskExpander                       nothing                              none
//
// An action holds all that the guard compares with fresh evidence, as the plan saw it. A UID tells an object from another one that was made
// later under the same name. Because is the reason in journals and Events; nothing is decided by it.
type Action interface{ isAction() }

// SetCapacity grows a group by one request.
// From is the capacity of the last read. To may exceed From by more than Adds, where an accepted growth is in no read yet.
type SetCapacity struct {
	Group   cluster.GroupID `json:"group"`
	From    int             `json:"from"`
	To      int             `json:"to"`
	Adds    int             `json:"adds"` // machines beyond those asked for before, which From may not show yet
	Pods    []string        `json:"pods"` // for which pending pods, "namespace/name"
	Because reason.Reason   `json:"because"`

	// Zones are how many machines the group has in each zone once all are there, as the plan assumes; nil for a group that spans none.
	Zones map[string]int `json:"zones,omitempty"`
}

// Cordon cordons a node: the taint, spec.unschedulable and the name of its machine, in one write.
type Cordon struct {
	Node    string          `json:"node"`
	UID     types.UID       `json:"uid"`
	Removal cluster.Removal `json:"removal"`
	Machine cluster.Machine `json:"machine"`
	Exclude bool            `json:"exclude,omitempty"` // load balancers outside of the cluster are to leave the node out
	Because reason.Reason   `json:"because"`
}

// Mark cordons the node of a machine that is parked, until it is started again, and names the machine on it. That of a machine which is not
// parked takes over the removal that another sluice has begun.
type Mark struct {
	Node    string          `json:"node"`
	UID     types.UID       `json:"uid"`
	Machine cluster.Machine `json:"machine"`
	Parked  time.Time       `json:"parked,omitzero"` // what the taint says of when; zero for a machine that is not parked
	Because reason.Reason   `json:"because"`
}

// Uncordon uncordons a node, or its mark off the node.
type Uncordon struct {
	Node    string        `json:"node"`
	UID     types.UID     `json:"uid"`
	Because reason.Reason `json:"because"`
}

// CandidateTaint has the scheduler prefer other nodes to one that could go.
type CandidateTaint struct {
	Node    string        `json:"node"`
	UID     types.UID     `json:"uid"`
	Since   time.Time     `json:"since"` // when it could first go
	Because reason.Reason `json:"because"`
}

// CandidateUntaint takes that back.
type CandidateUntaint struct {
	Node    string        `json:"node"`
	UID     types.UID     `json:"uid"`
	Because reason.Reason `json:"because"`
}

// Evict asks the API server to evict a pod from a cordoned node, or from one whose machine the cloud has announced to stop; its disruption
// budgets decide.
type Evict struct {
	Namespace string        `json:"namespace"`
	Pod       string        `json:"pod"`
	UID       types.UID     `json:"uid"`
	Node      string        `json:"node"`
	Grace     time.Duration `json:"grace"`
	Notice    string        `json:"notice,omitempty"` // the id of what is announced; "" for a cordoned node
	Because   reason.Reason `json:"because"`
}

// AnswerNotice tells the agent of a node what becomes of the notice that stands there, or takes the answer to an earlier one back.
type AnswerNotice struct {
	Node    string        `json:"node"`
	UID     types.UID     `json:"uid"`
	Notice  string        `json:"notice,omitempty"`  // its id; "" takes back
	Empty   bool          `json:"empty,omitempty"`   // nothing on the node has to be waited for
	Exclude bool          `json:"exclude,omitempty"` // load balancers outside of the cluster are to leave the node out
	Because reason.Reason `json:"because"`
}

// DeleteInstances removes machines of one group by name, all that leave in this cycle in one request.
type DeleteInstances struct {
	Group    cluster.GroupID `json:"group"`
	Machines []Leaving       `json:"machines"` // sorted by id
}

// Leaving is one machine to delete.
type Leaving struct {
	cluster.Machine
	Node    string        `json:"node,omitempty"`    // the drained node on it, "" for a machine that never became one
	Discard bool          `json:"discard,omitempty"` // it is deleted though its group parks machines: pods of its node wait for the Node object to go
	Because reason.Reason `json:"because"`
}

// DeleteNode deletes the Node object of a machine that is confirmed gone, and before it what else the machine has left behind.
type DeleteNode struct {
	Node        string               `json:"node"`
	UID         types.UID            `json:"uid"`
	Machine     cluster.Machine      `json:"machine"` // its id is "" where nothing tells it any more
	Attachments []cluster.Attachment `json:"attachments,omitempty"`
	Because     reason.Reason        `json:"because"`
}

// OpenGate takes sluice's scheduling gate off a pod: its capacity is there, and the scheduler may see it.
type OpenGate struct {
	Namespace string        `json:"namespace"`
	Pod       string        `json:"pod"`
	UID       types.UID     `json:"uid"`
	Node      string        `json:"node"` // that it fits and that is Ready; the scheduler may choose another one
	Because   reason.Reason `json:"because"`
}

// AnswerRequest tells a ProvisioningRequest what became of it. Conditions have no times; those of other types stay as they are.
type AnswerRequest struct {
	Namespace  string             `json:"namespace"`
	Request    string             `json:"request"`
	UID        types.UID          `json:"uid"`
	Conditions []metav1.Condition `json:"conditions"`
	Details    map[string]string  `json:"details,omitempty"` // of its class; nil leaves them
	Because    reason.Reason      `json:"because"`
}

// AnswerBuffer tells a CapacityBuffer what it came to. Conditions as in [AnswerRequest]; of the status what is not nil.
type AnswerBuffer struct {
	Namespace  string                       `json:"namespace"`
	Buffer     string                       `json:"buffer"`
	UID        types.UID                    `json:"uid"`
	Conditions []metav1.Condition           `json:"conditions,omitempty"`
	Status     cluster.CapacityBufferStatus `json:"status,omitzero"`
	Because    reason.Reason                `json:"because"`
}

func (SetCapacity) isAction() {}

func (Cordon) isAction() {}

func (Mark) isAction() {}

func (Uncordon) isAction() {}

func (CandidateTaint) isAction() {}

func (CandidateUntaint) isAction() {}

func (Evict) isAction() {}

func (DeleteInstances) isAction() {}

func (DeleteNode) isAction() {}

func (OpenGate) isAction() {}

func (AnswerNotice) isAction() {}

func (AnswerRequest) isAction() {}

func (AnswerBuffer) isAction() {}

// Outcome is what becomes of a subject, in one word.
type Outcome string

// Outcomes of pending pods.
const (
	PodScheduling Outcome = "scheduling" // fits a node, the scheduler will bind it
	PodWaiting    Outcome = "waiting"    // for a machine that is coming
	PodGrows      Outcome = "grows"      // a group grows for it in this cycle
	PodRescues    Outcome = "rescues"    // takes back a cordoned node
	PodStuck      Outcome = "stuck"      // nothing that sluice may do makes room for it
	PodIgnored    Outcome = "ignored"    // not sluice's to place
)

// Outcomes of nodes.
const (
	NodeKeep     Outcome = "keep"     // needed, or not sluice's to delete
	NodeIdle     Outcome = "idle"     // a candidate: it is cordoned when its time has come and nothing forbids it
	NodeCordoned Outcome = "cordoned" // sluice cordons it, or has done so, and no pod has to leave it
	NodeDraining Outcome = "draining" // cordoned, and pods leave it, or end
	NodeDeleting Outcome = "deleting" // its machine is being deleted, from the cycle on that asks for it
	NodeParking  Outcome = "parking"  // its machine is being deallocated, likewise
	NodeParked   Outcome = "parked"   // its machine is deallocated, and started again before a new one is made
	NodeGone     Outcome = "gone"     // its machine is deleted, and its Node object goes
	NodeRescue   Outcome = "rescue"   // uncordoned again
	NodeHold     Outcome = "hold"     // not touched: what it is cannot be told, or others have to let go of it first
)

// Outcomes of machines without a node.
//
//	outcome   of a machine without a node
//	coming    it is expected to become a node, or it is late
//	deleting  this cycle asks for its deletion
//	hold      it stays, for the reasons in its verdict
const (
	MachineComing   Outcome = "coming"
	MachineDeleting Outcome = "deleting"
	MachineHold     Outcome = "hold"
)

// Outcomes of groups.
//
//	outcome    of a group
//	steady     nothing of what follows
//	grow       this cycle asks for machines
//	growing    machines of it are coming
//	shrinking  machines of it leave
//	full       a pod asked for more than its max
//	backoff    it rests after a failure, or its breaker is open
//	hold       it is not known well enough, is paused, or has control-plane nodes
const (
	GroupSteady  Outcome = "steady"
	GroupGrow    Outcome = "grow"
	GroupGrowing Outcome = "growing"
	GroupShrink  Outcome = "shrinking"
	GroupFull    Outcome = "full"
	GroupBackoff Outcome = "backoff"
	GroupHold    Outcome = "hold"
)

// Outcomes of ProvisioningRequests and CapacityBuffers.
const (
	ClaimKept    Outcome = "kept"    // its room is there, and stays free for it
	ClaimWaiting Outcome = "waiting" // for machines that are coming
	ClaimGrows   Outcome = "grows"   // a group grows for it in this cycle
	ClaimStuck   Outcome = "stuck"   // there is no room, or what it asks for is not clear
	ClaimOver    Outcome = "over"    // nothing is kept for it any longer
	ClaimIgnored Outcome = "ignored" // not sluice's to answer
)

// Verdict is what becomes of one subject and why, the most telling reason first.
// A subject has one verdict in a cycle, and at least one reason.
type Verdict struct {
	Subject reason.Ref      `json:"subject"`
	Outcome Outcome         `json:"outcome"`
	Because []reason.Reason `json:"because"`
}

// Verdict is the verdict about a subject, false when the cycle had none.
// It looks through all verdicts, so no phase calls it: it is for reports and tests.
func (p *Plan) Verdict(about reason.Ref) (Verdict, bool) {
	for _, v := range p.Verdicts {
		if v.Subject == about {
			return v, true
		}
	}
	return Verdict{}, false
}

// AskExpander asks the operator's own server which groups may grow. It changes nothing: the next cycle, which follows at once, decides with
// the answer.
type AskExpander struct {
	Offers []Offer `json:"offers"` // sorted by group, never empty
}

// Offer is one [grow.Option] as the server is told of it.
type Offer struct {
	Group cluster.GroupID `json:"group"`
	Nodes int             `json:"nodes"`
	Pods  []string        `json:"pods"` // "namespace/name", sorted
}

func (AskExpander) isAction() {}
