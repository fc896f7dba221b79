package world

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/journal"
)

// next is what sluice does after a failed growth: the group that grows, and when, as time since the start.
type next struct {
	group           string
	after, atLatest time.Duration
}

var (
	elsewhere = next{"dear", 0, 30 * time.Second}            // the next-best group is asked, within half a minute even of an asynchronous failure
	late      = next{"dear", time.Minute, 90 * time.Second}  // the same, when the operation takes a minute to fail
	rested    = next{"cheap", 30 * time.Second, time.Minute} // the same group once the class of requests may be sent again, 30 s where Azure names no time
	again     = next{"cheap", 0, 30 * time.Second}           // the same group from a new read: nothing is wrong with it
)

// texts are Azure's, where the code alone does not say it.
const (
	quotaText = "Operation could not be completed as it results in exceeding approved standardDSv5Family Cores quota. Additional details - Deployment Model: Resource Manager, Location: westeurope, Current Limit: 8, Current Usage: 8, Additional Required: 4, (Minimum) New Limit Required: 12."
	rightText = "The client 'c' with object id 'o' does not have authorization to perform action 'Microsoft.Network/virtualNetworks/subnets/join/action' over scope '/subnets/a' or the scope is invalid."
	busyText  = "The request failed due to conflict with a concurrent request."
)

