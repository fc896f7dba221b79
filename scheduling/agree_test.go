package scheduling

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"sluice.dev/sluice/cluster"
)

// agree holds every answer about these pods to kube-scheduler's own plugins.
func agree(t interface{ Errorf(string, ...any) }, c *Checker, pods []*cluster.Pod) {
	o := newOracle(c)
	for _, p := range pods {
		refused := o.fits(p)
		for _, n := range c.Nodes() {
			if fits := c.Fits(p, n); fits != (refused[n] == "") {
				t.Errorf("%s on %s: fits is %v, kube-scheduler's %q refuses; the checker says %v", p.Name, n, fits, refused[n], c.Refusals(p, n))
			}
			if why := c.Refusals(p, n); (why == nil) != c.Fits(p, n) {
				t.Errorf("%s on %s: fits is %v and is refused for %v", p.Name, n, c.Fits(p, n), why)
			}
		}
	}
}

// notIn selects pods without that value, of those that the others select.
func notIn(key, value string, others ...metav1.LabelSelectorRequirement) *metav1.LabelSelector {
	not := metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpNotIn, Values: []string{value}}
	return &metav1.LabelSelector{MatchExpressions: append(others, not)}
}

// wild is a pod with any constraints between pods and nodes that kube-scheduler knows.
func wild(t *rapid.T, name string, options ...func(*corev1.Pod)) *cluster.Pod {
	draw := func(what string, all ...string) string { return rapid.SampledFrom(all).Draw(t, what) }
	chance := func(what string) bool { return rapid.IntRange(0, 3).Draw(t, what) == 0 }
	key := func() string { return draw("key", zone, corev1.LabelHostname, "rack") }
	selector := func() *metav1.LabelSelector {
		switch draw("selector", "app", "app", "app", "in", "absent", "all", "none", "others", "but", "two") {
		case "others": // as JobSet has it: any app but one
			return notIn("app", draw("whom", "db", "web"), metav1.LabelSelectorRequirement{Key: "app", Operator: metav1.LabelSelectorOpExists})
		case "but":
			return notIn("tier", draw("tier", "a", "b"))
		case "two":
			return notIn("app", draw("whom", "db", "web"), notIn("tier", draw("tier", "a", "b")).MatchExpressions...)
		case "in":
			return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"db", "web"}}}}
		case "absent":
			return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpDoesNotExist}}}
		case "all":
			return &metav1.LabelSelector{}
		case "none":
			return nil
		}
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": draw("whom", "db", "web")}}
	}
	affine := func() corev1.PodAffinityTerm {
		a := corev1.PodAffinityTerm{TopologyKey: key(), LabelSelector: selector()}
		switch draw("where", "own", "own", "named", "selected", "untold", "all") {
		case "named":
			a.Namespaces = []string{draw("namespace", "default", "other")}
		case "selected":
			a.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "x"}}
		case "untold":
			a.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: metav1.LabelSelectorOpDoesNotExist}}}
		case "all":
			a.NamespaceSelector = &metav1.LabelSelector{}
		}
		return a
	}
	options = append(options, app(draw("app", "db", "web")), requests("cpu", draw("cpu", "100m", "1", "3")), in(draw("in", "default", "default", "other", "untold")),
		func(p *corev1.Pod) {
			if chance("tier") {
				p.Labels["tier"] = draw("tier", "a", "b")
			}
			for range rapid.IntRange(0, 2).Draw(t, "spreads") {
				c := corev1.TopologySpreadConstraint{MaxSkew: int32(rapid.IntRange(1, 2).Draw(t, "skew")), TopologyKey: key(), WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selector()}
				if chance("min domains") {
					c.MinDomains = new(int32(rapid.IntRange(1, 4).Draw(t, "domains")))
				}
				if chance("affinity policy") {
					c.NodeAffinityPolicy = new(corev1.NodeInclusionPolicy(draw("policy", "Honor", "Ignore")))
				}
				if chance("taints policy") {
					c.NodeTaintsPolicy = new(corev1.NodeInclusionPolicy(draw("policy", "Honor", "Ignore")))
				}
				if chance("match label keys") {
					c.MatchLabelKeys = []string{"tier"}
				}
				if chance("anyway") {
					c.WhenUnsatisfiable = corev1.ScheduleAnyway
				}
				p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, c)
			}
			for range max(0, rapid.IntRange(-1, 2).Draw(t, "near")) {
				a := affinity(p)
				if a.PodAffinity == nil {
					a.PodAffinity = &corev1.PodAffinity{}
				}
				a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, affine())
			}
			for range max(0, rapid.IntRange(-1, 2).Draw(t, "away")) {
				a := affinity(p)
				if a.PodAntiAffinity == nil {
					a.PodAntiAffinity = &corev1.PodAntiAffinity{}
				}
				a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, affine())
			}
			if chance("port") {
				hostPort(int32(rapid.IntRange(80, 81).Draw(t, "port")), corev1.Protocol(draw("protocol", "", "TCP", "UDP")), draw("ip", "", "0.0.0.0", "10.0.0.1", "10.0.0.2"))(p)
			}
			if chance("tolerates") {
				tolerates("spot")(p)
			}
			if chance("tolerates the cordon") {
				tolerates(corev1.TaintNodeUnschedulable)(p)
			}
			if chance("selects") {
				selects(zone, draw("zone", "1", "2"))(p)
			}
			if chance("by name") {
				byName(draw("node", "n0", "n1"))(p)
			}
			if chance("leaving") {
				p.DeletionTimestamp = new(metav1.Unix(1, 0))
			}
		})
	return pod(name, options...)
}

func TestCountersAnswerAsThePluginsDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		objects := []any{
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}},
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other", Labels: map[string]string{"team": "x"}}},
		}
		nodes := rapid.IntRange(1, 6).Draw(t, "nodes")
		wildNode := func(name string) *corev1.Node {
			n := node(name, nodeLabel(zone, rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "zone")), allocatable("pods", "6"))
			if rapid.Bool().Draw(t, "racked") {
				nodeLabel("rack", rapid.SampledFrom([]string{"", "r"}).Draw(t, "rack"))(n)
			}
			if rapid.IntRange(0, 3).Draw(t, "tainted") == 0 {
				taint("spot", "", corev1.TaintEffectNoSchedule)(n)
			}
			n.Spec.Unschedulable = rapid.IntRange(0, 5).Draw(t, "cordoned") == 0
			return n
		}
		for i := range nodes {
			objects = append(objects, wildNode(fmt.Sprint("n", i)))
		}
		for i := range rapid.IntRange(0, 8).Draw(t, "running") {
			objects = append(objects, wild(t, fmt.Sprint("r", i), on(fmt.Sprint("n", rapid.IntRange(0, nodes-1).Draw(t, "on")))))
		}
		var asked []*cluster.Pod
		for i := range rapid.IntRange(1, 5).Draw(t, "pending") {
			p := wild(t, fmt.Sprint("p", i))
			asked = append(asked, p)
			if rapid.Bool().Draw(t, "known from the start") {
				objects = append(objects, p)
			}
		}
		s := snapshot(objects...)
		c := NewChecker(s)
		agree(t, c, asked)
		for i := range rapid.IntRange(0, 6).Draw(t, "steps") {
			undo := c.Mark()
			present := c.Nodes()
			kind := rapid.IntRange(0, 5).Draw(t, "kind")
			if len(present) == 0 {
				kind = 3
			}
			switch kind {
			case 0, 5:
				c.Place(rapid.SampledFrom(asked).Draw(t, "pod"), rapid.SampledFrom(present).Draw(t, "node"))
			case 1:
				on := rapid.SampledFrom(present).Draw(t, "node")
				if pods := c.Pods(on); len(pods) > 0 {
					c.Evict(rapid.SampledFrom(pods).Draw(t, "pod"), on)
				}
			case 2:
				c.Remove(rapid.SampledFrom(present).Draw(t, "node"))
			case 3:
				n := wildNode(fmt.Sprint("new", i))
				c.Add(n, wild(t, "on-"+n.Name))
			case 4:
				c.Open(c.Template(wildNode("t"), wild(t, fmt.Sprint("daemon", i))), fmt.Sprint("open", i))
			}
			agree(t, c, asked)
			if rapid.IntRange(0, 2).Draw(t, "take back") == 0 {
				undo()
				agree(t, c, asked)
			}
		}
	})
}
