package certify

import (
	"context"
	"net/http"
	"strconv"
	"strings"
)

// The addresses of those who say most of the facts.
const (
	restErrors  = "https://learn.microsoft.com/azure/azure-resource-manager/troubleshooting/common-deployment-errors"
	absentGroup = "https://github.com/Azure/azure-powershell/issues/14556"
	quotaErrors = "https://learn.microsoft.com/azure/azure-resource-manager/troubleshooting/error-resource-quota"
	armLimits   = "https://learn.microsoft.com/azure/azure-resource-manager/management/request-limits-and-throttling"
	vmLimits    = "https://learn.microsoft.com/azure/virtual-machines/compute-throttling-limits"
	asyncCalls  = "https://learn.microsoft.com/azure/azure-resource-manager/management/async-operations"
	setAPI      = "https://learn.microsoft.com/rest/api/compute/virtual-machine-scale-sets"
	instanceIDs = "https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-instance-ids"
	scaleIn     = "https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-scale-in-policy"
	useSpot     = "https://learn.microsoft.com/azure/virtual-machine-scale-sets/use-spot"
	spotErrors  = "https://learn.microsoft.com/azure/virtual-machines/error-codes-spot"
	events      = "https://learn.microsoft.com/azure/virtual-machines/linux/scheduled-events"
	metadata    = "https://learn.microsoft.com/azure/virtual-machines/instance-metadata-service"
	throttling  = "https://learn.microsoft.com/troubleshoot/azure/virtual-machines/troubleshooting-throttling-errors"
	modes       = "https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-orchestration-modes"
	sdk         = "https://pkg.go.dev/github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7#"
)

