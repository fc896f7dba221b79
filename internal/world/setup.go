package world

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/kubesim"
)

func doDryRun(w *world, _ *statement) error {
	w.dryRun = true
	return nil
}

func doTiming(w *world, s *statement) (err error) {
	for setting, take := range map[string]func(time.Duration){
		"boot":   func(d time.Duration) { w.azure.Boot = azuresim.Fixed(d) },
		"delete": func(d time.Duration) { w.azure.Delete = azuresim.Fixed(d) },
		"join":   func(d time.Duration) { w.join = d },
		"resync": func(d time.Duration) { w.timing.Resync = d },
	} {
		if !s.has(setting) {
			continue
		}
		d, err := s.duration(setting, 0)
		if err != nil {
			return err
		}
		if d == 0 && setting == "resync" {
			return s.bad(setting, s.value(setting, ""), "a duration above zero")
		}
		take(d)
	}
	return nil
}

func doQuota(w *world, s *statement) error {
	n, err := strconv.Atoi(s.names[1])
	if err != nil || n < 0 {
		return fmt.Errorf("quota %s: %q is not a number of cores", s.names[0], s.names[1])
	}
	if w.azure.Quota == nil {
		w.azure.Quota = map[string]int{}
	}
	w.azure.Quota[s.names[0]] = n
	return nil
}

// series are sizes as their names tell: GiB of memory for a core, by series.
var (
	series  = map[string]int{"D": 4, "E": 8, "F": 2}
	sizeTag = regexp.MustCompile(`^Standard_([DEF])(\d+)(s)_(v\d+)$`)
)

// sizeOf is what a machine of a size has, and the family against whose quota it counts.
func sizeOf(s *statement) (m machineSize, family string, err error) {
	name := s.value("size", "")
	if parts := sizeTag.FindStringSubmatch(name); parts != nil {
		m.cpu, _ = strconv.Atoi(parts[2])
		m.memory = *resource.NewQuantity(int64(m.cpu*series[parts[1]])<<30, resource.BinarySI)
		return m, "standard" + parts[1] + "S" + parts[4] + "Family", nil
	}
	memory, ok, err := s.quantity("memory")
	if err != nil {
		return m, "", err
	}
	cpu, err := s.number("cpu", 0)
	if err != nil {
		return m, "", err
	}
	if !ok || cpu == 0 {
		return m, "", fmt.Errorf("group %s: size=%s: give one such as Standard_D4s_v5 of the series D, E and F, or say cpu and memory besides", s.names[0], name)
	}
	m.cpu, m.memory = cpu, memory
	return m, "", nil
}

func doGroup(w *world, s *statement) error {
	name := s.names[0]
	least, err := s.number("min", 0)
	if err != nil {
		return err
	}
	most, err := s.number("max", 10)
	if err != nil {
		return err
	}
	spec, err := azure.ParseGroup(fmt.Sprintf("%d:%d:%s", least, most, name))
	if err != nil {
		return fmt.Errorf("group: %w", err)
	}
	w.groups = append(w.groups, spec)
	missing, err := s.oneOf("missing", "false", "true")
	if err != nil || missing == "true" {
		return err
	}
	size, family, err := sizeOf(s)
	if err != nil {
		return err
	}
	machines, err := s.number("machines", 0)
	if err != nil {
		return err
	}
	reuse, err := s.oneOf("reuse-ids", "false", "true")
	if err != nil {
		return err
	}
	if size.labels, err = s.pairs("label"); err != nil {
		return err
	}
	if size.taints, err = s.taints("taint"); err != nil {
		return err
	}
	tags := map[string]string{}
	for _, t := range s.set["tag"] {
		key, value, ok := strings.Cut(t, ":")
		if !ok {
			return s.bad("tag", t, "key:value")
		}
		tags[key] = value
	}
	for key, value := range size.labels {
		tags["k8s.io_cluster-autoscaler_node-template_label_"+tagKey(key)] = value
	}
	for _, t := range size.taints {
		tags["k8s.io_cluster-autoscaler_node-template_taint_"+tagKey(t.Key)] = t.Value + ":" + string(t.Effect)
	}
	w.sizes[name] = size
	set := azuresim.ScaleSet{
		Subscription: subscription, ResourceGroup: resourceGroup, Name: name, Location: location,
		Size: s.value("size", ""), VCPUs: size.cpu, Family: family, Capacity: machines, Tags: tags, ReuseIDs: reuse == "true",
	}
	if s.has("zones") {
		set.Zones = strings.Split(s.value("zones", ""), ",")
	}
	if err := w.azure.AddScaleSet(set); err != nil {
		return fmt.Errorf("group: %w", err)
	}
	return w.moveMachines() // so that pods can be put on them
}

// tagKey writes a key of Kubernetes as tags of Azure can carry it.
func tagKey(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "_", "~2"), "/", "_")
}

func doNode(w *world, s *statement) error {
	labels, err := s.pairs("label")
	if err != nil {
		return err
	}
	taints, err := s.taints("taint")
	if err != nil {
		return err
	}
	cpu, err := s.number("cpu", 4)
	if err != nil {
		return err
	}
	memory, ok, err := s.quantity("memory")
	if err != nil {
		return err
	}
	if !ok {
		memory = *resource.NewQuantity(int64(4*cpu)<<30, resource.BinarySI)
	}
	return w.cluster.Join(kubesim.Machine{
		Name: s.names[0], Labels: labels, Taints: taints,
		Capacity: corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(int64(cpu), resource.DecimalSI), corev1.ResourceMemory: memory},
	})
}
