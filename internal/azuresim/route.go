package azuresim

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// route is a Resource Manager path taken apart. Names keep the caller's case.
type route struct {
	kind         string // the method and the resource type, as it is counted: "PATCH virtualMachineScaleSets"
	action       string // the permission it needs; "": none
	scope        string // what the permission is checked over
	subscription string
	group        string // "" in subscription-wide paths
	location     string
	set          string
	instance     string
	name         string // of a resource of any other type
	operation    string
	verb         string // the last segment of a POST, lower case
	handle       func(*request) answer
}

// pattern is one row of the routing table: a path whose segments are literal,
// compared ignoring case, {named}, or {any}.
type pattern struct {
	method string
	path   string
	kind   string // without the method word
	handle func(*request) answer
}

const (
	groupPath = "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Compute"
	wholePath = "/subscriptions/{subscription}/providers/Microsoft.Compute"
	setsType  = "virtualMachineScaleSets"
	vmsType   = "virtualMachineScaleSets/virtualMachines"
)

// patterns is the routing table. The first row that fits wins, so that a literal
// segment stands before {verb}.
var patterns []pattern

// rows are the table's rows by the number of their segments.
var rows = map[int][]row{}

// row is a pattern with its path taken apart.
type row struct {
	pattern
	segments []string
}

func init() { // handlers look things up in the table themselves
	patterns = slices.Concat(interfacePatterns, networkPatterns, scaleSetPatterns, machinePatterns, diskPatterns, availabilityPatterns, locationPatterns, rightsPatterns,
		skuPatterns, autoscalePatterns, vaultPatterns, managementPatterns, deploymentPatterns)
	for _, p := range patterns {
		segments := strings.Split(p.path[1:], "/")
		rows[len(segments)] = append(rows[len(segments)], row{p, segments})
	}
}

var scaleSetPatterns = []pattern{
	{"LIST", wholePath + "/virtualMachineScaleSets", setsType, listScaleSets},
	{"LIST", groupPath + "/virtualMachineScaleSets", setsType, listScaleSets},
	{"LIST", wholePath + "/locations/{location}/virtualMachineScaleSets", setsType, listScaleSets},
	{"GET", groupPath + "/virtualMachineScaleSets/{set}", setsType, getScaleSet},
	{"PATCH", groupPath + "/virtualMachineScaleSets/{set}", setsType, patchScaleSet},
	{"PUT", groupPath + "/virtualMachineScaleSets/{set}", setsType, putScaleSet},
	{"GET", groupPath + "/virtualMachineScaleSets/{set}/instanceView", setsType + "/instanceView", getScaleSetView},
	{"DELETE", groupPath + "/virtualMachineScaleSets/{set}", setsType, deleteScaleSet},
	{"POST", groupPath + "/virtualMachineScaleSets/{set}/{verb}", setsType, postScaleSet},
	{"LIST", groupPath + "/virtualMachineScaleSets/{set}/virtualMachines", vmsType, listInstances},
	{"GET", groupPath + "/virtualMachineScaleSets/{set}/virtualMachines/{instance}", vmsType, getInstance},
	{"PUT", groupPath + "/virtualMachineScaleSets/{set}/virtualMachines/{instance}", vmsType, putInstance},
	{"DELETE", groupPath + "/virtualMachineScaleSets/{set}/virtualMachines/{instance}", vmsType, deleteInstance},
	{"GET", groupPath + "/virtualMachineScaleSets/{set}/virtualMachines/{instance}/instanceView", vmsType + "/instanceView", getInstanceView},
	{"POST", groupPath + "/virtualMachineScaleSets/{set}/virtualMachines/{instance}/runCommand", vmsType + "/runcommand", runCommandOnInstance},
	{"POST", groupPath + "/virtualMachineScaleSets/{set}/virtualMachines/{instance}/{verb}", vmsType, postInstance},
}

var locationPatterns = []pattern{
	{"GET", wholePath + "/locations/{location}/operations/{operation}", "operations", getOperation},
	{"LIST", wholePath + "/locations/{location}/usages", "usages", listUsages},
}

// noParent is an empty segment behind a provider's name, which Resource Manager passes over: az asks so whether something without a parent is there.
var noParent = regexp.MustCompile(`(?i)(/providers/[^/]+)//`)

