package world

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"sluice.dev/sluice/internal/azuresim"
)

// The hands of people and other programs in Azure, and how much room Azure has.

// whole reads a statement's second name as a whole number of something.
func (s *statement) whole(of string) (int, error) {
	n, ok := counted(s.names[1], mostOf)
	if !ok {
		return 0, fmt.Errorf("%s %s: %q is not a number of %s, from 0 to %d", s.verb.name, s.names[0], s.names[1], of, mostOf)
	}
	return n, nil
}

func doQuota(w *world, s *statement) error {
	n, err := s.whole("cores")
	if err != nil {
		return err
	}
	if w.azure.Quota == nil {
		w.azure.Quota = map[string]int{}
	}
	w.azure.Quota[s.names[0]] = n
	return nil
}

func doSubnet(w *world, s *statement) error {
	n, err := s.whole("addresses")
	if err != nil {
		return err
	}
	if w.azure.SubnetAddresses == nil {
		w.azure.SubnetAddresses = map[string]int{}
	}
	w.azure.SubnetAddresses[strings.ToLower(subnetID(s.names[0]))] = n
	return nil
}

func doSpotRoom(w *world, s *statement) error {
	n, err := s.whole("machines")
	if err != nil {
		return err
	}
	if w.azure.SpotCapacity == nil {
		w.azure.SpotCapacity = map[azuresim.SpotPlace]int{}
	}
	w.azure.SpotCapacity[azuresim.SpotPlace{Size: s.names[0], Zone: s.value("zone", "")}] = n
	return nil
}

func doZonesFull(w *world, s *statement) error {
	w.azure.FillZones(strings.Split(s.names[0], ",")...)
	return nil
}

func doZonesFree(w *world, _ *statement) error {
	w.azure.FillZones()
	return nil
}

func doRestrict(w *world, s *statement) error {
	size, family, ok := sizeNamed(s.names[0])
	if !ok {
		return fmt.Errorf("restrict %s: give a size of the series D, E and F, such as Standard_D4s_v5", s.names[0])
	}
	r := azuresim.Restriction{}
	if s.has("zones") {
		r.Zones = strings.Split(s.value("zones", ""), ",")
	}
	return w.azure.AddSKU(azuresim.SKU{
		Name: s.names[0], Family: family, VCPUs: size.cpu, MemoryGB: float64(size.memory.Value() >> 30), MaxDataDisks: 8,
		Restrictions: []azuresim.Restriction{r},
	})
}

// doAutoscale has the platform's autoscaler add a machine to a scale set above 75% of CPU and remove one below 25%.
func doAutoscale(w *world, s *statement) error {
	least, err := s.number("min", 0)
	if err != nil {
		return err
	}
	most, err := s.number("max", 10)
	if err != nil {
		return err
	}
	enabled, err := s.oneOf("enabled", "true", "false")
	if err != nil {
		return err
	}
	return w.azure.AddAutoscaleSetting(azuresim.AutoscaleSetting{
		Target: s.names[0], Enabled: enabled == "true", Min: least, Max: most,
		Rules: []azuresim.AutoscaleRule{
			{Metric: cpuMetric, Operator: "GreaterThan", Threshold: 75, Change: 1},
			{Metric: cpuMetric, Operator: "LessThan", Threshold: 25, Change: -1},
		},
	})
}

const cpuMetric = "Percentage CPU"

func doMetric(w *world, s *statement) error {
	n, err := s.whole("percent")
	if err != nil {
		return err
	}
	_, err = w.azure.AutoscaleStep(s.names[0], cpuMetric, float64(n))
	return err
}

func doResize(w *world, s *statement) error {
	n, err := s.whole("machines")
	if err != nil {
		return err
	}
	when, err := s.oneOf("when", "now", "writing")
	if err != nil {
		return err
	}
	within, err := s.duration("within", 0)
	if err != nil {
		return err
	}
	resize := func() error { return w.azure.SetCapacity(s.names[0], n) }
	if when == "writing" {
		f := forestalling{set: s.names[0], act: resize}
		if within > 0 {
			f.until = w.elapsed() + within
		}
		w.wire.before = append(w.wire.before, f)
		return nil
	}
	return resize()
}

