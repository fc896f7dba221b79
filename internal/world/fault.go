package world

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"sluice.dev/sluice/internal/azuresim"
)

// Kinds of requests that faults strike and promises are about.
const (
	growRequest   = "PATCH virtualMachineScaleSets"
	deleteRequest = "POST virtualMachineScaleSets/delete"
	parkRequest   = "POST virtualMachineScaleSets/deallocate"
	startRequest  = "POST virtualMachineScaleSets/start"
)

// requests are the kinds of requests by what scripts call them, as patterns.
var requests = map[string]string{
	"any": "*", "grow": growRequest, "delete": deleteRequest, "deallocate": parkRequest, "start": startRequest, "list": "LIST *virtualMachines",
	"groups":    "LIST virtualMachineScaleSets",
	"operation": "GET operations", "sizes": "LIST skus", "token": "GET metadata/identity",
}

// poolRequests are those that are others where the groups are pools, of which all are in one list.
var poolRequests = map[string]string{
	"grow": "PUT deployments", "delete": "DELETE virtualMachines", "deallocate": "POST virtualMachines/deallocate", "start": "POST virtualMachines/start",
	"operation": "GET *operation*",
}

// requestsOf is the pattern of the requests that scripts call so; "" for none.
func (gs *nodeGroups) requestsOf(of string) string {
	if pattern := poolRequests[of]; pattern != "" && len(gs.pools) > 0 {
		return pattern
	}
	return requests[of]
}

// fault is a kind of trouble that a script can make.
type fault struct {
	name, about string
	of          string // the requests that it strikes unless the script says which; "": it strikes none, or what it can
	needs       string // the setting without which it means nothing
	make        func(*azuresim.Fault, *statement)
}

// faults are all of them. What most settings say is in the fault already when it is made.
var faults = []fault{
	// of machines
	{name: "never-boots", about: "machines that are created stay Creating", make: func(f *azuresim.Fault, _ *statement) { f.NeverBoots = true }},
	{name: "never-joins", about: "machines boot and their kubelets do not start; their boot logs are the section console of the scenario file, and an extension of theirs fails with the message extension", make: func(f *azuresim.Fault, _ *statement) { f.NeverJoins = true }},
	{name: "slow-boot", about: "machines take after to boot", needs: "after", make: takes},
	{name: "fails", about: "machines that are created end as failed, with code (AllocationFailed) after a while (5s)", make: machineError},
	{name: "same-name", about: "machines that are created have the computer name name, whoever else has it", needs: "name", make: func(f *azuresim.Fault, s *statement) {
		f.ComputerName = s.value("name", "")
	}},
	{name: "same-address", about: "machines that are created have the private address address, as those of another network may", needs: "address", make: func(f *azuresim.Fault, s *statement) {
		f.Address = s.value("address", "")
	}},
	{name: "delete-fails", about: "deletions are accepted and fail later, with code (AllocationFailed)", of: "delete", make: machineError},
	{name: "slow-delete", about: "machines take after to be deleted", of: "delete", needs: "after", make: takes},
	{name: "never-deleted", about: "machines that are deleted stay Deleting", of: "delete", make: func(f *azuresim.Fault, _ *statement) { f.NeverBoots = true }},
	{name: "survives", about: "deletions succeed, says Azure, and the machines are still there", of: "delete", make: func(f *azuresim.Fault, _ *statement) { f.Survives = true }},

	// of requests
	{name: "throttled", about: "requests are answered 429 with retry-after, naming the limit that is exceeded, such as limit=VMScaleSetVMViewsPerResource3Min, or in the usual words of style=arm (the front door) or compute", of: "any", make: func(f *azuresim.Fault, _ *statement) {
		f.Status = http.StatusTooManyRequests
	}},
	{name: "refused", about: "requests are refused with status and code", of: "any", needs: "status"},
	{name: "grow", about: "requests to grow are refused with status and code", of: "grow", needs: "status"},
	{name: "delete", about: "requests to delete machines are refused with status and code", of: "delete", needs: "status"},
	{name: "list", about: "lists of machines are refused with status and code", of: "list", needs: "status"},
	{name: "lost-request", about: "connections break before anything is done", of: "grow", make: func(f *azuresim.Fault, _ *statement) { f.LoseRequest = true }},
	{name: "lost-answer", about: "requests take effect and are not answered", of: "grow", make: func(f *azuresim.Fault, _ *statement) { f.LoseAnswer = true }},
	{name: "half-answer", about: "half of an answer arrives, and looks complete", of: "list", make: func(f *azuresim.Fault, _ *statement) { f.Truncate = true }},
	{name: "page", about: "a proxy answers with a page in Azure's place, with status (200)", of: "any", make: func(f *azuresim.Fault, _ *statement) { f.Page = true }},
	{name: "slow", about: "answers come after later, or never when that is more than 30s", of: "any", needs: "after", make: func(f *azuresim.Fault, _ *statement) {
		f.Delay, f.After = f.After, 0
	}},
	{name: "twice", about: "writes are carried out twice, as by a proxy that repeats them", of: "grow", make: func(f *azuresim.Fault, _ *statement) { f.Duplicate = true }},
	{name: "late", about: "writes are accepted and carried out after later, behind those that overtake them", of: "grow", needs: "after", make: func(f *azuresim.Fault, _ *statement) {
		f.Late, f.After = f.After, 0
	}},
	{name: "operation", about: "operations of writes end as fate says, and nothing else is wrong", of: "grow", needs: "fate", make: func(f *azuresim.Fault, s *statement) {
		f.Operation = map[string]string{"endless": "Endless", "canceled": "Canceled", "failed": "Failed", "not-found": "NotFound"}[s.value("fate", "")]
	}},

	// of what reads tell
	{name: "no-capacity", about: "reads say that the capacity is null", make: func(f *azuresim.Fault, _ *statement) { f.NullCapacity = true }},
	{name: "capacity", about: "reads say that the capacity is count (0)", make: func(f *azuresim.Fault, _ *statement) {
		f.FalseCapacity, f.Omit = new(f.Omit), 0
	}},
	{name: "no-etag", about: "reads show scale sets without their entity tags", make: func(f *azuresim.Fault, _ *statement) { f.NoETag = true }},
	{name: "short-list", about: "the last count machines, or groups, are missing in lists", of: "list", needs: "count"},
	{name: "empty-list", about: "lists of machines, or of groups, are empty", of: "list", make: func(f *azuresim.Fault, _ *statement) { f.Omit = -1 }},
	{name: "one-page", about: "lists end after their first page of count machines", of: "list", needs: "count", make: func(f *azuresim.Fault, _ *statement) {
		f.Pages, f.PageSize, f.Omit = 1, f.Omit, 0
	}},
	{name: "circle", about: "each page of a list links to itself", of: "list", make: func(f *azuresim.Fault, _ *statement) { f.Circle = true }},
	{name: "stale", about: "reads tell what was so after ago, but nothing from before the fault", needs: "after", make: func(f *azuresim.Fault, _ *statement) {
		f.Stale, f.After = f.After, 0
	}},
	{name: "frozen", about: "reads tell what was so when the fault began", make: func(f *azuresim.Fault, _ *statement) { f.Frozen = true }},
	{name: "clock", about: "Azure's clock is ahead by after", needs: "after", make: func(f *azuresim.Fault, _ *statement) {
		f.Skew, f.After = f.After, 0
	}},
}