// answerProbes ask for nothing to be made.
var answerProbes = []Probe{
	{
		Name: "refusals-bear-a-code", Source: absentGroup, Promises: []string{"S-21", "S-33"},
		Fact: "A refusal has its code in the body's error.code. A header x-ms-error-code, which may be missing, says the same.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			r, err := l.get(ctx, l.setPath("absent"), computeVersion)
			if err != nil {
				return Observation{}, err
			}
			header := r.Header.Get("X-Ms-Error-Code")
			return seen(r.Status == http.StatusNotFound && r.code() == "ResourceNotFound" && (header == "" || header == r.code()),
				"status", r.Status, "code", r.code(), "header", header), nil
		},
	},
	{
		Name: "absent-group-is-named", Source: absentGroup, Promises: []string{"S-21"},
		Fact: "A scale set of a resource group that is not there answers 404 ResourceGroupNotFound.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			path := strings.Replace(l.setPath("absent"), "/"+l.ledger.Group+"/", "/"+l.ledger.Group+"-absent/", 1)
			r, err := l.get(ctx, path, computeVersion)
			if err != nil {
				return Observation{}, err
			}
			return seen(r.Status == http.StatusNotFound && r.code() == "ResourceGroupNotFound", "status", r.Status, "code", r.code()), nil
		},
	},
	{
		Name: "usages-tell-quotas", Source: quotaErrors, Promises: []string{"S-33"},
		Fact: "A region's usages name cores, lowPriorityCores and the size's family, each with a limit and what is used.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			all, err := l.list(ctx, l.region("usages"), computeVersion)
			if err != nil {
				return Observation{}, err
			}
			has := map[string]bool{}
			for _, v := range all {
				_, limit := dig(v, "limit").(float64)
				_, used := dig(v, "currentValue").(float64)
				has[strings.ToLower(text(v, "name", "value"))] = limit && used
			}
			family := has[strings.ToLower(l.plan.Family)]
			return seen(has["cores"] && has["lowprioritycores"] && family, "cores", has["cores"], "lowPriorityCores", has["lowprioritycores"],
				"family", family), nil
		},
	},
	{
		Name: "sizes-tell-what-they-have", Source: "https://learn.microsoft.com/rest/api/compute/resource-skus/list", Promises: []string{"S-34"},
		Fact: "The list of a region's sizes shows the vCPUs, memory, data disks and architecture of each, and whether it is sold as spot.",
		Run: func(_ context.Context, l *Lab) (Observation, error) {
			var lacks []string
			for _, name := range []string{"vCPUs", "MemoryGB", "MaxDataDiskCount", "CpuArchitectureType", "LowPriorityCapable"} {
				if l.plan.capabilities[name] == "" {
					lacks = append(lacks, name)
				}
			}
			return seen(len(lacks) == 0, "lacks", strings.Join(lacks, " ")), nil
		},
	},
	{
		Name: "answers-tell-what-is-left", Source: armLimits, Promises: []string{"S-32"},
		Fact: "Answers to reads tell in the header x-ms-ratelimit-remaining-subscription-reads how many the front door still takes.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			r, err := l.get(ctx, l.path("Microsoft.Compute/virtualMachineScaleSets"), computeVersion)
			if err != nil {
				return Observation{}, err
			}
			var names []string
			for name := range r.Header {
				if kind, is := strings.CutPrefix(strings.ToLower(name), "x-ms-ratelimit-remaining-"); is {
					names = append(names, kind)
				}
			}
			_, err = strconv.Atoi(r.Header.Get("X-Ms-Ratelimit-Remaining-Subscription-Reads"))
			return seen(err == nil, "headers", sorted(names)), nil
		},
	},
	{
		Name: "compute-tells-what-is-left", Source: throttling, Promises: []string{"S-32"},
		Fact: "Answers of Microsoft.Compute tell in the header x-ms-ratelimit-remaining-resource what is left, as names of policies with numbers.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			r, err := l.get(ctx, l.path("Microsoft.Compute/virtualMachineScaleSets"), computeVersion)
			if err != nil {
				return Observation{}, err
			}
			var policies []string
			agrees := true
			for _, rule := range strings.Split(strings.Join(r.Header.Values("X-Ms-Ratelimit-Remaining-Resource"), ","), ",") {
				policy, left, _ := strings.Cut(strings.TrimSpace(rule), ";")
				_, err := strconv.Atoi(left)
				agrees = agrees && err == nil && strings.Contains(policy, "/")
				policies = append(policies, lastPart(policy))
			}
			return seen(agrees, "policies", sorted(policies)), nil
		},
	},
	{
		Name: "unknown-operation-is-not-found", Source: unseen, Promises: []string{"S-32"},
		Fact: "An operation that Azure does not know answers 404.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			r, err := l.get(ctx, l.region("operations/00000000-0000-4000-8000-000000000000"), computeVersion)
			if err != nil {
				return Observation{}, err
			}
			return seen(r.Status == http.StatusNotFound, "status", r.Status, "code", r.code()), nil
		},
	},
	{
		Name: "availability-set-has-no-capacity", Source: sdk + "AvailabilitySet", Promises: []string{"S-04", "S-06"},
		Fact: "An availability set, which costs nothing, shows neither a capacity nor an entity tag.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			path := l.path("Microsoft.Compute/availabilitySets/available")
			err := l.make(ctx, path, computeVersion, map[string]any{
				"sku": map[string]string{"name": "Aligned"}, "properties": map[string]any{"platformFaultDomainCount": 2, "platformUpdateDomainCount": 5},
			})
			if err != nil {
				return Observation{}, err
			}
			r, err := l.read(ctx, path, computeVersion)
			if err != nil {
				return Observation{}, err
			}
			capacity, tag := dig(r.body, "sku", "capacity") != nil, r.text("etag")+r.Header.Get("ETag") != ""
			return seen(!capacity && !tag, "capacity", capacity, "entity tag", tag), nil
		},
	},
	{
		Name: "autoscale-settings-are-listed", Source: unseen, Promises: []string{"S-36"},
		Fact: "The list of a group's autoscale settings is answered also where there is none.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			r, err := l.get(ctx, l.path("microsoft.insights/autoscalesettings"), "2022-10-01")
			if err != nil {
				return Observation{}, err
			}
			_, list := dig(r.body, "value").([]any)
			return seen(r.ok() && list, "status", r.Status, "code", r.code(), "a list", list), nil
		},
	},
	{
		Name: "deployments-end", Source: asyncCalls, Promises: []string{"S-40"},
		Fact: "A new deployment answers 201 with the address of its operation, which ends as Succeeded.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			template := map[string]any{
				"$schema":        "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
				"contentVersion": "1.0.0.0", "resources": []any{},
			}
			r, err := l.ask(ctx, http.MethodPut, l.path("Microsoft.Resources/deployments/empty"), groupsVersion, nil,
				map[string]any{"properties": map[string]any{"mode": "Incremental", "template": template}})
			if r, err = l.must("deploy nothing", r, err); err != nil {
				return Observation{}, err
			}
			e, err := l.follow(ctx, r)
			operation := r.Header.Get("Azure-AsyncOperation") != ""
			return seen(r.Status == http.StatusCreated && operation && e.last == "Succeeded", "status", r.Status, "operation", operation, "end", e.last), err
		},
	},
	{
		Name: "deployments-give-their-template", Source: unread, Promises: []string{"S-06", "S-40"},
		Fact: "A deployment gives the template that it was made of, and the parameters, so that it can be made again.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			path := l.path("Microsoft.Resources/deployments/given")
			template := map[string]any{
				"$schema":        "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
				"contentVersion": "1.0.0.0", "parameters": map[string]any{"count": map[string]string{"type": "int"}}, "resources": []any{},
			}
			r, err := l.ask(ctx, http.MethodPut, path, groupsVersion, nil, map[string]any{"properties": map[string]any{
				"mode": "Incremental", "template": template, "parameters": map[string]any{"count": map[string]int{"value": 3}},
			}})
			if r, err = l.must("deploy nothing", r, err); err != nil {
				return Observation{}, err
			}
			if _, err := l.follow(ctx, r); err != nil {
				return Observation{}, err
			}
			given, err := l.read(ctx, path, groupsVersion)
			if err != nil {
				return Observation{}, err
			}
			r, err = l.ask(ctx, http.MethodPost, path+"/exportTemplate", groupsVersion, nil, nil)
			if err != nil {
				return Observation{}, err
			}
			_, whole := dig(r.body, "template", "resources").([]any)
			kind := r.text("template", "parameters", "count", "type")
			count := number(given.body, "properties", "parameters", "count", "value")
			return seen(r.ok() && whole && strings.EqualFold(kind, "int") && count == 3, "status", r.Status, "code", r.code(), "template", whole, "parameter", count), nil
		},
	},
}