// match routes a request. A path nobody knows is a 404 with an empty handler; a
// known path with a foreign method is a 405.
func match(r *http.Request) (route, *problem) {
	segments := strings.Split(strings.Trim(noParent.ReplaceAllString(r.URL.Path, "$1/"), "/"), "/")
	wrongMethod := false
	for _, p := range rows[len(segments)] {
		found, ok := p.take(segments)
		if !ok {
			continue
		}
		method := p.method
		if method == "LIST" {
			method = http.MethodGet
		}
		if r.Method != method {
			wrongMethod = true
			continue
		}
		found.kind = p.method + " " + p.kind
		if found.verb != "" {
			found.kind += "/" + found.verb
		}
		found.action, found.scope = p.action(found.verb), p.scope(segments)
		found.handle = p.handle
		return found, nil
	}
	if wrongMethod {
		return route{kind: r.Method + " unsupported"}, methodNotAllowed(r.Method)
	}
	if found, ok := opaqueRoute(r.Method, segments); ok {
		return found, nil
	}
	return route{kind: r.Method + " unknown"}, fail(http.StatusNotFound, "InvalidResourceType",
		"The resource type could not be found for path '%s'.", r.URL.Path)
}

// take compares a row with as many path segments and picks out the named ones.
func (p row) take(segments []string) (route, bool) {
	var found route
	for i, w := range p.segments {
		switch w {
		case "{subscription}":
			found.subscription = segments[i]
		case "{group}":
			found.group = segments[i]
		case "{location}":
			found.location = segments[i]
		case "{set}":
			found.set = segments[i]
		case "{instance}":
			found.instance = segments[i]
		case "{operation}":
			found.operation = segments[i]
		case "{name}":
			found.name = segments[i]
		case "{any}":
		case "{verb}":
			found.verb = strings.ToLower(segments[i])
		default:
			if !strings.EqualFold(w, segments[i]) {
				return route{}, false
			}
		}
		if segments[i] == "" {
			return route{}, false
		}
	}
	return found, true
}

var apiVersion = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}(-(?i:preview|alpha|beta|rc|privatepreview))?$`)

// answer takes a request through Resource Manager's front door: api-version,
// token, scope, permission, throttle, then the resource provider.
func (q *request) answer() answer {
	for _, other := range []func() (answer, bool){q.authority, q.storage, q.vault} {
		if a, ok := other(); ok {
			return a
		}
	}
	var p *problem
	q.route, p = match(q.http)
	q.route.set = q.concerns()
	q.belonging()
	q.strike()
	if a, ok := q.faulted(); ok {
		return a
	}
	if p != nil {
		return p.answer()
	}
	for _, check := range []func() *problem{q.checkVersion, q.checkToken, q.authorize, q.checkScope, q.checkLocks, q.throttle} {
		if p := check(); p != nil {
			return q.decorate(p.answer())
		}
	}
	return q.decorate(q.perform())
}

func (q *request) checkVersion() *problem {
	switch v := q.query["api-version"]; {
	case len(v) == 0 || v[0] == "":
		return bad("MissingApiVersionParameter", "The api-version query parameter (?api-version=) is required for all requests.")
	case !apiVersion.MatchString(v[0]):
		return bad("InvalidApiVersionParameter",
			"The api-version '%s' is invalid. The supported versions are '2025-04-01,2024-11-01,2024-07-01'.", v[0])
	}
	return nil
}

// checkScope looks for the subscription and the resource group in the path.
func (q *request) checkScope() *problem {
	s, r := q.server, q.route
	if r.subscription == "" {
		return nil
	}
	known := slices.ContainsFunc(s.store.groups, func(g *resourceGroup) bool { return strings.EqualFold(g.subscription, r.subscription) }) ||
		slices.ContainsFunc(s.store.empty, func(id string) bool { return strings.EqualFold(id, r.subscription) })
	switch {
	case !known:
		return fail(http.StatusNotFound, "SubscriptionNotFound", "The subscription '%s' could not be found.", r.subscription)
	case r.group != "" && find(s.store.groups, groupID(r.subscription, r.group)) == nil:
		return fail(http.StatusNotFound, "ResourceGroupNotFound", "Resource group '%s' could not be found.", r.group)
	}
	return nil
}
