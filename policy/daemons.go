package policy

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/setting"
)

// Belongs says whether the pod belongs to its node and to nothing else: it goes with the machine, keeps no node, and nobody waits for
// it. So do static pods, and pods of daemons that do no work. It answers for the node that a pod is on; [cluster.Class.Daemon] says what
// comes with every new one.
//
// A daemon's pod works that has not ended and is marked as a Job's pod may be, by safe-to-evict=false or do-not-disrupt, or that the
// operator has chosen; [Policy.Keeps] says why, and whether it may be evicted all the same. One that may be, and was made after its node
// was cordoned, is in the place of one that was evicted: it belongs to the node. So does a pod that would return to a node that is on
// its way out, see [Policy.GoesWith], and an expendable one that is not marked so.
func (p *Policy) Belongs(pod *cluster.Pod, at Where, now time.Time) bool {
	switch {
	case !pod.Daemon():
		return p.Expendable(pod) && !marked(pod, now) || p.GoesWith(pod, at, now)
	case pod.Mirror() || pod.Finished():
		return true
	case marked(pod, now):
		return false
	case pod.Annotations[safeToEvict] == "true":
		return true
	}
	return p.choosing(pod, at) == "" || !at.Cordoned.IsZero() && pod.Created().After(at.Cordoned) && p.released(pod, at, now)
}

// marked says whether the pod itself forbids its eviction.
func marked(pod *cluster.Pod, now time.Time) bool {
	if v, ok := pod.Annotations[doNotDisrupt]; ok && disruptionForbidden(v, pod, now) {
		return true
	}
	return unsafe(pod.Annotations[safeToEvict])
}

// daemonWork is the flag and the tag by which operators choose daemons that work.
var daemonWork = setting.Find("daemon-work")

// choosing is the flag or the tag by which the operator says that a daemon's pod works, "" when none does.
func (p *Policy) choosing(pod *cluster.Pod, at Where) string {
	for _, s := range p.Removal.Work.Daemons {
		if s.Chooses(pod.Class) {
			return "--" + daemonWork.Flag + "=" + s.String()
		}
	}
	for _, s := range at.DaemonWork {
		switch {
		case s.Equal(cluster.EveryPod):
			return daemonWork.Tag + ", a tag of group " + string(at.Group) + " that cannot be read,"
		case s.Chooses(pod.Class):
			return daemonWork.Tag + "=" + s.String() + ", a tag of group " + string(at.Group)
		}
	}
	return ""
}

// Lasts says whether nothing is won by waiting for a pod that works to end: a daemon's is made again when it ends, and only a patience
// that runs out lets its node go.
func (p *Policy) Lasts(pod *cluster.Pod, at Where, now time.Time) bool {
	return pod.Daemon() && (marked(pod, now) || p.Patience(pod, at.Group) < 0)
}

// MarkEnds says whether time alone takes away the mark by which a pod forbids its eviction.
func MarkEnds(pod *cluster.Pod) bool {
	v, ok := pod.Annotations[doNotDisrupt]
	_, err := time.ParseDuration(v)
	return ok && err == nil
}
