// Package actuate performs a plan: each action is checked by the guard against evidence read for it, then sent as one repeatable
// request. It holds the only clients that can change a cloud or a cluster, and it waits for nothing but the answer.
package actuate

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/guard"
	"sluice.dev/sluice/internal/kube"
	"sluice.dev/sluice/internal/ledger"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// Forbidden is the code of results that the API server refused for want of a right.
const Forbidden = "Forbidden"

// requestTimeout bounds one request, so that a silent cloud cannot hold up a cycle for long.
const requestTimeout = 30 * time.Second

// Actuator performs plans, one at a time. Its fields are set before its first use and not changed after.
type Actuator struct {
	Cloud    cloud.Provider
	Nodes    kube.Writer
	Expander Expander                        // nil when no server of an expander is known
	Objects  func() (cluster.Objects, error) // what the API server has said until now
	Policy   *policy.Policy
	DryRun   bool // nothing is sent; every action comes back as skipped
	Now      func() time.Time
	Started  time.Time // when this process began to read
	Log      *slog.Logger

	Silent func() time.Duration         // for how long the API server has said nothing; nil means that it never is silent
	Leads  func() time.Time             // until when nobody else leads; nil, or zero, means that there is nobody else
	Ledger *ledger.Book                 // of machines; nil when nobody keeps one
	Seen   func(resource string) uint64 // the newest version that Objects shows; nil means that nobody knows

	lastWrite map[cluster.GroupID]time.Time
	contests  contests          // with others about capacities
	wrote     map[string]uint64 // nodes, with the version that the last write to each has left, until Objects shows it
	left      map[turn]int      // what the last plan asked for and was not begun, by its place in the next one
	groups    []*cluster.Group  // as decided, and as read and written since, while a plan is performed
}

// Perform does what the plan says and returns one result for each action. decided is what the plan rests on. A result that is not good stops no other
// action: the next cycle plans again from what is then. Growths go first, then what was left the last time, then the rest, as the plan has them. Once
// the rest has taken [patience] no more of it is begun: growths for what comes meanwhile do not wait for all of it.
func (a *Actuator) Perform(ctx context.Context, decided *cluster.Snapshot, p action.Plan) []memory.Result {
	a.groups = slices.Clone(decided.Groups)
	for _, g := range a.groups {
		a.contests.meets(g, a.Now()) // what is undone before the next write to the group counts, too
	}
	results := make([]memory.Result, len(p.Actions))
	var began time.Time // of what is no growth
	for _, i := range a.turns(p) {
		act := p.Actions[i]
		if question, ok := act.(action.AskExpander); ok { // which changes nothing
			results[i] = a.ask(ctx, decided, question)
			continue
		}
		if a.DryRun {
			results[i] = a.result(guard.Check(nil, guard.Evidence{DryRun: true}, a.Policy))
			results[i].Status, results[i].Message = memory.Skipped, "dry run"
			continue
		}
		turn := turnOf(act)
		if turn.kind != "" && began.IsZero() {
			began = a.Now()
		}
		if a.waits(turn, began) {
			results[i] = memory.Result{Status: memory.Deferred, At: a.Now().UTC(), Message: "what came before it took " + a.Now().Sub(began).Round(time.Second).String()}
			continue
		}
		results[i] = a.perform(ctx, decided, p, act)
	}
	return results
}

func (a *Actuator) perform(ctx context.Context, decided *cluster.Snapshot, p action.Plan, act action.Action) memory.Result {
	ctx, cancel := context.WithTimeout(ctx, a.within())
	defer cancel()
	var err error
	switch act := act.(type) {
	case action.SetCapacity:
		err = a.grow(ctx, decided, p, act)
	case action.DeleteInstances:
		err = a.delete(ctx, decided, p, act)
	default:
		err = a.change(ctx, decided, p, act)
	}
	return a.result(err)
}

