package azuresim

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
)

const maxCapacity = 1000 // instances of a scale set, Azure's limit

// maxPlaced is the limit of a scale set in a single placement group.
const maxPlaced = 100

// checkCapacity holds a capacity against the limits of the set's model.
func (ss *scaleSet) checkCapacity(n int) *problem {
	limit := maxCapacity
	if single, _ := dig(ss.model, "properties", "singlePlacementGroup").(bool); single && !ss.flexible() {
		limit = maxPlaced
	}
	if n <= limit {
		return nil
	}
	return bad("InvalidParameter", "The value of parameter sku.capacity is invalid: the capacity %d of Virtual Machine Scale Set '%s' is more than the limit of %d.",
		n, ss.name, limit).target("sku.capacity")
}

// checkModel refuses a model, as a write has made it of the one before, that
// Azure would refuse.
func (ss *scaleSet) checkModel(before map[string]any, capacity int) *problem {
	single := func(model map[string]any) any { return dig(model, "properties", "singlePlacementGroup") }
	switch {
	case ss.flexible() && strings.Contains(strings.ToLower(text(ss.model, "identity", "type")), "systemassigned"):
		return bad("InvalidParameter", "System assigned identity is not supported for Virtual Machine Scale Sets with flexible orchestration.").target("identity.type")
	case single(before) == false && single(ss.model) == true:
		return fail(http.StatusConflict, "PropertyChangeNotAllowed", "Changing property 'singlePlacementGroup' from false to true is not allowed.").target("singlePlacementGroup")
	}
	if fixed := ss.changesFixed(before); fixed != "" {
		return fail(http.StatusConflict, "PropertyChangeNotAllowed", "Changing property '%s' is not allowed.", fixed).target(fixed)
	}
	return ss.checkCapacity(capacity)
}

// createTime are properties that only the first write of a scale set says (MicrosoftDocs/azure-docs,
// virtual-machine-scale-sets-upgrade-scale-set.md; of mode and priority it is assumed).
var createTime = [][]string{
	{"properties", "orchestrationMode"},
	{"properties", "virtualMachineProfile", "priority"},
	{"properties", "virtualMachineProfile", "storageProfile", "imageReference", "publisher"},
	{"properties", "virtualMachineProfile", "storageProfile", "imageReference", "offer"},
	{"properties", "virtualMachineProfile", "storageProfile", "osDisk", "managedDisk", "storageAccountType"},
}

// changesFixed is the first property that a write has changed and may not; "" for none. Zones may be added to those that the set has
// (hashicorp/terraform-provider-azurerm, pull request 27288).
func (ss *scaleSet) changesFixed(before map[string]any) string {
	for _, path := range createTime {
		was, is := text(before, path...), ss.text(path...)
		if path[len(path)-1] == "priority" {
			was, is = cmp.Or(was, "Regular"), cmp.Or(is, "Regular")
		}
		if was != "" && is != "" && !strings.EqualFold(was, is) {
			return strings.Join(path[1:], ".")
		}
	}
	for _, zone := range texts(before["zones"]) {
		if !slices.Contains(ss.zones(), zone) {
			return "zones"
		}
	}
	return ""
}

// overprovisioned is the share of extra instances of a growth.
const overprovisioned = 0.2

// vanish is how long the extra instances outlive the creation of the others:
// long enough for their kubelets to register (assumed).
const vanish = time.Minute

// overprovision starts more instances than a growth needs, if the set's model
// says so. They vanish when those that are needed are up.
func (c compute) overprovision(ss *scaleSet, needed []*instance, now time.Time) {
	if on, _ := dig(ss.model, "properties", "overprovision").(bool); !on || ss.flexible() || len(needed) == 0 {
		return
	}
	last := now
	for _, i := range needed {
		last = later(last, i.settledAt())
	}
	for range int(math.Ceil(overprovisioned * float64(len(needed)))) {
		i := c.birth(ss, now)
		i.extra = true
		i.deletion.begin(last.Add(vanish))
	}
}

// convert puts a scale set into a single placement group again, which a PATCH
// cannot.
func (ss *scaleSet) convert(now time.Time) answer {
	if n := len(ss.live(now)); n > maxPlaced {
		return fail(http.StatusConflict, "OperationNotAllowed",
			"Virtual Machine Scale Set '%s' with capacity %d cannot be converted to a single placement group, which holds %d.", ss.name, n, maxPlaced).answer()
	}
	ss.model["properties"] = merge(asMap(ss.model["properties"]), map[string]any{"singlePlacementGroup": true})
	ss.etag++
	return answer{status: http.StatusOK}
}
