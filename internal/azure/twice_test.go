package azure_test

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/internal/azuresim"
)

func TestOneBadAnswerIsLookedAtTwice(t *testing.T) {
	for name, fault := range map[string]azuresim.Fault{
		"a short list":            {Kind: listMachines, Omit: 3},
		"a forbidden list":        {Kind: listMachines, Status: http.StatusForbidden},
		"half a list":             {Kind: listMachines, Truncate: true},
		"a page of a proxy":       {Kind: listMachines, Page: true},
		"a failing read":          {Kind: getSet, Status: http.StatusInternalServerError},
		"a lost connection":       {Kind: getSet, LoseRequest: true},
		"no capacity":             {Kind: getSet, NullCapacity: true},
		"a list that lacks it":    {Kind: listSets, Omit: -1},
		"a forbidden list of all": {Kind: listSets, Status: http.StatusForbidden},
		"half a list of all":      {Kind: listSets, Truncate: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, set("agents", 5))
			w.open(w.options("0:9:agents"))
			w.groups()
			fault.Times = 1
			w.sim.Inject(fault)
			w.now = w.now.Add(2 * time.Minute)
			if fault.Kind == listSets {
				if g := w.groups()["agents"]; !g.Usable() || len(g.Instances) != 5 {
					t.Errorf("the group is %+v, want it usable", g)
				}
			} else if g, err := w.Group(context.Background(), "agents"); err != nil || len(g.Instances) != 5 {
				t.Errorf("the group is %+v with error %v, want it read", g, err)
			}
			if left := w.sim.Faults(); len(left) != 0 {
				t.Errorf("the fault has not struck: %+v", left)
			}
		})
	}
}

// TestARefusedGrowthIsTakenAtItsWordAtOnceOrTheSecondTime: what cannot be had is believed at once.
func TestARefusedGrowthIsTakenAtItsWordAtOnceOrTheSecondTime(t *testing.T) {
	for name, tc := range map[string]struct {
		fault         azuresim.Fault
		first, second cloud.Kind
	}{
		"forbidden":     {azuresim.Fault{Status: http.StatusForbidden}, cloud.Conflict, cloud.Unauthorized},
		"failing":       {azuresim.Fault{Status: http.StatusInternalServerError}, cloud.Transient, cloud.Transient}, // Azure may have done it
		"entity tag":    {azuresim.Fault{Status: http.StatusPreconditionFailed}, cloud.Conflict, cloud.Conflict},
		"busy":          {azuresim.Fault{Status: http.StatusConflict}, cloud.Conflict, cloud.Conflict},
		"not offered":   {azuresim.Fault{Status: http.StatusConflict, Code: "SkuNotAvailable"}, cloud.Unavailable, cloud.Unavailable},
		"no allocation": {azuresim.Fault{Status: http.StatusConflict, Code: "AllocationFailed"}, cloud.Allocation, cloud.Allocation},
		"a policy":      {azuresim.Fault{Status: http.StatusForbidden, Code: "RequestDisallowedByPolicy"}, cloud.Denied, cloud.Denied},
		"throttled":     {azuresim.Fault{Status: http.StatusTooManyRequests}, cloud.Throttled, cloud.Throttled},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, set("agents", 2))
			w.open(w.options("0:9:agents"))
			tc.fault.Kind = patchSet
			w.sim.Inject(tc.fault)
			grow := func() cloud.Kind {
				g, err := w.Group(context.Background(), "agents")
				w.must(err)
				return cloud.KindOf(w.SetCapacity(context.Background(), g, 3))
			}
			for i, want := range []cloud.Kind{tc.first, tc.second, tc.second} {
				if got := grow(); got != want {
					t.Errorf("refusal %d is of kind %q, want %q", i+1, got, want)
				}
				w.now = w.now.Add(time.Second)
			}
			w.sim.ClearFaults()
			w.now = w.now.Add(time.Minute)
			if got := grow(); got != "" {
				t.Errorf("without the fault it is refused as %q", got)
			}
			w.pass(3 * time.Minute)
			w.sim.Inject(tc.fault)
			g, err := w.Group(context.Background(), "agents")
			w.must(err)
			if got := cloud.KindOf(w.SetCapacity(context.Background(), g, 4)); got != tc.first {
				t.Errorf("after a growth that was accepted the first refusal is of kind %q, want %q", got, tc.first)
			}
		})
	}
}

func TestAListInACircleEndsAtTheSecondSightOfALink(t *testing.T) {
	w := newWorld(t, set("agents", 2))
	w.open(w.options("0:9:agents"))
	w.groups()
	before := w.sim.Counters()[listMachines]
	w.sim.Inject(azuresim.Fault{Kind: listMachines, Circle: true})
	_, err := w.Group(context.Background(), "agents")
	if e := errorOf(t, err); e.Kind != cloud.Transient || e.Code != "UnreadableAnswer" || !strings.Contains(e.Message, "read already") {
		t.Errorf("the error is %+v, want one that says it", e)
	}
	if n := w.sim.Counters()[listMachines] - before; n != 4 { // twice, each ends with the second page
		t.Errorf("%d lists, want 4", n)
	}
	if g := w.groups()["agents"]; g.Problem == "" || len(g.Instances) != 2 {
		t.Errorf("agents is %+v, want its last machines and a problem", g)
	}
}

// goTypes are words of programmers that no operator should read.
var goTypes = regexp.MustCompile(`\*?arm\w+\.|\bstruct\b|unmarshal|Go value|\bint32\b|Credential\b|json:|\*\w+\.`)

func TestBrokenAnswersAreToldWithoutTypesOfThisProgram(t *testing.T) {
	for name, fault := range map[string]azuresim.Fault{
		"a page":                        {Page: true},
		"a page that refuses":           {Page: true, Status: http.StatusForbidden},
		"a page in the place of a list": {Kind: listSets, Page: true},
		"half an answer":                {Truncate: true},
		"half a list":                   {Kind: listSets, Truncate: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, set("agents", 2))
			w.open(w.options("0:9:agents"))
			w.groups()
			w.sim.Inject(fault)
			w.now = w.now.Add(2 * time.Minute)
			_, listed := w.Groups(context.Background())
			_, err := w.Group(context.Background(), "agents")
			for _, e := range []error{listed, err} {
				if e == nil {
					continue
				}
				if got := goTypes.FindString(e.Error()); got != "" {
					t.Errorf("%q in %v", got, e)
				}
				if fault.Page && !strings.Contains(e.Error(), "something between answers in its place") {
					t.Errorf("it is not said who answers: %v", e)
				}
				if cloud.KindOf(e) != cloud.Transient {
					t.Errorf("kind %q, want transient: %v", cloud.KindOf(e), e)
				}
			}
		})
	}
}