// grow reads the group past every cache, asks the guard, and sends one capacity change that carries the version just read.
func (a *Actuator) grow(ctx context.Context, decided *cluster.Snapshot, p action.Plan, act action.SetCapacity) error {
	g, evidence, err := a.evidence(ctx, decided, p, act.Group)
	if err != nil {
		return err
	}
	if err := guard.Check(guard.Grow{Group: act.Group, From: act.From, To: act.To}, evidence, a.Policy); err != nil {
		return err
	}
	defer a.sent(act.Group)
	err = a.Cloud.SetCapacity(ctx, g, act.To)
	if err != nil && cloud.KindOf(err) != cloud.Unanswered {
		return err
	}
	a.contests.wrote(g.ID, act.To)
	grown := *g // counts for the cluster's limits when the next group asks to grow
	if grown.Asked = act.To; err == nil {
		grown.Capacity, grown.Asked = act.To, 0
	}
	a.know(&grown)
	return err
}

// know keeps what was last learned of a group while a plan is performed.
func (a *Actuator) know(g *cluster.Group) {
	for i, old := range a.groups {
		if old.ID == g.ID {
			a.groups[i] = g
		}
	}
}

func (a *Actuator) delete(ctx context.Context, decided *cluster.Snapshot, p action.Plan, act action.DeleteInstances) error {
	g, evidence, err := a.evidence(ctx, decided, p, act.Group)
	if err != nil {
		return err
	}
	write := guard.Delete{Group: act.Group}
	machines := make([]cluster.Machine, len(act.Machines))
	for i, l := range act.Machines {
		write.Machines = append(write.Machines, guard.Target{Machine: l.Machine, Node: l.Node})
		machines[i] = l.Machine
	}
	if evidence.Looked, err = a.look(ctx, g, act.Machines); err != nil {
		return err
	}
	for _, t := range write.Machines {
		if err := a.lookAround(ctx, t.Node, &evidence); err != nil {
			return err
		}
	}
	evidence.Fleet = a.Ledger.View()
	if err := guard.Check(write, evidence, a.Policy); err != nil {
		return err
	}
	defer a.sent(act.Group)
	a.contests.removed(act.Group, len(machines))
	a.charge(act.Group, guard.Charged(write, evidence, a.Policy))
	return a.Cloud.DeleteInstances(ctx, givenUp(g, act.Machines), machines)
}

// change performs an action on a Kubernetes object. Its preconditions, not a lock, keep it from hitting another object.
func (a *Actuator) change(ctx context.Context, decided *cluster.Snapshot, p action.Plan, act action.Action) error {
	if c, is := act.(action.Cordon); is {
		if err := a.renew(ctx, c.Machine.Group); err != nil {
			return err
		}
	}
	newest, err := a.newest()
	if err != nil {
		return err
	}
	evidence := a.known(decided, newest, p)
	switch act := act.(type) {
	case action.Cordon:
		write := guard.Cordon{Node: act.Node, UID: act.UID, Machine: act.Machine, Why: act.Removal.Why}
		if err := a.lookAround(ctx, act.Node, &evidence); err != nil {
			return err
		}
		if err := guard.Check(write, evidence, a.Policy); err != nil {
			return err
		}
		nodes := a.writer(write, evidence)
		nodes.Stopped = evidence.Newest.Node(act.Node).Instance.Stopped()
		err := nodes.Cordon(ctx, act.Node, act.UID, act.Removal, act.Machine, act.Exclude)
		if !apierrors.IsTooManyRequests(err) && !errors.Is(err, kube.ErrHeld) && !errors.Is(err, kube.ErrGone) && !errors.Is(err, kube.ErrForbidden) { // else nothing was done
			a.emptying(write, evidence)
		}
		return err
	case action.Mark:
		write := guard.Mark{Node: act.Node, UID: act.UID, Machine: act.Machine, Parked: !act.Parked.IsZero()}
		if err := guard.Check(write, evidence, a.Policy); err != nil {
			return err
		}
		return a.writer(write, evidence).Mark(ctx, act.Node, act.UID, act.Machine, act.Parked)
	case action.Uncordon:
		write := guard.Uncordon{Node: act.Node, UID: act.UID}
		if err := guard.Check(write, evidence, a.Policy); err != nil {
			return err
		}
		return a.writer(write, evidence).Uncordon(ctx, act.Node, act.UID)
	case action.CandidateTaint:
		write := guard.CandidateTaint{Node: act.Node, UID: act.UID}
		if err := guard.Check(write, evidence, a.Policy); err != nil {
			return err
		}
		return a.writer(write, evidence).CandidateTaint(ctx, act.Node, act.UID, act.Since)
	case action.CandidateUntaint:
		write := guard.CandidateUntaint{Node: act.Node, UID: act.UID}
		if err := guard.Check(write, evidence, a.Policy); err != nil {
			return err
		}
		return a.writer(write, evidence).CandidateUntaint(ctx, act.Node, act.UID)
	case action.Evict:
		if act.Notice != "" {
			return a.expel(ctx, evidence, act)
		}
		write := guard.Evict{Namespace: act.Namespace, Pod: act.Pod, UID: act.UID, Node: act.Node}
		if err := guard.Check(write, evidence, a.Policy); err != nil {
			return err
		}
		a.emptying(write, evidence)
		return a.writer(write, evidence).Evict(ctx, act.Namespace, act.Pod, act.UID, act.Grace)
	case action.DeleteNode:
		return a.deleteNodeObject(ctx, evidence, act)
	}
	return a.tell(ctx, evidence, act)
}

