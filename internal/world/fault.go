package world

import (
	"fmt"
	"net/http"
	"strings"

	"sluice.dev/sluice/internal/azuresim"
)

// Kinds of requests that faults strike.
const (
	growRequest   = "PATCH virtualMachineScaleSets"
	deleteRequest = "POST virtualMachineScaleSets/delete"
	parkRequest   = "POST virtualMachineScaleSets/deallocate"
	startRequest  = "POST virtualMachineScaleSets/start"
	listRequest   = "LIST virtualMachineScaleSets/virtualMachines"
)

// fault is a kind of trouble that a script can make.
type fault struct {
	name, about string
	make        func(azuresim.Fault) azuresim.Fault
}

// faults are all of them; what the statement sets is there already.
var faults = []fault{
	{"never-boots", "machines that are created stay Creating", func(f azuresim.Fault) azuresim.Fault {
		f.NeverBoots = true
		return f
	}},
	{"never-joins", "machines boot and their kubelets do not start", func(f azuresim.Fault) azuresim.Fault {
		f.NeverJoins = true
		return f
	}},
	{"fails", "machines that are created end as failed, with code (AllocationFailed) after a while (5s)", func(f azuresim.Fault) azuresim.Fault {
		f.MachineError = f.Code
		if f.MachineError == "" {
			f.MachineError = "AllocationFailed"
		}
		f.Code = ""
		return f
	}},
	{"throttled", "all requests are answered 429 with retry-after", func(f azuresim.Fault) azuresim.Fault {
		f.Status = http.StatusTooManyRequests
		return f
	}},
	{"grow", "requests to grow are refused with status and code", func(f azuresim.Fault) azuresim.Fault {
		f.Kind = growRequest
		return f
	}},
	{"delete", "requests to delete machines are refused with status and code", func(f azuresim.Fault) azuresim.Fault {
		f.Kind = deleteRequest
		return f
	}},
	{"list", "lists of machines are refused with status and code", func(f azuresim.Fault) azuresim.Fault {
		f.Kind = listRequest
		return f
	}},
	{"lost-answer", "requests to grow take effect and are not answered", func(f azuresim.Fault) azuresim.Fault {
		f.Kind, f.LoseAnswer = growRequest, true
		return f
	}},
	{"no-capacity", "reads say that the capacity is null", func(f azuresim.Fault) azuresim.Fault {
		f.NullCapacity = true
		return f
	}},
	{"capacity", "reads say that the capacity is count", func(f azuresim.Fault) azuresim.Fault {
		f.FalseCapacity, f.Omit = new(f.Omit), 0
		return f
	}},
	{"short-list", "the last count machines are missing in lists", func(f azuresim.Fault) azuresim.Fault {
		f.Kind = listRequest
		return f
	}},
}

func faultHelp() string {
	parts := make([]string, len(faults))
	for i, f := range faults {
		parts[i] = f.name + ": " + f.about
	}
	return "makes trouble in Azure, times times or until heal. " + strings.Join(parts, "; ")
}

func doFault(w *world, s *statement) error {
	var err error
	f := azuresim.Fault{ScaleSet: s.value("group", ""), Code: s.value("code", ""), Message: s.value("message", "")}
	if f.Times, err = s.number("times", 0); err != nil {
		return err
	}
	if f.Status, err = s.number("status", 0); err != nil {
		return err
	}
	if f.Omit, err = s.number("count", 0); err != nil {
		return err
	}
	if f.After, err = s.duration("after", 0); err != nil {
		return err
	}
	if f.RetryAfter, err = s.duration("retry-after", 0); err != nil {
		return err
	}
	var names []string
	for _, known := range faults {
		if known.name != s.names[0] {
			names = append(names, known.name)
			continue
		}
		made := known.make(f)
		switch known.name {
		case "grow", "delete", "list":
			if made.Status < 400 {
				return fmt.Errorf("fault %s: give the status of the answer, such as status=500", known.name)
			}
		case "short-list":
			if made.Omit == 0 {
				return fmt.Errorf("fault short-list: give the number of machines that are missing, such as count=2")
			}
		}
		if err := made.Check(); err != nil {
			return fmt.Errorf("fault %s: %w", known.name, err)
		}
		w.azure.Inject(made)
		return nil
	}
	return fmt.Errorf("fault: %q is no trouble known here; there are %s", s.names[0], strings.Join(names, ", "))
}

func doHeal(w *world, _ *statement) error {
	w.azure.ClearFaults()
	return nil
}
