package report

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/memory"
)

// StatusNamespace is where cluster-autoscaler keeps its status, and sluice by default.
const StatusNamespace = "kube-system"

const (
	statusKey         = "status"
	updatedAnnotation = "cluster-autoscaler.kubernetes.io/last-updated"
	updatedLayout     = "2006-01-02 15:04:05.999999999 -0700 MST"

	initializing = "Initializing" // the cluster-autoscaler's word for a process that has not decided yet

	// statusInterval is how long the ConfigMap may show old times while nothing else changes, unless somebody says otherwise.
	statusInterval = time.Minute
)

// Status keeps the status ConfigMap in the form that tools for cluster-autoscaler read. It writes when something changes, and
// else now and then to show that it lives. Times at which a condition changed survive a restart: they are read back. It writes nothing for
// a dry run. It is not for concurrent use; its fields are set before its first use and not changed after.
type Status struct {
	Client    kubernetes.Interface
	Namespace string           // "" for [StatusNamespace]
	Name      string           // "" for [cluster.StatusName]
	Every     time.Duration    // for so long at most it shows old times, as tools may wait for new ones (--scan-interval); 0 for a minute
	Now       func() time.Time // nil for time.Now; asked only when there is no entry that has a time

	// Operations is what a process that comes after this one must know of the cloud's operations in flight, nil for nothing. It is kept
	// under a key of its own, and written as soon as it changes. A nil func keeps nothing.
	Operations func() []byte

	// Merge is told what another process has put under that key since this one read or wrote it last, nil for nothing: both believe that they lead. What Operations
	// says afterwards counts that in. Its error keeps [Status.Ahead] from writing, and nothing else. A nil func is told nothing.
	Merge func([]byte) error

	last     document                 // what the ConfigMap says, as far as known
	kept     own                      // what else of sluice's it has
	lessons  cluster.Lessons          // what of that groups' nodes have taught, nil before it was asked for
	wrote    cluster.Lessons          // what kept has of them
	nodes    map[cluster.GroupID]bool // groups that have some now
	unkept   []cluster.GroupID        // in lessons and not in kept, for want of room
	breakers memory.Breakers          // what the next process is to know of failures and windows
	outside  string                   // nodes of no group, as [cluster.OutsideKey] has them
	found    bool                     // the ConfigMap was there when it was first read
	known    bool                     // last was read or written
	written  time.Time                // when last was written, by entry or Now; zero when it was only read
}

// Report writes the status after a complete cycle, if it is due. After an error the next cycle writes in any case.
func (s *Status) Report(ctx context.Context, entry journal.Entry) error {
	if entry.DryRun {
		return nil
	}
	if err := s.recall(ctx); err != nil {
		return err
	}
	s.lessons, s.nodes = s.lessons.Keep(entry.Seen.Groups), populated(entry.Seen.Nodes)
	s.breakers, s.outside = entry.After.Breakers(entry.Seen.Time, entry.Policy), outside(entry.Seen)
	return s.write(ctx, documentOf(entry), entry.Seen.Time)
}

// Problem writes that a cycle could not be observed, in one sentence for an operator: the cluster as a whole counts as Unhealthy, and
// what was last known of groups and nodes stays, with its old probe times.
func (s *Status) Problem(ctx context.Context, message string) error {
	at := s.now().UTC()
	if err := s.recall(ctx); err != nil {
		return err
	}
	doc := s.last.clone()
	if doc.AutoscalerStatus == "" {
		doc.AutoscalerStatus = initializing
	}
	probed := at.Truncate(time.Second)
	doc.Message = message
	doc.ClusterWide.Health.Status = health(false)
	doc.ClusterWide.Health.LastProbeTime = &probed
	return s.write(ctx, doc, at)
}

func (s *Status) write(ctx context.Context, doc document, at time.Time) error {
	if err := s.recall(ctx); err != nil {
		return err
	}
	doc.continueFrom(s.last)
	keep, err := s.keep()
	if err != nil {
		return err
	}
	if len(s.unkept) > 0 {
		doc.say(fmt.Sprintf("What nodes have taught of %d groups has no room here: a process that takes over learns it from their next nodes.", len(s.unkept)))
	}
	if !s.written.IsZero() && at.Sub(s.written) < s.every() && keep == s.kept && reflect.DeepEqual(doc.lasting(), s.last.lasting()) {
		return nil
	}
	doc.Time = at.UTC().Format(updatedLayout)
	if err := s.send(ctx, doc, keep, false); err != nil {
		return err
	}
	s.written = at
	return nil
}

