package azuresim

import (
	"slices"
	"strings"
)

// resource is where a resource stands in Resource Manager. Its names keep the
// case they were created with.
type resource struct {
	subscription, group, name, location string
}

// The types of the resources in the store.
const (
	setKind          = "Microsoft.Compute/virtualMachineScaleSets"
	machineKind      = "Microsoft.Compute/virtualMachines"
	availabilityKind = "Microsoft.Compute/availabilitySets"
	diskKind         = "Microsoft.Compute/disks"
	interfaceKind    = "Microsoft.Network/networkInterfaces"
)

// path is the resource id of a resource of a type.
func (r resource) path(kind string) string {
	return "/subscriptions/" + r.subscription + "/resourceGroups/" + r.group + "/providers/" + kind + "/" + r.name
}

// in reports whether the resource is in a subscription and, unless that is "",
// in a resource group.
func (r resource) in(subscription, group string) bool {
	return strings.EqualFold(r.subscription, subscription) && (group == "" || strings.EqualFold(r.group, group))
}

// named is the resource that the request's path names by {name}.
func (at route) named() resource {
	return resource{subscription: at.subscription, group: at.group, name: at.name}
}

// find is the item with a resource id, in a list sorted by id; the zero value
// when there is none.
func find[T interface{ id() string }](list []T, id string) T {
	id = strings.ToLower(id)
	at, found := slices.BinarySearchFunc(list, id, func(item T, id string) int {
		return strings.Compare(strings.ToLower(item.id()), id)
	})
	if !found {
		var none T
		return none
	}
	return list[at]
}

// shelve puts an item into a list sorted by id; false when its id is taken.
func shelve[T interface{ id() string }](list *[]T, item T) bool {
	at, taken := slices.BinarySearchFunc(*list, item, byID)
	if !taken {
		*list = slices.Insert(*list, at, item)
	}
	return !taken
}
