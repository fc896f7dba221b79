package observer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/kubesim"
)

// change is a write to Kubernetes, the object before and after it, and the machines that there were.
type change struct {
	kubesim.Request
	o     *Observer
	lived []azuresim.MachineState

	node, nodeAfter *corev1.Node // nil for anything but a node
	pod, podAfter   *corev1.Pod  // nil for anything but a pod
}

// follow judges what was asked of Kubernetes since it was last called, while these machines lived.
func (o *Observer) follow(lived []azuresim.MachineState) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.followLocked(lived)
}

func (o *Observer) followLocked(lived []azuresim.MachineState) {
	o.joins(lived)
	log := o.kube.Log()
	for _, r := range log[o.read:] {
		c := &change{Request: r, o: o, lived: lived}
		c.node, _ = r.Before.(*corev1.Node)
		c.nodeAfter, _ = r.After.(*corev1.Node)
		c.pod, _ = r.Before.(*corev1.Pod)
		c.podAfter, _ = r.After.(*corev1.Pod)
		what := strings.TrimRight(strings.Join([]string{r.Verb, r.Resource, r.Subresource}, " "), " ")
		o.judged[what]++
		if r.Resource == "nodes" || r.Resource == "pods" {
			o.wrote.at, o.wrote.what = r.Time, what+" "+r.Name
			o.wrote.granted = r.Time
			if r.Subresource != "eviction" || r.Code != 429 { // what a budget refuses is to be asked again
				o.repeated(what+" "+r.Namespace+"/"+r.Name, r.Code)
			}
		}
		for _, law := range kubeLaws {
			if what := law.broken(c); what != "" {
				o.breaks(law.property, "%s", what)
			}
		}
	}
	o.read = len(log)
}

// kubeLaw is a property that each write to Kubernetes keeps. broken is the sentence that says how it does not, "" when it does.
type kubeLaw struct {
	property string
	broken   func(*change) string
}

func (c *change) accepted() bool { return c.Code < 300 && c.Code > 0 }

// agent says whether an agent made the request, and of which node.
func (c *change) agent() (node string, is bool) {
	name, node, _ := strings.Cut(c.Agent, "/")
	return node, c.o.rules.Agent != "" && name == c.o.rules.Agent
}

// cordons says whether the write put sluice's taint on a node.
func (c *change) cordons() bool {
	return c.node != nil && c.nodeAfter != nil && !removing(c.node) && removing(c.nodeAfter)
}

var kubeLaws = []kubeLaw{
	{"S-04", func(c *change) string {
		if c.node == nil || c.nodeAfter == nil || c.Verb == "delete" {
			return ""
		}
		was, is := c.node.DeepCopy(), c.nodeAfter.DeepCopy()
		if c.o.leftBefore(was) && !tainted(is, incumbentTaint) {
			was.Spec.Taints = slices.DeleteFunc(was.Spec.Taints, func(t corev1.Taint) bool { return t.Key == incumbentTaint })
		}
		for _, n := range []*corev1.Node{was, is} {
			n.ObjectMeta.ResourceVersion, n.ObjectMeta.ManagedFields, n.ObjectMeta.Generation = "", nil, 0
			n.Spec.Unschedulable = false
			n.Spec.Taints = others(n.Spec.Taints)
			maps.DeleteFunc(n.Annotations, func(key, _ string) bool { return strings.HasPrefix(key, ownPrefix) })
			maps.DeleteFunc(n.Labels, func(key, _ string) bool { return key == corev1.LabelNodeExcludeBalancers })
		}
		if !equality.Semantic.DeepEqual(was.Spec, is.Spec) || !equality.Semantic.DeepEqual(was.Status, is.Status) ||
			!maps.Equal(was.Labels, is.Labels) || !maps.Equal(was.Annotations, is.Annotations) {
			return fmt.Sprintf("fields of node %s that are not sluice's were written", c.Name)
		}
		return ""
	}},
	{"S-14", func(c *change) string {
		if c.node == nil || c.Verb != "delete" || !c.accepted() {
			return ""
		}
		if c.node.DeletionTimestamp != nil {
			return fmt.Sprintf("node %s was deleted again, which finalizers hold", c.Name)
		}
		for _, m := range c.lived {
			if m.VMID == c.node.Status.NodeInfo.SystemUUID && m.ProvisioningState != "Deleting" {
				return fmt.Sprintf("node %s was deleted and its machine %s lives", c.Name, m.Name)
			}
		}
		return ""
	}},
	{"S-15", func(c *change) string {
		if c.pod == nil || c.Subresource != "eviction" || !c.accepted() {
			return ""
		}
		why := c.o.stays(c.pod)
		patient := why == "of a Job" || why == "of a daemon that works"
		if why == "" || !c.o.rules.Defaults && !patient || patient && c.o.rules.Jobs != nil && c.o.rules.Jobs() || c.lastCall() {
			return ""
		}
		return fmt.Sprintf("pod %s %s was evicted", nameOf(c.pod), why)
	}},
	{"S-15", (*change).storms},
	{"S-15", func(c *change) string {
		if c.Resource == "pods" && c.Subresource != "eviction" && !c.opensGate() {
			return fmt.Sprintf("pod %s/%s was changed past the eviction API: %s", c.Namespace, c.Name, c.Verb)
		}
		return ""
	}},
	{"S-17", func(c *change) string {
		switch {
		case c.node == nil || !controls(c.node):
		case c.cordons() && !c.o.quorumWithout(c.Name, ready): // when its machine is to go, another law asks what is so
			return fmt.Sprintf("control-plane node %s was cordoned for removal", c.Name)
		case c.Verb == "delete" && !(c.o.controlsToo() && removing(c.node)): // its vote went with its machine, which another law judges
			return fmt.Sprintf("control-plane node %s was deleted, and was not on its way out", c.Name)
		}
		return ""
	}},
	{"S-18", func(c *change) string {
		switch {
		case c.node != nil && c.nodeAfter != nil && c.node.Spec.Unschedulable && !c.nodeAfter.Spec.Unschedulable && !removing(c.node) && !tainted(c.node, incumbentTaint):
			return fmt.Sprintf("node %s was uncordoned, and nothing says that an autoscaler had cordoned it", c.Name)
		case !c.cordons():
		case c.node.Spec.Unschedulable:
			return fmt.Sprintf("node %s was cordoned for removal, and a person had cordoned it", c.Name)
		case kept(c.node):
			return fmt.Sprintf("node %s was cordoned for removal, and is annotated to stay", c.Name)
		}
		return ""
	}},
	{"S-19", (*change).overspends},
	{"S-20", func(c *change) string {
		if !c.accepted() || c.Subresource != "eviction" && c.Verb != "delete" || c.o.silent(c.Time) <= mostSilence {
			return ""
		}
		return fmt.Sprintf("%s of %s %s while the API server had been silent for %s", c.Verb, c.Resource, c.Name, c.o.silent(c.Time))
	}},
	{"S-23", func(c *change) string {
		if _, is := c.agent(); !is && c.o.leadsNoMore(c.Time) {
			return fmt.Sprintf("%s of %s %s was sent when the lease was about to end", c.Verb, c.Resource, c.Name)
		}
		return ""
	}},
	{"S-24", func(c *change) string {
		if _, is := c.agent(); c.o.rules.DryRun || c.o.rules.Idle && !is {
			return fmt.Sprintf("a process that must change nothing changed Kubernetes: %s %s %s", c.Verb, c.Resource, c.Name)
		}
		return ""
	}},
	{"S-41", func(c *change) string {
		if c.pod == nil || c.podAfter == nil || !gated(c.pod) || gated(c.podAfter) {
			return ""
		}
		for _, n := range kubesim.All[*corev1.Node](c.o.kube, "") {
			if ready(n) && !n.Spec.Unschedulable {
				return ""
			}
		}
		return fmt.Sprintf("the gate of pod %s was opened and no Ready node takes pods", nameOf(c.pod))
	}},
	{"S-42", func(c *change) string {
		node, is := c.agent()
		switch {
		case !is:
		case c.Resource != "nodes":
			return fmt.Sprintf("the agent of node %s wrote to %s %s", node, c.Resource, c.Name)
		case c.Name != node:
			return fmt.Sprintf("the agent of node %s wrote to node %s", node, c.Name)
		case c.node != nil && c.nodeAfter != nil && !onlyNotice(c.node, c.nodeAfter):
			return fmt.Sprintf("the agent of node %s changed more of it than its notice", node)
		}
		return ""
	}},
}