// failures are the codes with which Azure refuses a growth or lets it fail, and what comes of each: from the answer on the wire over the
// group's verdict and the event to the next action.
var failures = []struct {
	code    string
	status  int    // of the refused request; 0: the request is accepted, and its operation fails
	message string // Azure's; "" for the simulator's usual one
	verdict string // what the group's verdict holds in the first half minute; "" when nothing of it stays
	event   string // what an event holds; "" when there is none
	next    next
}{
	// What cannot be had: the group rests, another one helps out.
	{"OperationNotAllowed", 409, quotaText, "the quota of standardDSv5Family Cores in westeurope is 8, 8 are in use and 4 more are needed", "FailedToScaleUpGroup", elsewhere},
	{"OperationNotAllowed", 0, quotaText, "the quota of standardDSv5Family Cores in westeurope is 8", "due to OutOfResources.OperationNotAllowed", elsewhere},
	{"QuotaExceeded", 400, "the quota is exceeded", "QuotaExceeded", "FailedToScaleUpGroup", elsewhere},
	{"SkuNotAvailable", 409, "", "Azure does not offer Standard_D4s_v5 in westeurope to this subscription", "FailedToScaleUpGroup", elsewhere},
	{"SkuNotAvailable", 0, "", "Azure does not offer Standard_D4s_v5 in westeurope", "due to OutOfResources.SkuNotAvailable", elsewhere},
	{"AllocationFailed", 0, "", "Azure has no Standard_D4s_v5 in westeurope to give now", "due to OutOfResources.AllocationFailed", elsewhere},
	{"AllocationFailed", 409, "", "Azure has no Standard_D4s_v5 in westeurope to give now", "FailedToScaleUpGroup", elsewhere},
	{"ZonalAllocationFailed", 0, "", "Azure has no Standard_D4s_v5 in westeurope to give now", "due to OutOfResources.ZonalAllocationFailed", elsewhere},
	{"OverconstrainedAllocationRequest", 0, "", "Azure has no Standard_D4s_v5", "due to OutOfResources.OverconstrainedAllocationRequest", elsewhere},
	{"OverconstrainedZonalAllocationRequest", 0, "", "Azure has no Standard_D4s_v5", "due to OutOfResources.OverconstrainedZonalAllocationRequest", elsewhere},
	{"SubnetIsFull", 0, "", "enlarge the subnet", "due to OutOfResources.SubnetIsFull", elsewhere},
	{"InsufficientSubnetSize", 0, "", "enlarge the subnet", "due to OutOfResources.InsufficientSubnetSize", elsewhere},

	// A machine that was given and did not come up.
	{"VMExtensionProvisioningError", 0, "", "VMExtensionProvisioningError", "due to Other.VMExtensionProvisioningError", elsewhere},
	{"RetryableError", 0, "", "RetryableError", "due to Other.RetryableError", elsewhere},
	{"NetworkingInternalOperationError", 0, "", "NetworkingInternalOperationError", "due to Other.NetworkingInternalOperationError", elsewhere},
	{"InternalExecutionError", 0, "", "InternalExecutionError", "due to Other.InternalExecutionError", elsewhere},
	{"NicReservedForAnotherVm", 0, "", "NicReservedForAnotherVm", "due to Other.NicReservedForAnotherVm", elsewhere},
	{"OSProvisioningTimedOut", 0, "", "OSProvisioningTimedOut", "due to Other.OSProvisioningTimedOut", late},
	{"VMStartTimedOut", 0, "", "VMStartTimedOut", "due to Other.VMStartTimedOut", late},

	// Who may not: the missing action is named, another group helps out.
	{"AuthorizationFailed", 403, rightText, "", "", again}, // once
	{"LinkedAuthorizationFailed", 403, rightText, "", "", again},
	{"RequestDisallowedByPolicy", 403, "Resource 'cheap' was disallowed by policy.", "have the policy changed", "FailedToScaleUpGroup", elsewhere},
	{"ScopeLocked", 409, "The scope cannot perform write operation because following scopes are locked: '/s'.", "remove the management lock", "FailedToScaleUpGroup", elsewhere},
	{"InvalidAuthenticationTokenTenant", 401, "", "InvalidAuthenticationTokenTenant", "FailedToScaleUpGroup", elsewhere},
	{"InvalidAuthenticationToken", 401, "", "", "", again},
	{"ExpiredAuthenticationToken", 401, "", "", "", again},
	{"MissingSubscriptionRegistration", 409, "", "register the provider Microsoft.Compute", "FailedToScaleUpGroup", elsewhere},
	{"MissingRegistrationForResourceProvider", 409, "", "register the provider Microsoft.Compute", "FailedToScaleUpGroup", elsewhere},

	// Our defect, or a group that is not there: never repeated unchanged.
	{"BadRequest", 400, "", "BadRequest", "FailedToScaleUpGroup", elsewhere},
	{"InvalidRequestContent", 400, "", "InvalidRequestContent", "FailedToScaleUpGroup", elsewhere},
	{"MissingApiVersionParameter", 400, "", "MissingApiVersionParameter", "FailedToScaleUpGroup", elsewhere},
	{"NoRegisteredProviderFound", 400, "", "NoRegisteredProviderFound", "FailedToScaleUpGroup", elsewhere},
	{"LinkedInvalidPropertyId", 400, "", "LinkedInvalidPropertyId", "FailedToScaleUpGroup", elsewhere},
	{"InvalidTemplateDeployment", 400, "", "InvalidTemplateDeployment", "FailedToScaleUpGroup", elsewhere},
	{"InvalidTemplate", 400, "", "InvalidTemplate", "FailedToScaleUpGroup", elsewhere},
	{"PropertyChangeNotAllowed", 409, "", "PropertyChangeNotAllowed", "FailedToScaleUpGroup", elsewhere},
	{"ResourceNotFound", 404, "", "is not in resource group", "FailedToScaleUpGroup", elsewhere},
	{"ResourceGroupNotFound", 404, "", "is not in resource group", "FailedToScaleUpGroup", elsewhere},
	{"SubscriptionNotFound", 404, "", "is not in resource group", "FailedToScaleUpGroup", elsewhere},
	{"NotFound", 404, "", "is not in resource group", "FailedToScaleUpGroup", elsewhere},
	{"ParentResourceNotFound", 404, "", "is not in resource group", "FailedToScaleUpGroup", elsewhere},
	{"ResourceGroupBeingDeleted", 409, "", "is not in resource group", "FailedToScaleUpGroup", elsewhere},

	// A lost race: nothing rests.
	{"PreconditionFailed", 412, "", "", "", again},
	{"Conflict", 409, busyText, "", "", again},
	{"DeploymentActiveAndUneditable", 409, "", "", "", again},
	{"AttachDiskWhileBeingDetached", 409, "", "", "", again},
	{"AnotherOperationInProgress", 409, "", "", "", again},
	{"OperationPreempted", 409, "", "", "", again},
	{"OperationNotAllowed", 409, busyText, "", "", again},

	// What passes: the group rests for as long as Azure says, or for a moment. One that does not say which limit is exceeded is the group's own.
	{"TooManyRequests", 429, "Too many requests have been received for this subscription.", "TooManyRequests", "", elsewhere},
	{"TooManyRequests", 429, "", "TooManyRequests", "", elsewhere},
	{"SubscriptionRequestsThrottled", 429, "", "SubscriptionRequestsThrottled", "", rested},
	{"RetryableErrorDueToAnotherOperation", 429, "", "RetryableErrorDueToAnotherOperation", "", elsewhere},
	{"RequestTimeout", 408, "", "RequestTimeout", "", elsewhere},
	{"InternalServerError", 500, "", "InternalServerError", "", elsewhere},
	{"ServiceUnavailable", 503, "", "ServiceUnavailable", "", elsewhere},
}

