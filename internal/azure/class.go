package azure

import (
	"net/http"
	"strings"
)

// A limit is the shape of one of Azure's token buckets: how many requests it gains a minute, and how many it holds. The zero limit is none.
type limit struct{ perMinute, most float64 }

// A class is a kind of request that Azure counts on its own, in each region of a subscription, with the limits Azure publishes: one for a
// single resource and one for the subscription (Compute throttling, 2026-05; of the network provider, per five minutes).
// A class without limits of its own is bounded by the front door alone.
type class struct {
	name                   string // in the plural: "machine lists"
	resource, subscription limit
}

// The classes. Azure publishes none for the list of a scale set's machines and for the deletion of several by id: they are taken for a read and
// for a deletion of the scale set, which are the stricter neighbours.
var (
	operationReads = class{"operation reads", limit{15, 45}, limit{5000, 15000}}

	scaleSetLists   = class{"scale set lists", limit{}, limit{360, 1080}}
	scaleSetReads   = class{"scale set reads", limit{12, 36}, limit{800, 2400}}
	scaleSetViews   = class{"scale set views", limit{10, 30}, limit{360, 1080}}
	scaleSetCreates = class{"scale set creates", limit{4, 12}, limit{125, 375}}
	scaleSetUpdates = class{"scale set updates", limit{4, 12}, limit{500, 1500}}
	scaleSetDeletes = class{"scale set deletes", limit{4, 12}, limit{175, 525}}

	machineLists   = class{"machine lists", limit{12, 36}, limit{800, 2400}}
	machineReads   = class{"machine reads", limit{12, 36}, limit{2000, 6000}}
	machineUpdates = class{"machine updates", limit{4, 12}, limit{500, 1500}}
	machineDeletes = class{"machine deletes", limit{4, 12}, limit{175, 525}} // by id, several at once
	machineStops   = class{"machine stops", limit{4, 12}, limit{500, 1500}}  // of one: delete, deallocate, power off

	vmLists   = class{"VM lists", limit{}, limit{300, 900}}
	vmReads   = class{"VM reads", limit{12, 36}, limit{8000, 24000}}
	vmPuts    = class{"VM creates", limit{4, 12}, limit{500, 1500}}
	vmUpdates = class{"VM updates", limit{4, 12}, limit{500, 1500}}
	vmStops   = class{"VM stops", limit{4, 12}, limit{500, 1500}} // delete, deallocate, power off

	networkReads  = class{"network reads", limit{}, limit{10_000. / 5, 10_000}}
	networkWrites = class{"network writes", limit{}, limit{1000. / 5, 1000}}
)

// The front door of Resource Manager counts every request besides: for each principal in a subscription and region.
var (
	doorReads   = class{"front door reads", limit{}, limit{25 * 60, 250}}
	doorWrites  = class{"front door writes", limit{}, limit{10 * 60, 200}}
	doorDeletes = class{"front door deletes", limit{}, limit{10 * 60, 200}}
)

// doorOf is the front door's class of a request.
func doorOf(method string) class {
	switch method {
	case http.MethodGet, http.MethodHead:
		return doorReads
	case http.MethodDelete:
		return doorDeletes
	}
	return doorWrites
}

// A target is what a request is about, as Azure counts it.
type target struct {
	class    class
	door     class
	resource string // the lower-case path of the one resource that it reads or changes; "" for a list of many
	location string // that the path names; "" for none
}

