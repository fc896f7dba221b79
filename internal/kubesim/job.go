package kubesim

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// tally is what became of a Job's pods, those that are gone among them. (The
// real controller holds pods by a finalizer until it has counted them.)
type tally struct {
	counted           map[types.UID]bool // finished, and still there
	succeeded, failed int32
}

func (ws *workloads) tallyOf(job types.UID) *tally {
	t := ws.tallies[job]
	if t == nil {
		t = &tally{counted: map[types.UID]bool{}}
		ws.tallies[job] = t
	}
	return t
}

func (t *tally) count(pod *corev1.Pod) {
	if t.counted[pod.UID] {
		return
	}
	t.counted[pod.UID] = true
	if pod.Status.Phase == corev1.PodSucceeded {
		t.succeeded++
	} else {
		t.failed++
	}
}

// tallyLoss counts a Job's pod that is gone: as failed unless it had succeeded.
func (ws *workloads) tallyLoss(pod *corev1.Pod) {
	ref := metav1.GetControllerOf(pod)
	if ref == nil || ref.Kind != "Job" || ws.store.owners.byUID[ref.UID] == nil {
		return
	}
	t := ws.tallyOf(ref.UID)
	t.count(pod)
	delete(t.counted, pod.UID)
}

// reconcileJob runs pods until enough have succeeded or too many have failed.
func (ws *workloads) reconcileJob(e *entry) {
	job := e.obj.(*batchv1.Job)
	if job.DeletionTimestamp != nil || jobOver(job) {
		return
	}
	t := ws.tallyOf(job.UID)
	active := []*entry{}
	for _, p := range ws.store.owners.owned(job.UID, "pods") {
		if pod := p.obj.(*corev1.Pod); finished(pod) {
			t.count(pod)
		} else {
			active = append(active, p)
		}
	}
	suspended := *job.Spec.Suspend
	want := int(*job.Spec.Parallelism)
	if n := job.Spec.Completions; n != nil {
		want = min(want, int(*n-t.succeeded))
	} else if t.succeeded > 0 {
		want = len(active) // a work queue: once one is done, no more are started
	}
	over := jobVerdict(job, t, len(active))
	if suspended || over == batchv1.JobFailed {
		want = 0
	}
	switch {
	case over == "":
		for range want - len(active) {
			pod := podFrom(&job.Spec.Template, e)
			ws.createPod(pod, e)
		}
		fallthrough
	case over == batchv1.JobFailed:
		if surplus := len(active) - want; surplus > 0 {
			ws.deletePods(active[len(active)-surplus:])
		}
	}
	now := ws.store.stamp()
	running, readyPods := int32(0), int32(0)
	for _, p := range ws.activePods(e) {
		running++
		if ready(p.obj.(*corev1.Pod)) {
			readyPods++
		}
	}
	next := revised(ws.store, e, func(j *batchv1.Job) {
		s := &j.Status
		s.Active, s.Ready, s.Succeeded, s.Failed = running, &readyPods, t.succeeded, t.failed
		if s.StartTime == nil && !suspended {
			s.StartTime = &now
		}
		if over != "" {
			s.Conditions = append(s.Conditions, batchv1.JobCondition{Type: over, Status: corev1.ConditionTrue, LastProbeTime: now, LastTransitionTime: now})
		}
		if over == batchv1.JobComplete {
			s.CompletionTime = &now
		}
	})
	if ttl := job.Spec.TTLSecondsAfterFinished; over != "" && ttl != nil {
		ws.timers.remind(ws.store.now().Add(time.Duration(*ttl)*time.Second), jobExpires, next.key, job.UID)
	}
}

func jobOver(job *batchv1.Job) bool {
	for _, cond := range job.Status.Conditions {
		if cond.Type == batchv1.JobComplete || cond.Type == batchv1.JobFailed {
			return true
		}
	}
	return false
}

// jobVerdict returns how a Job ended, "" while it has not.
func jobVerdict(job *batchv1.Job, t *tally, active int) batchv1.JobConditionType {
	switch n := job.Spec.Completions; {
	case t.failed > *job.Spec.BackoffLimit:
		return batchv1.JobFailed
	case n != nil && t.succeeded >= *n && active == 0:
		return batchv1.JobComplete
	case n == nil && t.succeeded > 0 && active == 0:
		return batchv1.JobComplete
	default:
		return ""
	}
}