// expel evicts a pod from a machine that the cloud has announced to stop.
func (a *Actuator) expel(ctx context.Context, evidence guard.Evidence, act action.Evict) error {
	write := guard.Expel{Namespace: act.Namespace, Pod: act.Pod, UID: act.UID, Node: act.Node}
	if err := guard.Check(write, evidence, a.Policy); err != nil {
		return err
	}
	a.emptying(write, evidence)
	return a.writer(write, evidence).Evict(ctx, act.Namespace, act.Pod, act.UID, act.Grace)
}

// answerNotice tells the agent of a node what becomes of the notice there, or takes that back.
func (a *Actuator) answerNotice(ctx context.Context, evidence guard.Evidence, act action.AnswerNotice) error {
	write := guard.AnswerNotice{Node: act.Node, UID: act.UID, Notice: act.Notice, Empty: act.Empty}
	if err := guard.Check(write, evidence, a.Policy); err != nil {
		return err
	}
	nodes := a.writer(write, evidence)
	if act.Notice == "" {
		return nodes.ForgetNotice(ctx, act.Node, act.UID)
	}
	return nodes.AnswerNotice(ctx, act.Node, act.UID, cluster.NoticeAnswer{ID: act.Notice, Empty: act.Empty}, act.Exclude)
}

// deleteNodeObject deletes the Node object of a machine that is gone.
func (a *Actuator) deleteNodeObject(ctx context.Context, evidence guard.Evidence, act action.DeleteNode) error {
	write := guard.DeleteNode{Node: act.Node, UID: act.UID, Machine: act.Machine, Attachments: act.Attachments}
	if err := guard.Check(write, evidence, a.Policy); err != nil {
		return err
	}
	machine := evidence.Newest.Node(act.Node).Object.Status.NodeInfo.SystemUUID
	return a.writer(write, evidence).DeleteNode(ctx, act.Node, act.UID, machine, act.Attachments)
}