// targetOf takes a request's path apart.
func targetOf(r *http.Request) target {
	s := strings.Split(strings.ToLower(strings.Trim(r.URL.Path, "/")), "/")
	t := target{door: doorOf(r.Method)}
	var namespace string
	for i := 0; i+1 < len(s); i++ {
		if s[i] == "providers" { // the last one: a resource of another provider may extend one
			namespace, s = s[i+1], s[i+2:]
			i = -1
		}
	}
	if len(s) > 1 && s[0] == "locations" && namespace != "" {
		t.location, s = s[1], s[2:]
	}
	named := func(n int) {
		t.resource = namespace + "/" + strings.Join(s[:min(n, len(s))], "/") + "/" + groupIn(r.URL.Path)
	}
	kind, sub := at(s, 0), at(s, 2)
	switch {
	case namespace == "microsoft.compute" && strings.HasSuffix(kind, "operations") && len(s) > 1:
		t.class = operationReads
		named(2)
	case namespace == "microsoft.compute" && kind == "virtualmachinescalesets" && at(s, len(s)-1) == "networkinterfaces":
		t.class = networkReads // the network provider answers
	case namespace == "microsoft.compute" && kind == "virtualmachinescalesets" && sub == "virtualmachines":
		t.class = machineClass(r.Method, s)
		named(4)
		if len(s) == 3 {
			named(2) // the list counts against the scale set
		}
	case namespace == "microsoft.compute" && kind == "virtualmachinescalesets":
		t.class = scaleSetClass(r.Method, s)
		if len(s) > 1 {
			named(2)
		}
	case namespace == "microsoft.compute" && kind == "virtualmachines":
		t.class = vmClass(r.Method, s)
		if len(s) > 1 {
			named(2)
		}
	case namespace == "microsoft.network":
		t.class = networkReads
		if t.door.name != doorReads.name {
			t.class = networkWrites
		}
		if len(s) > 1 {
			named(2)
		}
	default:
		t.class = plainClass(t.door, namespace, kind)
	}
	return t
}

// plainClass is a class without limits of its own: its name says what is asked, so that a refusal of one leaves the others alone.
func plainClass(door class, namespace, kind string) class {
	noun := "other"
	switch {
	case namespace == "microsoft.compute" && kind == "disks":
		noun = "disk"
	case namespace == "microsoft.compute" && kind == "skus":
		noun = "size"
	case kind == "usages":
		noun = "usage"
	case namespace == "microsoft.compute":
		noun = "compute"
	case namespace == "microsoft.resources" && kind == "deployments":
		noun = "deployment"
	case namespace == "microsoft.authorization":
		noun = "authorization"
	case namespace == "microsoft.insights":
		noun = "autoscale setting"
	case namespace == "" || namespace == "microsoft.resources":
		noun = "resource"
	}
	if door.name == doorReads.name {
		return class{name: noun + " reads"}
	}
	return class{name: noun + " writes"}
}

func scaleSetClass(method string, s []string) class {
	switch verb := at(s, 2); {
	case method == http.MethodGet && len(s) == 1:
		return scaleSetLists
	case method == http.MethodGet && verb == "instanceview":
		return scaleSetViews
	case method == http.MethodGet:
		return scaleSetReads
	case method == http.MethodPut:
		return scaleSetCreates
	case method == http.MethodPost && verb == "delete":
		return machineDeletes
	case method == http.MethodDelete, stops(verb):
		return scaleSetDeletes
	}
	return scaleSetUpdates
}

func machineClass(method string, s []string) class {
	switch {
	case method == http.MethodGet && len(s) == 3:
		return machineLists
	case method == http.MethodGet:
		return machineReads
	case method == http.MethodDelete, stops(at(s, 4)):
		return machineStops
	}
	return machineUpdates
}

func vmClass(method string, s []string) class {
	switch {
	case method == http.MethodGet && len(s) == 1:
		return vmLists
	case method == http.MethodGet:
		return vmReads
	case method == http.MethodPut:
		return vmPuts
	case method == http.MethodDelete, stops(at(s, 2)):
		return vmStops
	}
	return vmUpdates
}

func stops(verb string) bool { return verb == "deallocate" || verb == "poweroff" }

// groupIn is the lower-case resource group in a path, "" for none.
func groupIn(path string) string {
	s := strings.Split(strings.ToLower(strings.Trim(path, "/")), "/")
	if at(s, 2) == "resourcegroups" {
		return at(s, 3)
	}
	return ""
}

// at is the segment, "" when there are not so many.
func at(s []string, i int) string {
	if i < len(s) {
		return s[i]
	}
	return ""
}
