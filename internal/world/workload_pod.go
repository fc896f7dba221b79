package world

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/internal/kubesim"
)

// coschedulingLabel names the PodGroup of a pod for the coscheduling plugin.
const coschedulingLabel = "scheduling.x-k8s.io/pod-group"

// rank gives the pod its priority: a class by name, or a number, for which a class is made.
func rank(c *kubesim.Cluster, s *statement, p *corev1.Pod) error {
	if !s.has("priority") {
		return nil
	}
	said := s.value("priority", "")
	p.Spec.PriorityClassName = said
	value, err := strconv.ParseInt(said, 10, 32)
	if err != nil {
		return nil // the cluster refuses a class that is not there
	}
	if value > 1_000_000_000 {
		return s.bad("priority", said, "a number of at most 1000000000, or the name of a priorityclass")
	}
	p.Spec.PriorityClassName = "priority-" + strings.Replace(said, "-", "minus-", 1)
	if _, ok := kubesim.Find[*schedulingv1.PriorityClass](c, "", p.Spec.PriorityClassName); ok {
		return nil
	}
	_, err = c.Create(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: p.Spec.PriorityClassName}, Value: int32(value)})
	return err
}

func doPriorityClass(w *world, s *statement) error {
	value, err := strconv.ParseInt(s.names[1], 10, 32)
	if err != nil {
		return fmt.Errorf("priorityclass %s: %q is not a number", s.names[0], s.names[1])
	}
	preempts, err := s.oneOf("preempts", "true", "false")
	if err != nil {
		return err
	}
	isDefault, err := s.oneOf("default", "false", "true")
	if err != nil {
		return err
	}
	c := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: s.names[0]}, Value: int32(value), GlobalDefault: isDefault == "true"}
	if preempts == "false" {
		c.PreemptionPolicy = new(corev1.PreemptNever)
	}
	_, err = w.cluster.Create(c)
	return err
}

// joinGang makes the pod one of a gang that podgroup has made, in the way that one says.
func joinGang(c *kubesim.Cluster, s *statement, p *corev1.Pod) error {
	name := s.value("podgroup", "")
	if name == "" {
		return nil
	}
	if _, ok := kubesim.Find[*kubesim.CoschedulingGroup](c, p.Namespace, name); ok {
		p.Labels[coschedulingLabel] = name
		return nil
	}
	c.Install(kubesim.Gangs) // the group may come after its pods
	p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &name}
	return nil
}

// mounts gives the pod claims that there are, and disks that are made for it and go with it.
func mounts(_ *kubesim.Cluster, s *statement, p *corev1.Pod) error {
	for _, name := range s.set["claim"] {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "claim-" + name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}})
	}
	for i, class := range s.set["disk"] {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: fmt.Sprintf("disk-%d", i), VolumeSource: corev1.VolumeSource{
			Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
				Spec: claimSpec(class, resource.MustParse("10Gi"), corev1.ReadWriteOnce)}}}})
	}
	return nil
}

var topologies = map[string]string{"hostname": corev1.LabelHostname, "zone": corev1.LabelTopologyZone}

// relations keep pods of the same app apart, together or evenly spread.
func relations(_ *kubesim.Cluster, s *statement, p *corev1.Pod) error {
	like := &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.Labels["app"]}}
	affinity := &corev1.Affinity{}
	for setting, add := range map[string]func(corev1.PodAffinityTerm){
		"anti-affinity": func(t corev1.PodAffinityTerm) {
			affinity.PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{t}}
		},
		"affinity": func(t corev1.PodAffinityTerm) {
			affinity.PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{t}}
		},
	} {
		if !s.has(setting) {
			continue
		}
		over, app, _ := strings.Cut(s.value(setting, ""), ":")
		if topologies[over] == "" {
			return s.bad(setting, s.value(setting, ""), "hostname or zone, and after a colon the app it is about if that is another")
		}
		about := like
		if app != "" {
			about = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
		}
		add(corev1.PodAffinityTerm{LabelSelector: about, TopologyKey: topologies[over]})
		p.Spec.Affinity = affinity
	}
	for _, said := range s.set["spread"] {
		over, skew, given := strings.Cut(said, ":")
		n, err := strconv.Atoi(skew)
		if !given {
			n, err = 1, nil
		}
		if topologies[over] == "" || err != nil || n < 1 {
			return s.bad("spread", said, "hostname or zone, and after a colon the largest skew if that is not 1")
		}
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
			MaxSkew: int32(n), TopologyKey: topologies[over], WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: like.DeepCopy(),
		})
	}
	return nil
}

// overhead is what the pod's sandbox takes besides its containers.
func overhead(_ *kubesim.Cluster, s *statement, p *corev1.Pod) error {
	for setting, name := range map[string]corev1.ResourceName{"overhead-cpu": corev1.ResourceCPU, "overhead-memory": corev1.ResourceMemory} {
		q, ok, err := s.quantity(setting)
		if err != nil {
			return err
		}
		if ok {
			if p.Spec.Overhead == nil {
				p.Spec.Overhead = corev1.ResourceList{}
			}
			p.Spec.Overhead[name] = q
		}
	}
	return nil
}
