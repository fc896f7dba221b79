package azuresim

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

func (ss *scaleSet) id() string { return ss.path(setKind) }

// text reads a string in the model; "" when a step of the path is missing.
func (ss *scaleSet) text(path ...string) string {
	return text(ss.model, path...)
}

func (ss *scaleSet) size() string   { return ss.text("sku", "name") }
func (ss *scaleSet) flexible() bool { return ss.text("properties", "orchestrationMode") == "Flexible" }

func (ss *scaleSet) spot() bool {
	p := ss.text("properties", "virtualMachineProfile", "priority")
	return p == "Spot" || p == "Low"
}

func (ss *scaleSet) computerNamePrefix() string {
	if p := ss.text("properties", "virtualMachineProfile", "osProfile", "computerNamePrefix"); p != "" {
		return p
	}
	return ss.name
}

func (ss *scaleSet) zones() []string { return texts(ss.model["zones"]) }

func (ss *scaleSet) tags() map[string]string { return textMap(ss.model["tags"]) }

// subnet is the resource id of the subnet of the instances; "" when the model
// names none.
func (ss *scaleSet) subnet() string {
	return subnetOf(first(dig(ss.model, "properties", "virtualMachineProfile", "networkProfile", "networkInterfaceConfigurations")))
}

// live are the instances that count toward capacity: all that are listed and not
// being deleted, failed and deallocated ones included, but not the extra ones of
// overprovisioning.
func (ss *scaleSet) live(now time.Time) []*instance {
	var live []*instance
	for _, i := range ss.instances {
		if !i.gone(now) && !i.deletion.underWay(now) && !i.extra {
			live = append(live, i)
		}
	}
	return live
}

// listed are the instances that reads show.
func (ss *scaleSet) listed(now time.Time) []*instance {
	return slices.DeleteFunc(slices.Clone(ss.instances), func(i *instance) bool { return i.gone(now) })
}

// instance is the one with an instance id: a number or, in a flexible scale set,
// the name of the machine.
func (ss *scaleSet) instance(id string, now time.Time) *instance {
	for _, i := range ss.instances {
		if strings.EqualFold(i.instanceID(), id) && !i.gone(now) {
			return i
		}
	}
	return nil
}

func (ss *scaleSet) provisioningState(now time.Time) string {
	for _, o := range ss.operations {
		if !o.ended(now) {
			if ss.doomed {
				return "Deleting"
			}
			return "Updating"
		}
	}
	if n := len(ss.operations); n > 0 && ss.operations[n-1].failure(now) != nil {
		return "Failed"
	}
	return "Succeeded"
}

func (ss *scaleSet) etagText() string { return strconv.Quote(strconv.Itoa(ss.etag)) }

// wire is the scale set as a read shows it, which may be told to lie about the
// capacity or to leave the entity tag out.
func (ss *scaleSet) wire(now time.Time, f Fault) map[string]any {
	out := maps.Clone(ss.model)
	sku := maps.Clone(asMap(ss.model["sku"]))
	sku["capacity"] = len(ss.live(now))
	about := f.ScaleSet == "" || strings.EqualFold(f.ScaleSet, ss.name)
	switch {
	case about && f.NullCapacity:
		sku["capacity"] = nil
	case about && f.FalseCapacity != nil:
		sku["capacity"] = *f.FalseCapacity
	}
	properties := withoutSecrets(asMap(ss.model["properties"])).(map[string]any)
	properties["provisioningState"] = ss.provisioningState(now)
	if disk, ok := dig(properties, "virtualMachineProfile", "storageProfile", "osDisk").(map[string]any); ok && disk["osType"] == nil {
		disk["osType"] = "Linux"
	}
	properties["uniqueId"] = ss.uniqueID
	properties["timeCreated"] = timestamp(ss.created)
	out["sku"], out["properties"] = sku, properties
	out["id"], out["name"], out["type"] = ss.id(), ss.name, setKind
	if out["etag"] = ss.etagText(); f.NoETag && about {
		delete(out, "etag")
	}
	return out
}

// timestamp is Azure's rendering of a time in a body.
func timestamp(t time.Time) string { return t.Format("2006-01-02T15:04:05.0000000-07:00") }