func takes(f *azuresim.Fault, _ *statement) { f.Takes, f.After = f.After, 0 }

func machineError(f *azuresim.Fault, _ *statement) {
	f.MachineError, f.Code = f.Code, ""
	if f.MachineError == "" {
		f.MachineError = "AllocationFailed"
	}
}

func faultHelp() string {
	parts := make([]string, len(faults))
	for i, f := range faults {
		parts[i] = f.name + ": " + f.about
	}
	return "makes trouble in Azure, times times, for a while, or until heal, and spares the first skip. of is " + strings.Join(sortedKeys(requests), ", ") +
		". " + strings.Join(parts, "; ")
}

func doFault(w *world, s *statement) error {
	i := slices.IndexFunc(faults, func(f fault) bool { return f.name == s.names[0] })
	if i < 0 {
		var names []string
		for _, known := range faults {
			names = append(names, known.name)
		}
		return fmt.Errorf("fault: %q is no trouble known here; there are %s", s.names[0], strings.Join(names, ", "))
	}
	kind := faults[i]
	if kind.needs != "" && !s.has(kind.needs) {
		return fmt.Errorf("fault %s: give %s", kind.name, map[string]string{
			"status": "the status of the answer, such as status=500", "count": "a number of machines, such as count=2", "after": "a duration, such as after=5m",
			"fate": "what becomes of the operation: fate=endless, canceled, failed or not-found", "name": "the computer name, such as name=agents000001", "address": "the private address, such as address=10.0.0.4",
		}[kind.needs])
	}
	f, err := w.readFault(kind, s)
	if err != nil {
		return err
	}
	if kind.make != nil {
		kind.make(&f, s)
	}
	if name := s.value("console", ""); name != "" {
		log, ok := w.fixtures[name]
		if !ok {
			return fmt.Errorf("fault %s: console=%s: the scenario has no section of that name", kind.name, name)
		}
		f.Console = string(log)
	}
	f.Extension = s.value("extension", "")
	if err := f.Check(); err != nil {
		return fmt.Errorf("fault %s: %w", kind.name, err)
	}
	w.azure.Inject(f)
	return nil
}

// readFault reads whom a fault strikes and when, and the settings that have the same meaning in many.
func (w *world) readFault(kind fault, s *statement) (f azuresim.Fault, err error) {
	f = azuresim.Fault{ScaleSet: s.value("group", ""), Code: s.value("code", ""), Message: s.value("message", "")}
	of := s.value("of", kind.of)
	if f.Kind = w.groups.requestsOf(of); of != "" && f.Kind == "" {
		return f, s.bad("of", of, strings.Join(sortedKeys(requests), ", "))
	}
	if target := s.value("limit", ""); target != "" {
		f.Details = []azuresim.Detail{{Code: "TooManyRequests", Target: target}}
	}
	if s.has("style") {
		if f.Style, err = s.oneOf("style", "arm", "compute"); err != nil {
			return f, err
		}
	}
	if s.has("fate") {
		if _, err := s.oneOf("fate", "endless", "canceled", "failed", "not-found"); err != nil {
			return f, err
		}
		if f.Kind == poolRequests["grow"] {
			f.Kind = "PUT virtualMachines" // of the deployment, which is no operation of its own
		}
	}
	for setting, to := range map[string]*int{"times": &f.Times, "skip": &f.Skip, "status": &f.Status, "count": &f.Omit} {
		if *to, err = s.number(setting, 0); err != nil {
			return f, err
		}
	}
	if f.After, err = s.duration("after", 0); err != nil {
		return f, err
	}
	if f.RetryAfter, err = s.duration("retry-after", 0); err != nil {
		return f, err
	}
	lasts, err := s.duration("for", 0)
	if lasts > 0 {
		f.Until = w.now().Add(lasts)
	}
	return f, err
}

func doHeal(w *world, _ *statement) error {
	w.azure.ClearFaults()
	return w.endings.end(true)
}