func TestEveryFailureLeadsFromTheWireToVerdictEventAndNextAction(t *testing.T) {
	for _, f := range failures {
		name := fmt.Sprintf("%s %d", f.code, f.status)
		if f.message == busyText {
			name += " of another writer"
		}
		t.Run(name, func(t *testing.T) {
			transcript, events := failingGrowth(t, f.code, f.status, f.message)
			lines := strings.Split(transcript, "\n")
			early := lines
			for i, line := range lines {
				if at, ok := timeOf(line); ok && at > f.next.atLatest {
					early = lines[:i]
					break
				}
			}
			if f.verdict != "" && !contains(early, "group cheap", f.verdict) {
				t.Errorf("the group's verdict says nothing of %q", f.verdict)
			}
			if f.verdict == "" && contains(early, "group cheap", " backoff ") {
				t.Error("the group rests, want it not to")
			}
			if f.event != "" && !contains(events, f.event) {
				t.Errorf("no event says %q; there are:\n%s", f.event, strings.Join(events, "\n"))
			}
			grown := time.Duration(-1)
			for _, line := range lines {
				at, ok := timeOf(line)
				if ok && grown < 0 && strings.Contains(line, "machine "+f.next.group+"_1") && strings.Contains(line, " created ") && (f.status != 0 || f.next.group == "dear") {
					grown = at
				}
			}
			if grown < f.next.after || grown > f.next.atLatest {
				t.Errorf("group %s grew after %s, want it from %s to %s", f.next.group, grown, f.next.after, f.next.atLatest)
			}
			if f.status == 0 && !contains(lines, "machine cheap_1", "deleting") {
				t.Error("the failed machine was not deleted by its id")
			}
			if !contains(lines, "pod default/web-0", "running") {
				t.Error("the pod never ran")
			}
			if t.Failed() {
				t.Log(transcript)
			}
		})
	}
}

// timeOf is the time at the beginning of a transcript's line, within the first hour.
func timeOf(line string) (time.Duration, bool) {
	var minutes, seconds int
	if n, err := fmt.Sscanf(line, "%d:%d ", &minutes, &seconds); n != 2 || err != nil {
		return 0, false
	}
	return time.Duration(minutes)*time.Minute + time.Duration(seconds)*time.Second, true
}

// contains says whether one of the lines holds all the words.
func contains(lines []string, words ...string) bool {
	for _, line := range lines {
		all := true
		for _, w := range words {
			all = all && strings.Contains(line, w)
		}
		if all {
			return true
		}
	}
	return false
}

// failingGrowth plays a growth of the cheaper of two groups that fails once, and returns the transcript and the events.
func failingGrowth(t *testing.T, code string, status int, message string) (transcript string, events []string) {
	t.Helper()
	trouble := "fault fails times=1 group=cheap code=" + code
	if strings.HasSuffix(code, "TimedOut") {
		trouble += " after=1m"
	}
	if status != 0 {
		times := 1
		if code == "InvalidAuthenticationTokenTenant" {
			times = 2 // a first 401 is answered with a new token
		}
		trouble = fmt.Sprintf("fault grow times=%d group=cheap status=%d code=%s", times, status, code)
	}
	if message != "" {
		trouble += fmt.Sprintf(" message=%q", message)
	}
	script := `group cheap size=Standard_D4s_v5 min=0 max=5 machines=1
group dear size=Standard_E4s_v5 min=0 max=5 machines=1
pod base-0 cpu=4 on=cheap_0
pod base-1 cpu=4 on=dear_0
` + trouble + `
pod web-0 cpu=3
advance 24m
`
	r, err := Run(context.Background(), []byte(script), io.Discard, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range r.Broken {
		t.Errorf("broken promise: %s", b)
	}
	client := fake.NewClientset()
	reporter := &report.Events{Client: client}
	for d := journal.NewDecoder(bytes.NewReader(r.Journal)); ; {
		e, err := d.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := reporter.Report(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	list, err := client.CoreV1().Events("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list.Items {
		events = append(events, e.Type+" "+e.Reason+" "+e.InvolvedObject.Name+": "+e.Message)
	}
	return r.Transcript, events
}
