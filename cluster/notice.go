package cluster

import (
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// NoticeTaint is the key of the taint on a node to whose machine the cloud has announced something. Its value is the [Notice]'s kind.
// NoticeAnnotation stands beside it with the notice itself, as JSON. Both are the agent's. AnswerAnnotation is what sluice says to that, a
// [NoticeAnswer] as JSON.
const (
	NoticeTaint      = "sluice.dev/notice"
	NoticeAnnotation = "sluice.dev/notice"
	AnswerAnnotation = "sluice.dev/notice-answer"
)

// Notice is what a cloud announces to a machine, as the agent on it writes it on its node.
type Notice struct {
	ID   string `json:"id"`   // the cloud's own
	Kind string `json:"kind"` // Freeze, Reboot, Redeploy, Preempt or Terminate

	// Deadline is when the machine may be affected, UTC: not earlier, unless somebody agrees. Zero once it has begun.
	Deadline time.Time `json:"deadline,omitzero"`
}

// NoticeAnswer is what sluice makes of a notice that stands on a node, as it writes it there for the agent.
type NoticeAnswer struct {
	ID    string `json:"id"`              // of the notice
	Empty bool   `json:"empty,omitempty"` // nothing is on the node any more that the cloud had to wait for
}

// Ends says whether the machine is lost with all that it has, and not there again after the notice.
func (n Notice) Ends() bool { return n.Kind == "Preempt" || n.Kind == "Terminate" }

// Stops says whether what runs on the machine stops. A kind that nobody knows, as one that cannot be read, says nothing.
func (n Notice) Stops() bool { return n.Ends() || n.Kind == "Reboot" || n.Kind == "Redeploy" }

// Noticed says whether a notice stands on the node.
func Noticed(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == NoticeTaint })
}

// CameTrue says whether what was announced to the node's machine has come: it is switched off. What the agent on it has put on the node has
// outlived the agent.
func (n *Node) CameTrue() bool {
	return Noticed(n.Object) && n.Instance != nil && n.Instance.Stopped()
}

// NoticeOf reads the notice on a node; false when there is none. What cannot be read counts as a notice that says nothing, so that it is
// neither trusted nor lost.
func NoticeOf(n *corev1.Node) (Notice, bool) {
	if !Noticed(n) {
		return Notice{}, false
	}
	var said Notice
	if json.Unmarshal([]byte(n.Annotations[NoticeAnnotation]), &said) != nil {
		return Notice{}, true
	}
	return said, true
}

// Taint is the notice's taint.
func (n Notice) Taint() corev1.Taint {
	return corev1.Taint{Key: NoticeTaint, Value: n.Kind, Effect: corev1.TaintEffectNoSchedule}
}

// Annotation is the value of [NoticeAnnotation].
func (n Notice) Annotation() string { return encoded(n) }

// AnswerOf reads sluice's answer on a node; false when there is none. What cannot be read counts as an answer to no notice.
func AnswerOf(n *corev1.Node) (NoticeAnswer, bool) {
	raw, stands := n.Annotations[AnswerAnnotation]
	var said NoticeAnswer
	if json.Unmarshal([]byte(raw), &said) != nil {
		return NoticeAnswer{}, stands
	}
	return said, true
}

// Annotation is the value of [AnswerAnnotation].
func (a NoticeAnswer) Annotation() string { return encoded(a) }

func encoded(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("cluster: a notice cannot be encoded: " + err.Error()) // strings, a time and a bool
	}
	return string(raw)
}