// tell performs an action that moves nothing: it lets others go on, or tells them something.
func (a *Actuator) tell(ctx context.Context, evidence guard.Evidence, act action.Action) error {
	switch act := act.(type) {
	case action.AnswerNotice:
		return a.answerNotice(ctx, evidence, act)
	case action.OpenGate:
		write := guard.OpenGate{Namespace: act.Namespace, Pod: act.Pod, UID: act.UID, Node: act.Node}
		if err := guard.Check(write, evidence, a.Policy); err != nil {
			return err
		}
		return a.writer(write, evidence).OpenGate(ctx, act.Namespace, act.Pod, act.UID)
	case action.AnswerRequest:
		write := guard.Answer{Namespace: act.Namespace, Name: act.Request, UID: act.UID}
		if err := guard.Check(write, evidence, a.Policy); err != nil {
			return err
		}
		return a.writer(write, evidence).AnswerRequest(ctx, act.Namespace, act.Request, act.UID, act.Conditions, act.Details, a.Now())
	case action.AnswerBuffer:
		write := guard.Answer{Namespace: act.Namespace, Name: act.Buffer, UID: act.UID}
		if err := guard.Check(write, evidence, a.Policy); err != nil {
			return err
		}
		return a.writer(write, evidence).AnswerBuffer(ctx, act.Namespace, act.Buffer, act.UID, act.Conditions, act.Status, a.Now())
	}
	return errors.New("no way to perform " + action.KindOf(act))
}

// evidence reads one group now, and everything else as it is known now.
func (a *Actuator) evidence(ctx context.Context, decided *cluster.Snapshot, p action.Plan, id cluster.GroupID) (*cluster.Group, guard.Evidence, error) {
	g, err := a.Cloud.Group(ctx, id)
	if err != nil {
		return nil, guard.Evidence{}, err
	}
	g = a.Policy.Bound(g, a.Now())
	a.know(g)
	newest, err := a.newest()
	if err != nil {
		return nil, guard.Evidence{}, err
	}
	g = newest.Startable(g)
	evidence := a.known(decided, newest, p)
	evidence.Group, evidence.LastWrite, evidence.Opposed = g, a.lastWrite[id], a.contests.meets(g, a.Now())
	return g, evidence, nil
}

// newest is the cluster as it is known now.
func (a *Actuator) newest() (*cluster.Snapshot, error) {
	objects, err := a.Objects()
	if err != nil {
		return nil, err
	}
	return cluster.New(a.Now(), objects, a.groups), nil
}

// sent remembers a write to a group whether or not its answer was good: what was sent may have taken effect.
func (a *Actuator) sent(id cluster.GroupID) {
	if a.lastWrite == nil {
		a.lastWrite = map[cluster.GroupID]time.Time{}
	}
	a.lastWrite[id] = a.Now()
}

// result says what became of an action.
func (a *Actuator) result(err error) memory.Result {
	r := memory.Result{Status: memory.Accepted, At: a.Now().UTC()}
	if err == nil {
		return r
	}
	r.Message = err.Error()
	var refusal *guard.Refusal
	var fault *cloud.Error
	switch {
	case errors.As(err, &refusal):
		why := refusal.Reason
		r.Status, r.Property, r.Code, r.Reason, r.Message = memory.Refused, refusal.Property, string(why.Code), &why, why.String()
		if why.About.Kind == reason.KindGroup { // whose back-off has the message, and names it
			r.Message = why.Sentence()
		}
	case errors.As(err, &fault):
		r.Status, r.Kind, r.Code, r.Message, r.RetryAfter = memory.Failed, string(fault.Kind), fault.Code, fault.Message, fault.RetryAfter
		r.Quota, r.Property = fault.Quota, fault.Property
		if fault.Kind == cloud.Unanswered {
			r.Status, r.Kind = memory.Asked, ""
		}
	case errors.Is(err, kube.ErrBudget), errors.Is(err, kube.ErrGone), errors.Is(err, kube.ErrHeld), errors.Is(err, kube.ErrConflict):
		r.Status = memory.Skipped
	case errors.Is(err, context.DeadlineExceeded):
		r.Status, r.Kind, r.Message = memory.Failed, string(cloud.Transient), kube.Plain(err).Error()
	default:
		r.Status, r.Kind, r.Message = memory.Failed, "kubernetes", kube.Plain(err).Error()
	}
	if errors.Is(err, kube.ErrForbidden) {
		r.Code = Forbidden
	}
	return r
}