// send puts both into the ConfigMap, unless it is done ahead and another process has put something there to heed. After an error the next cycle writes in any case.
func (s *Status) send(ctx context.Context, doc document, keep own, ahead bool) error {
	text, err := yaml.Marshal(doc)
	if err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		m, err := s.Client.CoreV1().ConfigMaps(s.namespace()).Get(ctx, s.name(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			m, err = nil, nil
		}
		if err != nil {
			return err
		}
		if m != nil && s.Merge != nil && m.Data[cluster.OperationsKey] != s.kept.operations {
			s.kept.operations = m.Data[cluster.OperationsKey]
			if err := s.Merge([]byte(s.kept.operations)); err != nil && ahead {
				return err
			}
			keep.operations = string(s.Operations())
		}
		return s.put(ctx, m, string(text), doc.Time, keep)
	})
	if err != nil {
		s.written = time.Time{}
		return fmt.Errorf("update ConfigMap %s/%s: %w", s.namespace(), s.name(), err)
	}
	s.last, s.kept = doc, keep
	return nil
}

// Ahead keeps what [Status.Operations] says now, before it is done; the rest stays as it is. Nothing is kept when [Status.Merge] has an error, which is returned.
func (s *Status) Ahead(ctx context.Context) error {
	if err := s.recall(ctx); err != nil {
		return err
	}
	keep := s.kept
	if keep.operations = string(s.Operations()); keep == s.kept {
		return nil
	}
	doc := s.last.clone()
	if doc.AutoscalerStatus == "" {
		doc.AutoscalerStatus = initializing
	}
	if doc.Time == "" {
		doc.Time = s.now().UTC().Format(updatedLayout)
	}
	return s.send(ctx, doc, keep, true)
}

// SavedOperations is what an earlier process left under the key of operations, nil for nothing.
func (s *Status) SavedOperations(ctx context.Context) ([]byte, error) {
	if err := s.recall(ctx); err != nil || s.kept.operations == "" {
		return nil, err
	}
	return []byte(s.kept.operations), nil
}

// recall reads once what an earlier process left. What cannot be parsed is as good as nothing: transition times start anew.
func (s *Status) recall(ctx context.Context) error {
	if s.known {
		return nil
	}
	m, err := s.Client.CoreV1().ConfigMaps(s.namespace()).Get(ctx, s.name(), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("read ConfigMap %s/%s: %w", s.namespace(), s.name(), err)
	}
	var doc document
	if err == nil && yaml.Unmarshal([]byte(m.Data[statusKey]), &doc) == nil {
		s.last = doc
	}
	if err == nil {
		s.kept = own{m.Data[cluster.OperationsKey], m.Data[cluster.LessonsKey], m.Data[cluster.BreakersKey], m.Data[cluster.OutsideKey]}
		s.lessons, _ = parseLessons(s.kept.lessons)
		s.breakers, _ = parseBreakers(s.kept.breakers)
	}
	s.known, s.found = true, err == nil
	return nil
}

// put leaves everything else in the ConfigMap as m has it, nil for one that is not there.
func (s *Status) put(ctx context.Context, m *corev1.ConfigMap, text, updated string, keep own) error {
	objects := s.Client.CoreV1().ConfigMaps(s.namespace())
	if m == nil {
		_, err := objects.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace(), Name: s.name(), Annotations: map[string]string{updatedAnnotation: updated}},
			Data:       s.data(nil, text, keep),
		}, metav1.CreateOptions{})
		return err
	}
	m = m.DeepCopy()
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	m.Annotations[updatedAnnotation], m.Data = updated, s.data(m.Data, text, keep)
	_, err := objects.Update(ctx, m, metav1.UpdateOptions{})
	return err
}

// data is a ConfigMap's data with the status and what sluice keeps in it.
func (s *Status) data(data map[string]string, text string, keep own) map[string]string {
	if data == nil {
		data = map[string]string{}
	}
	data[statusKey], data[cluster.OperationsKey], data[cluster.LessonsKey], data[cluster.BreakersKey], data[cluster.OutsideKey] = text, keep.operations, keep.lessons, keep.breakers, keep.outside
	maps.DeleteFunc(data, func(key, value string) bool {
		return value == "" && (key == cluster.OperationsKey || key == cluster.LessonsKey || key == cluster.BreakersKey || key == cluster.OutsideKey)
	})
	return data
}

func (s *Status) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

func (s *Status) every() time.Duration {
	if s.Every == 0 {
		return statusInterval
	}
	return s.Every
}

func (s *Status) namespace() string { return or(s.Namespace, StatusNamespace) }
func (s *Status) name() string      { return or(s.Name, cluster.StatusName) }

func or(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}
