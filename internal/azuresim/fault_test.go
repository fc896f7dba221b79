package azuresim_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/internal/azuresim"
)

func TestAThrottledReadSaysWhenToComeBack(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	a.Inject(azuresim.Fault{Kind: "GET virtualMachineScaleSets", ScaleSet: "Agents", Status: 429, RetryAfter: 20 * time.Minute, Bare: true, Times: 1})
	_, err := a.sets.Get(context.Background(), group, "agents", nil)
	var re *azcore.ResponseError
	if !errors.As(err, &re) || re.StatusCode != 429 || re.ErrorCode != "TooManyRequests" || re.RawResponse.Header.Get("Retry-After") != "1200" {
		t.Fatalf("got %v", err)
	}
	a.capacity() // the fault struck once
}

func TestBucketsRunDryAndFillAgain(t *testing.T) {
	a := newAzure(t, func(s *azuresim.Server) { s.Throttle = true })
	a.agents(1)
	for range 12 {
		_, err := a.resize(1, nil)
		a.must(err)
	}
	_, err := a.resize(1, nil)
	var re *azcore.ResponseError
	if !errors.As(err, &re) || re.StatusCode != 429 || re.ErrorCode != "OperationNotAllowed" || re.RawResponse.Header.Get("Retry-After") != "15" {
		t.Fatalf("the thirteenth write: %v", err)
	}
	a.advance(15 * time.Second)
	_, err = a.resize(1, nil)
	a.must(err)
	resp, _ := a.wire("GET", setPath+version, "")
	want := "Microsoft.Compute/GetVMScaleSetResource;35,Microsoft.Compute/GetVMScaleSetSubscription;2399"
	if got := resp.Header.Get("X-Ms-Ratelimit-Remaining-Resource"); got != want {
		t.Errorf("remaining %s, want %s", got, want)
	}
	if got := resp.Header.Get("X-Ms-Ratelimit-Remaining-Subscription-Reads"); got != "249" {
		t.Errorf("remaining reads %s, want 249", got)
	}
}

func TestBrokenConnections(t *testing.T) {
	for name, tc := range map[string]struct {
		fault    azuresim.Fault
		capacity int64
	}{
		"a lost request changes nothing":    {azuresim.Fault{LoseRequest: true}, 1},
		"a lost answer has been acted upon": {azuresim.Fault{LoseAnswer: true}, 3},
		"a server error changes nothing":    {azuresim.Fault{Status: 500}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAzure(t)
			a.agents(1)
			tc.fault.Kind, tc.fault.Times = "PATCH virtualMachineScaleSets", 1
			a.Inject(tc.fault)
			_, err := a.resize(3, nil)
			if err == nil {
				t.Error("the client noticed nothing")
			}
			if (tc.fault.LoseAnswer || tc.fault.LoseRequest) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("got %v, want a broken connection", err)
			}
			if got := a.capacity(); got != tc.capacity {
				t.Errorf("capacity %d, want %d", got, tc.capacity)
			}
		})
	}
}

func TestHalfAnAnswerIsNotJSON(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	a.Inject(azuresim.Fault{Kind: "GET virtualMachineScaleSets", Truncate: true, Times: 1})
	if _, err := a.sets.Get(context.Background(), group, "agents", nil); err == nil {
		t.Error("the client noticed nothing")
	}
}