func doTag(w *world, s *statement) error {
	group := s.names[0]
	if w.groups.tags[group] == nil {
		return fmt.Errorf("tag: there is no group %s", group)
	}
	tags := maps.Clone(w.groups.tags[group])
	for _, t := range s.names[1:] {
		key, value, ok := strings.Cut(t, ":")
		if !ok || key == "" {
			return fmt.Errorf("tag %s: %q is not key:value", group, t)
		}
		if tags[key] = value; value == "" {
			delete(tags, key)
		}
	}
	w.groups.tags[group] = tags
	return w.azure.SetTags(group, tags)
}

// doRemake changes what machines of a scale set are that are made from now on.
func doRemake(w *world, s *statement) error {
	size, ok := w.groups.sizes[s.names[0]]
	if !ok {
		return fmt.Errorf("remake: there is no group %s", s.names[0])
	}
	labels, err := s.pairs("node-label")
	if err != nil {
		return err
	}
	size.labels = maps.Clone(size.labels)
	maps.Copy(size.labels, labels)
	maps.DeleteFunc(size.labels, func(_, value string) bool { return value == "" })
	w.groups.sizes[s.names[0]] = size
	if !s.has("image") {
		return nil
	}
	return w.azure.SetImage(s.names[0], s.value("image", ""))
}

func doTouch(w *world, s *statement) error { return w.azure.Touch(s.names[0], 10*time.Second) }

// onMachine does something to the machine that a statement is about.
func (ms *machines) onMachine(s *statement, do func(id string) error) error {
	id, err := ms.id(s)
	if err != nil {
		return err
	}
	return do(id)
}

func doRemove(w *world, s *statement) error { return w.machines.onMachine(s, w.azure.DeleteMachine) }

func doRemoveGroup(w *world, s *statement) error { return w.azure.DeleteScaleSet(s.names[0]) }

func doDeallocate(w *world, s *statement) error { return w.machines.onMachine(s, w.azure.Deallocate) }

func doStart(w *world, s *statement) error { return w.machines.onMachine(s, w.azure.Start) }

func doEvict(w *world, s *statement) error {
	notice, err := s.duration("notice", 30*time.Second)
	if err != nil {
		return err
	}
	return w.machines.onMachine(s, func(id string) error { return w.azure.Evict(id, notice) })
}

func doProtect(w *world, s *statement) error {
	return w.machines.onMachine(s, func(id string) error { return w.azure.Protect(id, true, false) })
}

func doUnprotect(w *world, s *statement) error {
	return w.machines.onMachine(s, func(id string) error { return w.azure.Protect(id, false, false) })
}

// lockName is the name of the locks that scripts put.
const lockName = "keep"

func doLock(w *world, s *statement) error {
	level, err := s.oneOf("level", "delete", "readonly")
	if err != nil {
		return err
	}
	scope, err := w.machines.scope(s)
	if err != nil {
		return err
	}
	return w.azure.Lock(lockName, scope, map[string]azuresim.LockLevel{"delete": azuresim.CanNotDelete, "readonly": azuresim.ReadOnly}[level])
}

func doUnlock(w *world, s *statement) error {
	scope, err := w.machines.scope(s)
	if err != nil {
		return err
	}
	return w.azure.Unlock(lockName, scope)
}

// scope is the resource id of a group, or of a machine.
func (ms *machines) scope(s *statement) (string, error) {
	if m := ms.named(s.names[0]); m != nil {
		return m.ID, nil
	}
	if ms.groups.tags[s.names[0]] == nil {
		return "", fmt.Errorf("%s: there is no group or machine %s", s.verb.name, s.names[0])
	}
	return setID(s.names[0]), nil
}

// setID is the resource id of a group's scale set.
func setID(group string) string {
	return "/subscriptions/" + subscription + "/resourceGroups/" + resourceGroup + "/providers/Microsoft.Compute/virtualMachineScaleSets/" + group
}

func doDeny(w *world, s *statement) error { return w.permit(s.names[0], true) }

func doAllow(w *world, s *statement) error { return w.permit(s.names[0], false) }

// permit takes a right from sluice's identity, or gives it back.
func (w *world) permit(action string, deny bool) error {
	if err := w.prepare(); err != nil {
		return err
	}
	if deny {
		return w.azure.Deny(client, action)
	}
	return w.azure.Allow(client, action)
}
