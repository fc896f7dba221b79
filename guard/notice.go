package guard

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
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

// Announced is a notice and the machines that it names.
type Announced struct {
	cluster.Notice
	Machines []string // by the names that the cloud gives them
}

// Names says whether the notice is about the machine.
func (h Announced) Names(machine string) bool {
	return slices.ContainsFunc(h.Machines, func(m string) bool { return strings.EqualFold(m, machine) })
}

// Local is what one machine knows at the moment of its write. The node is read for that write.
type Local struct {
	DryRun  bool
	Time    time.Time
	Name    string           // the machine's, as the cloud's notices give it
	Machine cluster.Instance // as its own metadata describes it
	Notices []Announced      // the last document of them
	Asked   time.Time        // when that document was read
	Node    *corev1.Node
}

// freshNotices is how old a document of notices may be that an agreement or a withdrawal rests on.
const freshNotices = 10 * time.Second

// CheckLocal says whether a machine may make the write by itself: nil, or the [*Refusal] of the first property that forbids it. It has no
// side effects.
func CheckLocal(w Write, e Local) error {
	if e.DryRun {
		return refuse("S-24", reason.DryRun, reason.Ref{})
	}
	if e.Node == nil {
		return refuse("S-12", reason.NodeNotRead, reason.Ref{Kind: reason.KindInstance, Name: e.Name})
	}
	if !e.Machine.Is(e.Node) {
		return refuse("S-12", reason.NodeMatchUnclear, e.about(), "machine", e.Name)
	}
	switch w := w.(type) {
	case Announce:
		if err := e.own(w.Node, w.UID); err != nil {
			return err
		}
		if h := e.announced(w.Notice); h == nil || !h.Names(e.Name) {
			return refuse("S-42", reason.ScheduledEventMissing, e.about(), "event", w.Notice)
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
	return refuse("S-42", reason.WriteUnknown, e.about(), "write", fmt.Sprintf("%T", w))
}

func (e Local) about() reason.Ref { return reason.Node(e.Node.Name) }

func (e Local) own(node string, uid types.UID) error {
	if e.Node.Name != node || e.Node.UID != uid {
		return refuse("S-14", reason.NodeReplaced, reason.Node(node))
	}
	return nil
}

func (e Local) announced(id string) *Announced {
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
		return refuse("S-20", reason.ScheduledEventsOld, e.about(), "age", age.Truncate(time.Second), "limit", freshNotices)
	}
	return nil
}

func (e Local) checkWithdraw() error {
	if err := e.fresh(); err != nil {
		return err
	}
	stands, _ := cluster.NoticeOf(e.Node)
	if h := e.announced(stands.ID); h != nil && h.Names(e.Name) {
		return refuse("S-42", reason.ScheduledEventStands, e.about(), "event", stands.ID)
	}
	return nil
}

// checkAgree holds agreements that speak for other machines, or come before sluice has said that the node is empty.
func (e Local) checkAgree(w Agree) error {
	if err := e.fresh(); err != nil {
		return err
	}
	h := e.announced(w.Notice)
	switch {
	case h == nil || !h.Names(e.Name):
		return refuse("S-42", reason.ScheduledEventMissing, e.about(), "event", w.Notice)
	case len(h.Machines) != 1:
		return refuse("S-42", reason.ScheduledEventShared, e.about(), "event", w.Notice, "machines", len(h.Machines))
	}
	if stands, on := cluster.NoticeOf(e.Node); !on || stands.ID != w.Notice {
		return refuse("S-42", reason.ScheduledEventMissing, reason.Node(w.Node), "event", w.Notice)
	}
	if answer, said := cluster.AnswerOf(e.Node); !said || answer.ID != w.Notice || !answer.Empty {
		return refuse("S-15", reason.EmptyNotReported, e.about())
	}
	return nil
}

// checkExpel holds pods of nodes on which no notice stands, or that nobody could tell any more, and lets those that the policy keeps work
// for as long as they can. A machine that the cloud takes waits for no budget of S-19, and counts for the others.
func checkExpel(w Expel, e Evidence, allowed *policy.Policy) error {
	n, about := e.Newest.Node(w.Node), reason.Node(w.Node)
	if n == nil {
		return refuse("S-14", reason.NodeReplaced, about)
	}
	notice, stands := cluster.NoticeOf(n.Object)
	switch {
	case !stands || notice.ID == "" || !notice.Stops():
		return refuse("S-42", reason.ScheduledEventMissing, about, "event", "that stops it")
	case cluster.Silent(n.Object):
		return refuse("S-42", reason.KubeletSilent, about)
	}
	p := podOf(n, Evict(w))
	switch {
	case p == nil:
		return refuse("S-15", reason.PodReplaced, reason.Pod(w.Namespace, w.Pod))
	case allowed.StopsWith(p, e.on(n), e.Newest.Time):
		return refuse("S-15", reason.PodStays, about, "pod", p)
	}
	if why, stays := allowed.WorksOn(p, e.on(n), e.Newest.Time, notice.Deadline); stays {
		return refuse("S-15", reason.PodWorksUntil, about, "pod", p, "until", notice.Deadline.Format(time.RFC3339), "why", why.Code)
	}
	return nil
}

// checkAnswer holds answers to what is not announced on the node, or that call a node empty where work is.
func checkAnswer(w AnswerNotice, e Evidence, allowed *policy.Policy) error {
	n, about := e.Newest.Node(w.Node), reason.Node(w.Node)
	if n == nil || n.Object.UID != w.UID {
		return refuse("S-14", reason.NodeReplaced, about)
	}
	notice, stands := cluster.NoticeOf(n.Object)
	switch {
	case w.Notice == "" && stands:
		return refuse("S-42", reason.ScheduledEventStands, about, "event", notice.ID)
	case w.Notice == "":
		return nil
	case !stands || notice.ID != w.Notice:
		return refuse("S-42", reason.ScheduledEventMissing, about, "event", w.Notice)
	}
	if w.Empty {
		for _, p := range n.Pods {
			if !allowed.StopsWith(p, e.on(n), e.Newest.Time) && !p.Finished() {
				return refuse("S-15", reason.PodStillThere, about, "pod", p)
			}
		}
	}
	return nil
}