func TestReadsLieWhenTold(t *testing.T) {
	a := newAzure(t)
	a.agents(4)
	a.Inject(azuresim.Fault{ScaleSet: "agents", NullCapacity: true, Times: 1})
	a.Inject(azuresim.Fault{ScaleSet: "agents", FalseCapacity: to.Ptr(0), Times: 1})
	a.Inject(azuresim.Fault{Kind: "LIST virtualMachineScaleSets/virtualMachines", Omit: 3, Times: 1})
	a.Inject(azuresim.Fault{Kind: "LIST virtualMachineScaleSets/virtualMachines", Omit: -1, Times: 1})
	if got := a.scaleSet().SKU.Capacity; got != nil {
		t.Errorf("capacity %d, want null", *got)
	}
	if got := a.capacity(); got != 0 {
		t.Errorf("capacity %d, want the lie 0", got)
	}
	for _, want := range [][]string{{"0"}, {}, {"0", "1", "2", "3"}} {
		if diff := cmp.Diff(want, a.ids()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestMachinesThatFailKeepToTheScript(t *testing.T) {
	a := newAzure(t)
	a.agents(0)
	a.Inject(azuresim.Fault{NeverBoots: true, Times: 1})
	a.Inject(azuresim.Fault{NeverJoins: true, Times: 1})
	a.Inject(azuresim.Fault{MachineError: "OSProvisioningTimedOut", Times: 1})
	p, err := a.resize(3, nil)
	a.must(err)
	a.advance(19 * time.Minute)
	a.must2(p.Poll(context.Background()))
	if p.Done() {
		t.Error("the operation ended before the provisioning timed out")
	}
	a.advance(time.Minute)
	a.must2(p.Poll(context.Background()))
	if _, err := p.Result(context.Background()); err == nil || !strings.Contains(err.Error(), "OSProvisioningTimedOut") {
		t.Errorf("result: %v", err)
	}
	type row struct {
		State, Error       string
		NeverJoins, Booted bool
	}
	var got []row
	for _, m := range a.Machines() {
		got = append(got, row{m.ProvisioningState, m.Error, m.NeverJoins, !m.BootedAt.IsZero()})
	}
	want := []row{{"Creating", "", false, false}, {"Succeeded", "", true, true}, {"Failed", "OSProvisioningTimedOut", false, false}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAFailedDeleteKeepsTheMachineAndItsPlaceInCapacity(t *testing.T) {
	a := newAzure(t)
	a.agents(3)
	a.Inject(azuresim.Fault{Kind: "POST virtualMachineScaleSets/delete", MachineError: "InternalExecutionError", Times: 1})
	for try, want := range []struct {
		capacity int64
		ids      []string
		err      string
	}{{3, []string{"0", "1", "2"}, "InternalExecutionError"}, {2, []string{"0", "2"}, ""}} {
		p, err := a.sets.BeginDeleteInstances(context.Background(), group, "agents",
			armcompute.VirtualMachineScaleSetVMInstanceRequiredIDs{InstanceIDs: to.SliceOfPtrs("1")}, nil)
		a.must(err)
		if got := a.capacity(); got != 2 {
			t.Errorf("try %d: capacity %d while deleting, want 2", try, got)
		}
		a.advance(time.Minute)
		a.must2(p.Poll(context.Background()))
		_, err = p.Result(context.Background())
		if (err == nil) != (want.err == "") || err != nil && !strings.Contains(err.Error(), want.err) {
			t.Errorf("try %d: %v", try, err)
		}
		if got := a.capacity(); got != want.capacity {
			t.Errorf("try %d: capacity %d, want %d", try, got, want.capacity)
		}
		if diff := cmp.Diff(want.ids, a.ids()); diff != "" {
			t.Errorf("try %d (-want +got):\n%s", try, diff)
		}
	}
}

func TestTheLocationOfAnActionTellsItsEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		fault azuresim.Fault
		want  []int // statuses: at once, and after a minute
	}{
		"done":   {azuresim.Fault{}, []int{202, 204}},
		"failed": {azuresim.Fault{Kind: "POST virtualMachineScaleSets/delete", MachineError: "InternalExecutionError"}, []int{202, 409}},
		"stuck":  {azuresim.Fault{Kind: "POST virtualMachineScaleSets/delete", NeverBoots: true}, []int{202, 202}},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAzure(t)
			a.agents(1)
			a.Inject(tc.fault)
			resp, _ := a.wire("POST", setPath+"/delete"+version, `{"instanceIds":["0"]}`)
			location := resp.Header.Get("Location")
			var got []int
			for range tc.want {
				resp, _ := a.wireFrom("", "GET", location, "", "Authorization", "Bearer "+a.token())
				got = append(got, resp.StatusCode)
				a.advance(time.Minute)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheLogTellsWhatWasAsked(t *testing.T) {
	a := newAzure(t)
	a.agents(2)
	a.Inject(azuresim.Fault{Kind: "PATCH virtualMachineScaleSets", Status: 429, Times: 1})
	_, _ = a.resize(5, to.Ptr(`"1"`))
	_, _ = a.sets.BeginDeleteInstances(context.Background(), group, "agents",
		armcompute.VirtualMachineScaleSetVMInstanceRequiredIDs{InstanceIDs: to.SliceOfPtrs("7", "8")}, nil)
	type row struct {
		Kind, ScaleSet, Code, IfMatch, Principal string
		Status                                   int
		Capacity                                 int64
		IDs                                      []string
	}
	var got []row
	for _, r := range a.Requests() {
		if r.Kind == "POST token" || r.Kind == "GET openid-configuration" {
			continue
		}
		x := row{r.Kind, r.ScaleSet, r.Code, r.IfMatch, r.Principal, r.Status, 0, r.InstanceIDs}
		if r.Capacity != nil {
			x.Capacity = *r.Capacity
		}
		got = append(got, x)
	}
	want := []row{
		{"PATCH virtualMachineScaleSets", "agents", "TooManyRequests", `"1"`, "", 429, 5, nil},
		{"POST virtualMachineScaleSets/delete", "agents", "InvalidParameter", "", clientID, 400, 0, []string{"7", "8"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnOperationIsFollowedInEveryForm(t *testing.T) {
	for name, tc := range map[string]struct {
		polling string
		headers []string
	}{
		"the compute provider's": {"", []string{"Azure-AsyncOperation"}},
		"the newer one":          {"Operation-Location", []string{"Operation-Location"}},
		"the oldest one":         {"Location", []string{"Location"}},
		"by the resource itself": {"body", nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAzure(t)
			a.agents(1)
			if tc.polling != "" {
				a.Inject(azuresim.Fault{Kind: "PATCH *", Polling: tc.polling})
			}
			resp, body := a.wire("PATCH", setPath+version, `{"sku":{"capacity":2}}`)
			var headers []string
			for _, h := range []string{"Azure-AsyncOperation", "Operation-Location", "Location"} {
				if resp.Header.Get(h) != "" {
					headers = append(headers, h)
				}
			}
			if diff := cmp.Diff(tc.headers, headers); diff != "" {
				t.Errorf("%s (-want +got):\n%s", body, diff)
			}
			p, err := a.resize(3, nil)
			a.must(err)
			a.must2(p.Poll(context.Background()))
			if p.Done() {
				t.Fatal("it ended before its machines were up")
			}
			a.advance(2 * time.Minute)
			a.must2(p.Poll(context.Background()))
			result, err := p.Result(context.Background())
			a.must(err)
			if result.SKU == nil || *result.SKU.Capacity != 3 {
				t.Errorf("it ends with %v, want the scale set with 3 machines", result.SKU)
			}
		})
	}
}
