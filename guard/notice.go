package guard

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
)

// Announce writes a notice of the cloud on the node of the machine that heard it.
type Announce struct {
	Node   string
	UID    types.UID
	Notice string // its id
}

// Withdraw takes a notice off a node again.
type Withdraw struct {
	Node string
	UID  types.UID
}

// Agree tells the cloud that it may go on with what it has announced.
type Agree struct {
	Notice string // its id
	Node   string
}

// Expel evicts a pod from a machine that is about to stop.
type Expel struct {
	Namespace, Pod string
	UID            types.UID
	Node           string
}

// AnswerNotice says on a node what becomes of the notice that stands there. Without a notice it takes an earlier answer back.
type AnswerNotice struct {
	Node   string
	UID    types.UID
	Notice string // its id; "" takes back
	Empty  bool   // nothing on the node has to be waited for
}

func (Announce) isWrite()     {}
func (Withdraw) isWrite()     {}
func (Agree) isWrite()        {}
func (Expel) isWrite()        {}
func (AnswerNotice) isWrite() {}

// Heard is a notice and the machines that it names.
type Heard struct {
	cluster.Notice
	Machines []string // by the names that the cloud gives them
}

// Names says whether the notice is about the machine.
func (h Heard) Names(machine string) bool {
	return slices.ContainsFunc(h.Machines, func(m string) bool { return strings.EqualFold(m, machine) })
}

// Local is what one machine knows at the moment of its write. The node is read for that write.
type Local struct {
	DryRun  bool
	Time    time.Time
	Name    string           // the machine's, as the cloud's notices give it
	Machine cluster.Instance // as its own metadata describes it
	Notices []Heard          // the last document of them
	Asked   time.Time        // when that document was read
	Node    *corev1.Node
}

// freshNotices is how old a document of notices may be that an agreement or a withdrawal rests on.
const freshNotices = 10 * time.Second

// CheckLocal says whether a machine may make the write by itself: nil, or the [*Refusal] of the first property that forbids it. It has no side effects.
func CheckLocal(w Write, e Local) error {
	if e.DryRun {
		return refuse("S-24", "nothing is written in a dry run")
	}
	if e.Node == nil {
		return refuse("S-12", "the node of machine %s was not read for this write", e.Name)
	}
	if !e.Machine.Is(e.Node) {
		return refuse("S-12", "node %s is not for certain machine %s", e.Node.Name, e.Name)
	}
	switch w := w.(type) {
	case Announce:
		if err := e.own(w.Node, w.UID); err != nil {
			return err
		}
		if h := e.heard(w.Notice); h == nil || !h.Names(e.Name) {
			return refuse("S-42", "no notice %q to machine %s was heard", w.Notice, e.Name)
		}
		return nil
	case Withdraw:
		if err := e.own(w.Node, w.UID); err != nil {
			return err
		}
		return e.checkWithdraw()
	case Agree:
		if err := e.own(w.Node, e.Node.UID); err != nil {
			return err
		}
		return e.checkAgree(w)
	}
	return refuse("S-42", "%T is no write that a machine makes by itself", w)
}

func (e Local) own(node string, uid types.UID) error {
	if e.Node.Name != node || e.Node.UID != uid {
		return refuse("S-14", "node %s is not the object that machine %s means", node, e.Name)
	}
	return nil
}

func (e Local) heard(id string) *Heard {
	for i := range e.Notices {
		if e.Notices[i].ID == id {
			return &e.Notices[i]
		}
	}
	return nil
}

// fresh holds what rests on a document that may have changed meanwhile.
func (e Local) fresh() error {
	if age := e.Time.Sub(e.Asked); age > freshNotices {
		return refuse("S-20", "the notices to machine %s were read %s ago, which is more than %s", e.Name, age.Truncate(time.Second), freshNotices)
	}
	return nil
}

func (e Local) checkWithdraw() error {
	if err := e.fresh(); err != nil {
		return err
	}
	stands, _ := cluster.NoticeOf(e.Node)
	if h := e.heard(stands.ID); h != nil && h.Names(e.Name) {
		return refuse("S-42", "notice %s to machine %s stands", stands.ID, e.Name)
	}
	return nil
}

// checkAgree holds agreements that speak for other machines, or come before sluice has said that the node is empty.
func (e Local) checkAgree(w Agree) error {
	if err := e.fresh(); err != nil {
		return err
	}
	h := e.heard(w.Notice)
	switch {
	case h == nil || !h.Names(e.Name):
		return refuse("S-42", "no notice %q to machine %s was heard", w.Notice, e.Name)
	case len(h.Machines) != 1:
		return refuse("S-42", "notice %s is about %d machines, and agreeing would speak for all", w.Notice, len(h.Machines))
	}
	if stands, on := cluster.NoticeOf(e.Node); !on || stands.ID != w.Notice {
		return refuse("S-42", "notice %s does not stand on node %s", w.Notice, w.Node)
	}
	if answer, said := cluster.AnswerOf(e.Node); !said || answer.ID != w.Notice || !answer.Empty {
		return refuse("S-15", "sluice has not said that node %s is empty", w.Node)
	}
	return nil
}

// checkExpel holds pods of nodes on which no notice stands, or that nobody could tell any more, and lets those that the policy keeps work for as long
// as they can. A machine that the cloud takes waits for no budget of S-19, and counts for the others.
func checkExpel(w Expel, e Evidence, allowed *policy.Policy) error {
	n := e.Newest.Node(w.Node)
	if n == nil {
		return refuse("S-14", "node %s is gone", w.Node)
	}
	notice, stands := cluster.NoticeOf(n.Object)
	switch {
	case !stands || notice.ID == "" || !notice.Stops():
		return refuse("S-42", "nothing that stops node %s is announced on it", w.Node)
	case cluster.Silent(n.Object):
		return refuse("S-42", "the kubelet of node %s is silent, and would not tell the pod", w.Node)
	}
	p := podOf(n, Evict(w))
	switch {
	case p == nil:
		return refuse("S-15", "pod %s/%s on node %s is not the one that was seen", w.Namespace, w.Pod, w.Node)
	case allowed.StopsWith(p, e.on(n), e.Newest.Time):
		return refuse("S-15", "pod %s belongs to node %s", p.String(), w.Node)
	}
	if why, stays := allowed.WorksOn(p, e.on(n), e.Newest.Time, notice.Deadline); stays {
		return refuse("S-15", "%s, and its machine has time until %s", why.Sentence(), notice.Deadline.Format(time.RFC3339))
	}
	return nil
}

// checkAnswer holds answers to what is not announced on the node, or that call a node empty where work is.
func checkAnswer(w AnswerNotice, e Evidence, allowed *policy.Policy) error {
	n := e.Newest.Node(w.Node)
	if n == nil || n.Object.UID != w.UID {
		return refuse("S-14", "node %s is not the object that the decision saw", w.Node)
	}
	notice, stands := cluster.NoticeOf(n.Object)
	switch {
	case w.Notice == "" && stands:
		return refuse("S-42", "notice %s stands on node %s", notice.ID, w.Node)
	case w.Notice == "":
		return nil
	case !stands || notice.ID != w.Notice:
		return refuse("S-42", "notice %s does not stand on node %s", w.Notice, w.Node)
	}
	if w.Empty {
		for _, p := range n.Pods {
			if !allowed.StopsWith(p, e.on(n), e.Newest.Time) && !p.Finished() {
				return refuse("S-15", "pod %s is still on node %s", p.String(), w.Node)
			}
		}
	}
	return nil
}
