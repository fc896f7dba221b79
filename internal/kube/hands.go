package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"sluice.dev/sluice/cluster"
)

// Operator write what a person asks of sluice at the command line, with that person's own rights. They change annotations and nothing else: what
// comes of them is decided by the sluice that leads.
type Operator struct {
	Client kubernetes.Interface
}

// Pause has a group, or [cluster.AllGroups], left alone until then; a time that is not after now takes an earlier pause back. It returns what is
// paused from now on.
func (h Operator) Pause(ctx context.Context, group cluster.GroupID, until, now time.Time) (cluster.Pauses, error) {
	namespaces := h.Client.CoreV1().Namespaces()
	for range tries {
		n, err := namespaces.Get(ctx, cluster.PauseNamespace, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("read what is paused: %w", err)
		}
		p, err := cluster.ReadPauses(n.Annotations[cluster.PauseAnnotation])
		if err != nil && until.After(now) {
			return nil, fmt.Errorf("annotation %s of namespace %s cannot be read (%w): resume all first", cluster.PauseAnnotation, n.Name, err)
		}
		if group == cluster.AllGroups && !until.After(now) {
			p = nil
		}
		p = p.With(group, until, now)
		_, err = namespaces.Patch(ctx, n.Name, types.MergePatchType, annotationPatch(n, cluster.PauseAnnotation, p.Annotation()), metav1.PatchOptions{})
		if err == nil {
			return p, nil
		}
		if !apierrors.IsConflict(err) {
			return nil, fmt.Errorf("write what is paused to namespace %s: %w", n.Name, err)
		}
	}
	return nil, errors.New("namespace " + cluster.PauseNamespace + " is being changed by others; try again")
}

// Acknowledge says that a person knows of the nodes that a group, or [cluster.AllGroups], has lost by now. It is always later than what the person, or another
// one whose clock is ahead, has said before: sluice heeds what is newer.
func (h Operator) Acknowledge(ctx context.Context, group cluster.GroupID, now time.Time) error {
	namespaces := h.Client.CoreV1().Namespaces()
	for range tries {
		n, err := namespaces.Get(ctx, cluster.PauseNamespace, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("read what is acknowledged: %w", err)
		}
		a := cluster.ReadAcknowledged(n.Annotations[cluster.AcknowledgeAnnotation])
		at := now.UTC().Truncate(time.Second)
		if before := a.Latest(group); !at.After(before) {
			at = before.Add(time.Second)
		}
		a = a.With(group, at)
		_, err = namespaces.Patch(ctx, n.Name, types.MergePatchType, annotationPatch(n, cluster.AcknowledgeAnnotation, a.Annotation()), metav1.PatchOptions{})
		if err == nil {
			return nil
		}
		if !apierrors.IsConflict(err) {
			return fmt.Errorf("write what is acknowledged to namespace %s: %w", n.Name, err)
		}
	}
	return errors.New("namespace " + cluster.PauseNamespace + " is being changed by others; try again")
}

// statusFresh is how old the status may be that a command goes by: a running sluice writes it once a minute.
const statusFresh = 5 * time.Minute

// Managed is what the running sluice manages, by its status ConfigMap of the usual name.
type Managed struct {
	Groups  []cluster.GroupID
	Whole   []cluster.GroupID // groups that have lost nothing: each of their machines is a Ready node
	Outside []string          // nodes that are in no group; nil when that is not told
}

// Managed reads what the running sluice said last. The error says why that cannot be told: the ConfigMap is not there, not for that person's eyes, too old,
// or not a running sluice's.
func (h Operator) Managed(ctx context.Context, now time.Time) (Managed, error) {
	m, err := h.Client.CoreV1().ConfigMaps(cluster.PauseNamespace).Get(ctx, cluster.StatusName, metav1.GetOptions{})
	where := "ConfigMap " + cluster.PauseNamespace + "/" + cluster.StatusName
	if err != nil {
		return Managed{}, fmt.Errorf("read %s: %w", where, err)
	}
	var said struct {
		Time   string `json:"time"`
		Groups []struct {
			Name   cluster.GroupID `json:"name"`
			Health struct {
				Counts *struct {
					Registered struct {
						Total int `json:"total"`
						Ready int `json:"ready"`
					} `json:"registered"`
					Unregistered     int `json:"unregistered"`
					LongUnregistered int `json:"longUnregistered"`
				} `json:"nodeCounts"`
				Target int `json:"cloudProviderTarget"`
			} `json:"health"`
		} `json:"nodeGroups"`
	}
	if err := yaml.Unmarshal([]byte(m.Data["status"]), &said); err != nil {
		return Managed{}, fmt.Errorf("%s cannot be read: %w", where, err)
	}
	at, err := time.Parse("2006-01-02 15:04:05 -0700 MST", said.Time)
	if err != nil {
		return Managed{}, fmt.Errorf("%s does not say when it was written", where)
	}
	if age := now.Sub(at); age > statusFresh {
		return Managed{}, fmt.Errorf("%s was written %s ago (limit %s): no sluice keeps it now", where, age.Truncate(time.Second), statusFresh)
	}
	var all Managed
	for _, g := range said.Groups {
		all.Groups = append(all.Groups, g.Name)
		if c := g.Health.Counts; c != nil && c.Unregistered+c.LongUnregistered == 0 && c.Registered.Ready == c.Registered.Total && c.Registered.Ready >= g.Health.Target {
			all.Whole = append(all.Whole, g.Name)
		}
	}
	if err := json.Unmarshal([]byte(m.Data[cluster.OutsideKey]), &all.Outside); err != nil {
		all.Outside = nil // it is not told
	}
	return all, nil
}

// Hold keeps a node until then; a zero time takes an earlier hold back. It returns the node as it is from now on.
func (h Operator) Hold(ctx context.Context, node string, until time.Time) (*corev1.Node, error) {
	return h.annotate(ctx, node, cluster.HoldAnnotation, until)
}

// Drain asks for a node to be emptied and removed, at that time; a zero time takes it back. It returns the node as it is from now on.
func (h Operator) Drain(ctx context.Context, node string, at time.Time) (*corev1.Node, error) {
	return h.annotate(ctx, node, cluster.DrainAnnotation, at)
}

// annotate writes a time on a node, or takes the annotation off for a zero one.
func (h Operator) annotate(ctx context.Context, node, key string, t time.Time) (*corev1.Node, error) {
	nodes := h.Client.CoreV1().Nodes()
	said := ""
	if !t.IsZero() {
		said = t.UTC().Format(time.RFC3339)
	}
	for range tries {
		n, err := nodes.Get(ctx, node, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("there is no node %s", node)
		}
		if err != nil {
			return nil, fmt.Errorf("read node %s: %w", node, err)
		}
		now, err := nodes.Patch(ctx, node, types.MergePatchType, annotationPatch(n, key, said), metav1.PatchOptions{})
		if err == nil {
			return now, nil
		}
		if !apierrors.IsConflict(err) {
			return nil, fmt.Errorf("annotate node %s: %w", node, err)
		}
	}
	return nil, fmt.Errorf("node %s is being changed by others; try again", node)
}

// annotationPatch is a merge patch that sets an annotation, or takes it off for "", as long as the object is the version that was read.
func annotationPatch(of metav1.Object, key, value string) []byte {
	var said any
	if value != "" {
		said = value
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": of.GetUID(), "resourceVersion": of.GetResourceVersion(), "annotations": map[string]any{key: said},
	}})
	if err != nil {
		panic("kube: an annotation cannot be encoded: " + err.Error()) // strings
	}
	return patch
}
