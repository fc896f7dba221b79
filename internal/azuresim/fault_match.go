package azuresim

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// occasion is a chance for a fault: a request, or a machine on its way in or out.
type occasion struct {
	kind      string // of the request; "": a hand of others
	set       string
	pools     []string // that a list is about
	resource  string
	principal string
	machine   bool
	deleted   bool // of a machine: on its way out
}

// strike is the fault that strikes an occasion; nil when none does.
func (fs *faults) strike(o occasion, seed uint64, now time.Time) *injected {
	for n, f := range fs.list {
		if !f.matches(o) || now.Before(f.From) || !f.Until.IsZero() && !now.Before(f.Until) {
			continue
		}
		f.Matched++
		if f.Matched <= f.Skip {
			continue
		}
		if f.Chance > 0 && random(seed, "fault", f.serial, f.Matched).Float64() >= f.Chance {
			continue
		}
		f.Struck++
		if f.Times > 0 && f.Struck == f.Times {
			fs.list = slices.Delete(fs.list, n, n+1)
		}
		return f
	}
	return nil
}

// strike finds the fault of a request.
func (q *request) strike() {
	o := occasion{kind: q.route.kind, set: q.route.set, pools: q.about(), resource: strings.TrimRight(q.http.URL.Path, "/")}
	if token, ok := strings.CutPrefix(q.http.Header.Get("Authorization"), "Bearer "); ok {
		if c, ours := q.server.verified.read(token, q.server.Seed); ours {
			o.principal = c.AppID
		}
	}
	if f := q.server.faults.strike(o, q.server.Seed, q.now); f != nil {
		q.fault, q.cause = f.Fault, f
	}
}

func (f *Fault) strikesMachines() bool {
	return f.MachineError != "" || f.NeverBoots || f.NeverJoins || f.Console != "" || f.Extension != "" || f.Takes > 0 || f.Survives || f.ReuseID || f.ComputerName != "" || f.Address != ""
}

func (f *Fault) strikesWrites() bool {
	return f.Duplicate || f.Late > 0 || f.Operation != "" || f.Polling != ""
}
func (f *Fault) strikesLists() bool {
	return f.Omit != 0 || len(f.Hide) > 0 || f.Pages > 0 || f.PageSize > 0 || f.Circle
}
func (f *Fault) strikesModel() bool { return f.NullCapacity || f.FalseCapacity != nil || f.NoETag }
func (f *Fault) stale() bool        { return f.Stale > 0 || f.Frozen }
func (f *Fault) strikesRequests() bool {
	return f.Status != 0 || f.LoseRequest || f.LoseAnswer || f.Hang || f.Delay > 0 || f.Truncate || f.Page || len(f.Header) > 0 ||
		f.strikesWrites() || f.strikesLists() || f.strikesModel() || f.stale() || f.strikesDocuments() || f.Oversize > 0 || f.Skew != 0
}
func (f *Fault) strikesDocuments() bool {
	return f.StaleNonce || f.DocumentOf != "" || f.DocumentSubscription != "" || f.DocumentAge > 0
}

func (f *Fault) matches(o occasion) bool {
	switch {
	case f.strikesMachines() != o.machine:
		return false
	case o.machine && (f.Survives || isDelete(f.Kind)) != o.deleted:
		return false
	case !like(f.Kind, o.kind) || !like(f.Resource, o.resource):
		return false
	case f.Principal != "" && !o.machine && !strings.EqualFold(f.Principal, o.principal):
		return false
	}
	if f.strikesDocuments() && o.kind != "GET metadata/attested" || f.Oversize > 0 && o.kind != "GET pkiops/certs" {
		return false
	}
	set := like(f.ScaleSet, o.set) || slices.ContainsFunc(o.pools, func(pool string) bool { return like(f.ScaleSet, pool) })
	if f.strikesModel() {
		switch o.kind {
		case "LIST " + setsType: // about many: the fault picks its own among them
			set = true
		case "GET " + setsType:
		default:
			return false
		}
	}
	read := isRead(o.kind) || o.kind == "POST token" || strings.HasPrefix(o.kind, "POST metadata/")
	return set && (!f.strikesLists() || strings.HasPrefix(o.kind, "LIST ")) && (!f.stale() || isRead(o.kind) && !strings.Contains(o.kind, " metadata/")) && (!f.strikesWrites() || !read)
}

func isDelete(kind string) bool {
	return strings.HasPrefix(kind, "DELETE ") || strings.HasSuffix(strings.ToLower(kind), "/delete")
}

func isRead(kind string) bool {
	method, _, _ := strings.Cut(kind, " ")
	return method == "LIST" || isReadMethod(method)
}

func isReadMethod(method string) bool {
	return method == "" || method == http.MethodGet || method == http.MethodHead
}

// like compares text with a pattern in which * stands for any text; an empty
// pattern fits everything. Letter case does not count.
func like(pattern, text string) bool { return pattern == "" || wildcard(pattern, text) }

// operationFates are the values of Fault.Operation.
var operationFates = []string{"Endless", "Canceled", "Failed", "NotFound"}

// pollings are the values of Fault.Polling.
var pollings = []string{"Operation-Location", "Location", "body"}

// Check refuses a fault that could never strike, or that says two things at once.
func (f *Fault) Check() error {
	switch machines, requests := f.strikesMachines(), f.strikesRequests(); {
	case !machines && !requests:
		return errors.New("it says when and not what: give, for example, status: 429, hang: true or neverBoots: true")
	case machines && requests:
		return errors.New("it strikes both requests and machines: make two faults of it")
	case f.Operation != "" && !slices.Contains(operationFates, f.Operation):
		return fmt.Errorf("operation %q is unknown: use %s", f.Operation, strings.Join(operationFates, ", "))
	case f.Polling != "" && !slices.Contains(pollings, f.Polling):
		return fmt.Errorf("polling %q is unknown: use %s", f.Polling, strings.Join(pollings, ", "))
	case f.Style != "" && f.Style != "arm" && f.Style != "compute":
		return fmt.Errorf("style %q is unknown: use arm or compute", f.Style)
	case f.Status != 0 && (f.Status < 400 || f.Status > 599):
		return fmt.Errorf("status %d is no error: use 400 to 599", f.Status)
	case f.Chance < 0 || f.Chance > 1:
		return fmt.Errorf("chance %v is not between 0 and 1", f.Chance)
	case f.Skip < 0 || f.Times < 0 || f.Pages < 0 || f.PageSize < 0:
		return errors.New("skip, times, pages and pageSize are not negative")
	case !f.Until.IsZero() && !f.Until.After(f.From):
		return errors.New("until is not after from: it never strikes")
	case f.strikesWrites() && f.Kind != "" && isRead(f.Kind) && !strings.HasPrefix(f.Kind, "*"):
		return fmt.Errorf("duplicate, late, polling and operation strike writes, and kind %q is a read", f.Kind)
	case f.Applied && f.Status == 0:
		return errors.New("applied goes with a status, which is what is answered in the place of the truth")
	}
	return nil
}