// onlyNotice says whether nothing but the notice became another one, by its taint and its annotation.
func onlyNotice(was, is *corev1.Node) bool {
	bare := func(n *corev1.Node) *corev1.Node {
		n = n.DeepCopy()
		n.ResourceVersion, n.ManagedFields, n.Generation = "", nil, 0
		delete(n.Annotations, ownPrefix+"notice")
		if len(n.Annotations) == 0 {
			n.Annotations = nil
		}
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool {
			return t.Key == ownPrefix+"notice" && t.Effect == corev1.TaintEffectNoSchedule
		})
		return n
	}
	return equality.Semantic.DeepEqual(bare(was), bare(is))
}

// leftBefore says whether cluster-autoscaler began to remove the node before the present process did: what it has put there may be taken back.
func (o *Observer) leftBefore(n *corev1.Node) bool {
	for _, t := range n.Spec.Taints {
		if t.Key == incumbentTaint {
			unix, err := strconv.ParseInt(t.Value, 10, 64)
			return err != nil || unix <= o.began.Unix()
		}
	}
	return false
}

// others are the taints that are not sluice's, in order.
func others(all []corev1.Taint) (kept []corev1.Taint) {
	for _, t := range all {
		if !strings.HasPrefix(t.Key, ownPrefix) && t.Key != autoscalerTaint && t.Key != shutdownTaint && t.Key != corev1.TaintNodeUnschedulable {
			kept = append(kept, t)
		}
	}
	return kept
}

func gated(p *corev1.Pod) bool {
	return len(p.Spec.SchedulingGates) == 1 && p.Spec.SchedulingGates[0].Name == gate
}

// opensGate says whether the request took sluice's gate, the only one, off a pod and changed nothing else, or was to and changed nothing.
func (c *change) opensGate() bool {
	switch {
	case c.Verb != "patch" || c.Subresource != "":
		return false
	case !c.accepted():
		return true
	case c.pod == nil || c.podAfter == nil || !gated(c.pod):
		return false
	}
	same := c.pod.DeepCopy()
	same.Spec.SchedulingGates = nil
	return equality.Semantic.DeepEqual(same.Spec, c.podAfter.Spec) && maps.Equal(c.pod.Labels, c.podAfter.Labels) &&
		maps.Equal(c.pod.Annotations, c.podAfter.Annotations)
}

// lastCall says whether the pod was evicted because its machine was about to stop, and no earlier than it had to be.
func (c *change) lastCall() bool {
	if c.o.rules.Stops == nil {
		return false
	}
	stops, announced := c.o.rules.Stops(c.pod.Spec.NodeName)
	grace := 30 * time.Second
	if s := c.pod.Spec.TerminationGracePeriodSeconds; s != nil {
		grace = time.Duration(*s) * time.Second
	}
	return announced && !c.Time.Before(stops.Add(-grace-10*time.Second))
}
