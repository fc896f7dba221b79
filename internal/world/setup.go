package world

import (
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/kubesim"
)

func doDryRun(w *world, _ *statement) error {
	w.config.dryRun, w.judges.rule.DryRun = true, true
	return nil
}

// doHome has sluice run on a machine of a group.
func doHome(w *world, s *statement) error {
	w.wire.home.Machine = s.names[0]
	return nil
}

func doTiming(w *world, s *statement) (err error) {
	for setting, take := range map[string]func(time.Duration){
		"boot":   func(d time.Duration) { w.azure.Boot = azuresim.Fixed(d) },
		"delete": func(d time.Duration) { w.azure.Delete = azuresim.Fixed(d) },
		"join":   func(d time.Duration) { w.machines.join = d },
		"detach": func(d time.Duration) { w.cluster.Detach = d },
		"resync": func(d time.Duration) { w.config.timing.Resync = d },
		"quiet":  func(d time.Duration) { w.config.timing.Quiet = d },
		"most":   func(d time.Duration) { w.config.timing.Most = d },
	} {
		if !s.has(setting) {
			continue
		}
		d, err := s.duration(setting, 0)
		if err != nil {
			return err
		}
		if d < leastPause && setting == "resync" {
			return s.bad(setting, s.value(setting, ""), fmt.Sprintf("a duration of at least %s", leastPause))
		}
		take(d)
	}
	return nil
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
	more, err := s.resources("resource")
	if err != nil {
		return err
	}
	disks, err := s.number("disks", 0)
	if err != nil {
		return err
	}
	capacity := corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(int64(cpu), resource.DecimalSI), corev1.ResourceMemory: memory}
	maps.Copy(capacity, more)
	names, err := s.oneOf("provider-id", "none", k3s)
	if err != nil {
		return err
	}
	id := ""
	if names == k3s {
		own := embeddedLabels(labels)
		maps.Copy(own, labels)
		labels, id = own, k3s+"://"+s.names[0]
	}
	return w.cluster.Join(kubesim.Machine{
		Name: s.names[0], ProviderID: id, KubeletVersion: versions[names], Finalizers: finalizers[names], Labels: labels, Taints: taints, AttachLimits: attaches(disks), Capacity: capacity,
	})
}
