package report

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/journal"
)

const (
	// eventComponent is who sluice's events say they come from, unless somebody asks for another name.
	eventComponent = "sluice"

	// eventSilence is how long an event that says the same of the same object is not repeated.
	eventSilence = 5 * time.Minute

	eventsPerCycle  = 100  // requests; what happened once and does not fit waits for the next cycle
	eventsWaiting   = 1000 // of these
	eventPatience   = 3    // errors in one cycle before the rest is left for the next
	eventMessageCap = 1024 // bytes, as the newer events API allows
)

// Events writes core/v1 Events with cluster-autoscaler's reasons, at most 100 in a cycle, and none for a dry run. An object
// hears the same again only after five minutes, by the entries' clock. It is not for concurrent use; its fields are set before
// its first use and not changed after.
type Events struct {
	Client    kubernetes.Interface
	Instance  string // of the reporting process, such as its pod's name
	Namespace string // of the status ConfigMap; "" for [StatusNamespace]
	Name      string // of the status ConfigMap; "" for [cluster.StatusName]
	Component string // whom events name as their source; "" for sluice
	Repeat    bool   // an object hears the same again in the next cycle already, as long as it is true (--record-duplicated-events)

	ranking ranking
	said    map[string]time.Time     // when an event was last sent, by its sameness
	groups  map[cluster.GroupID]bool // of the cycle before
	waiting []event                  // happened once and not sent yet, oldest first
}

// event is something to say about an object.
type event struct {
	object  corev1.ObjectReference
	kind    string // corev1.EventTypeNormal or EventTypeWarning
	reason  string
	message string
	at      time.Time
	same    string // two events about the same object, of the same reason and with the same value here, say the same
	lasting bool   // it is said once, however long it stays true
}

// key is the event's sameness.
func (e event) key() string {
	o := e.object
	return fmt.Sprintf("%s %s/%s %s %s %s", o.Kind, o.Namespace, o.Name, o.UID, e.reason, e.same)
}

// Report sends what the entry has to say that was not said before: first what was done, then why pods wait. The errors of the
// client are joined; an event that met one is said again by the next cycle only if it is still true then.
func (e *Events) Report(ctx context.Context, entry journal.Entry) error {
	if entry.DryRun {
		return nil
	}
	now := entry.Seen.Time
	e.forget(now)
	var errs []error
	for _, ev := range eventsOfDeeds(entry, e.statusObject()) {
		if !e.isNew(ev) {
			continue
		}
		if len(e.waiting) == eventsWaiting {
			errs = append(errs, fmt.Errorf("drop events: %d are waiting to be sent", eventsWaiting))
			break
		}
		e.said[ev.key()] = now
		e.waiting = append(e.waiting, ev)
	}
	budget, failures := eventsPerCycle, 0
	send := func(ev event) bool {
		if budget == 0 || failures == eventPatience || ctx.Err() != nil {
			return false
		}
		budget--
		if err := e.create(ctx, ev); err != nil {
			failures++
			errs = append(errs, fmt.Errorf("create event %s for %s %s: %w", ev.reason, ev.object.Kind, ev.object.Name, err))
			delete(e.said, ev.key())
			return true
		}
		e.said[ev.key()] = now
		return true
	}
	for len(e.waiting) > 0 && send(e.waiting[0]) {
		e.waiting = e.waiting[1:]
	}
	others := eventsOfOthers(entry, e.statusObject(), e.groups)
	e.groups = groupsOf(entry)
	for _, ev := range slices.Concat(others, eventsOfCluster(entry, e.statusObject()), e.ranking.events(entry), eventsOfBuffers(entry), eventsOfPods(entry)) {
		switch {
		case !e.isNew(ev):
			if ev.lasting {
				e.said[ev.key()] = now
			}
		case !send(ev):
			return errors.Join(errs...)
		}
	}
	return errors.Join(errs...)
}

// groupsOf are the groups that the cycle knew.
func groupsOf(entry journal.Entry) map[cluster.GroupID]bool {
	known := make(map[cluster.GroupID]bool, len(entry.Seen.Groups))
	for _, g := range entry.Seen.Groups {
		known[g.ID] = g.Deleted.IsZero() // of a deleted one that is said already
	}
	return known
}

func (e *Events) isNew(ev event) bool {
	_, said := e.said[ev.key()]
	return !said
}

// forget drops what was said so long ago that it may be said again.
func (e *Events) forget(now time.Time) {
	if e.said == nil {
		e.said = map[string]time.Time{}
	}
	for key, last := range e.said {
		if now.Sub(last) >= e.silence() {
			delete(e.said, key)
		}
	}
}

// create sends one event. An event that is there already, and one in a namespace that is being deleted, count as sent.
func (e *Events) create(ctx context.Context, ev event) error {
	if ev.object.Kind == "ConfigMap" && ev.object.UID == "" {
		m, err := e.Client.CoreV1().ConfigMaps(ev.object.Namespace).Get(ctx, ev.object.Name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		if err == nil {
			ev.object.UID = m.UID
		}
	}
	namespace := or(ev.object.Namespace, metav1.NamespaceDefault) // where Kubernetes keeps events of nodes
	at := metav1.NewTime(ev.at.UTC().Truncate(time.Second))
	_, err := e.Client.CoreV1().Events(namespace).Create(ctx, &corev1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: namespace, Name: ev.name()},
		InvolvedObject:      ev.object,
		Type:                ev.kind,
		Reason:              ev.reason,
		Message:             cut(ev.message, eventMessageCap),
		Source:              corev1.EventSource{Component: or(e.Component, eventComponent)},
		ReportingController: or(e.Component, eventComponent),
		ReportingInstance:   e.Instance,
		FirstTimestamp:      at,
		LastTimestamp:       at,
		Count:               1,
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return err
}

// name is the event's own: the object's, and a number that differs whenever the event says something else or at another time.
func (e event) name() string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", e.key(), e.at.UnixNano())
	return fmt.Sprintf("%s.%016x", cut(e.object.Name, 253-17), h.Sum64())
}

func (e *Events) statusObject() corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: "v1", Kind: "ConfigMap", Namespace: or(e.Namespace, StatusNamespace), Name: or(e.Name, cluster.StatusName),
	}
}
