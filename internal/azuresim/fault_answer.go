package azuresim

import (
	"net/http"
	"strings"
)

// faulted is what the request's fault answers in the place of the server, if it
// does.
func (q *request) faulted() (answer, bool) {
	f := q.fault
	if f.LoseRequest {
		return answer{status: 499}, true // for the log; nobody receives it
	}
	if f.Page {
		return answer{status: max(f.Status, http.StatusOK), body: []byte(signInPage)}.with("Content-Type", "text/html; charset=utf-8"), true
	}
	if f.Status == 0 || f.Applied {
		return answer{}, false
	}
	return q.falseError(), true
}

// signInPage is what somebody between a client and Azure may answer.
const signInPage = "<!DOCTYPE html><html><head><title>Sign in</title></head><body>Sign in to use the network.</body></html>"

// falseError is the error that the request's fault puts in the place of an answer,
// in the shape of the service that is asked.
func (q *request) falseError() answer {
	f := q.fault
	code, message := f.Code, f.Message
	if code == "" {
		code = f.usualCode()
	}
	if message == "" {
		message = q.usualMessage(code)
	}
	var a answer
	switch kind := q.route.kind; {
	case strings.Contains(kind, " metadata/") && !strings.HasSuffix(kind, "/endpoints"):
		a = metadataFailed(f.Status, code, message)
	case strings.HasSuffix(kind, " token"):
		a = answer{status: f.Status, body: signInError{Error: code, Description: message}}
	default:
		p := fail(f.Status, code, "%s", message)
		p.detail.Target, p.bare = f.Target, f.Bare || f.Style == "compute"
		for _, d := range f.Details {
			p.detail.Details = append(p.detail.Details, errorDetail{Code: d.Code, Message: d.Message, Target: d.Target})
		}
		if f.Style == "compute" && f.Status == http.StatusTooManyRequests && len(f.Details) == 0 {
			p.detail = computeThrottled
		}
		a = p.answer()
	}
	if f.Status == http.StatusUnauthorized {
		a = a.with("Www-Authenticate", unauthorized(code, message).header.Get("Www-Authenticate"))
	}
	if f.RetryAfter > 0 {
		a = a.with("Retry-After", seconds(f.RetryAfter))
	}
	if f.Status == http.StatusTooManyRequests {
		switch f.Style {
		case "arm":
			class := "writes"
			if isRead(q.route.kind) {
				class = "reads"
			}
			a = a.with("X-Ms-Ratelimit-Remaining-Subscription-"+class, "0")
		case "compute":
			a = a.with("X-Ms-Ratelimit-Remaining-Resource", "Microsoft.Compute/HighCostGet3Min;107,Microsoft.Compute/HighCostGet30Min;0")
		}
	}
	return a
}

// computeThrottled is what the compute provider says when it throttles.
var computeThrottled = errorDetail{
	Code:    "OperationNotAllowed",
	Message: "The server rejected the request because too many requests have been received for this subscription.",
	Details: []errorDetail{{
		Code: "TooManyRequests", Target: "HighCostGet30Min",
		Message: `{"operationGroup":"HighCostGet30Min","startTime":"2026-05-01T21:35:00+00:00","endTime":"2026-05-01T22:05:00+00:00","allowedRequestCount":800,"measuredRequestCount":1238}`,
	}},
}

func (f *Fault) usualCode() string {
	if f.Style == "arm" && f.Status == http.StatusTooManyRequests {
		return "SubscriptionRequestsThrottled"
	}
	return usualCodes[f.Status]
}

var usualCodes = map[int]string{
	http.StatusBadRequest:          "BadRequest",
	http.StatusUnauthorized:        "InvalidAuthenticationToken",
	http.StatusForbidden:           "AuthorizationFailed",
	http.StatusNotFound:            "ResourceNotFound",
	http.StatusRequestTimeout:      "RequestTimeout",
	http.StatusConflict:            "Conflict",
	http.StatusGone:                "Gone",
	http.StatusPreconditionFailed:  "PreconditionFailed",
	http.StatusTooManyRequests:     "TooManyRequests",
	http.StatusInternalServerError: "InternalServerError",
	http.StatusBadGateway:          "BadGateway",
	http.StatusServiceUnavailable:  "ServiceUnavailable",
	http.StatusGatewayTimeout:      "GatewayTimeout",
}

// usualMessage is what Azure says with a code about this request.
func (q *request) usualMessage(code string) string {
	scope := strings.TrimSuffix(q.http.URL.Path, "/"+q.route.verb)
	switch code {
	case "AuthorizationFailed":
		client, object := "unknown", "unknown"
		if q.principal != nil {
			client, object = q.principal.clientID, q.principal.objectID
		}
		return "The client '" + client + "' with object id '" + object + "' does not have authorization to perform action '" + q.route.action +
			"' over scope '" + scope + "' or the scope is invalid. If access was recently granted, please refresh your credentials."
	case "ScopeLocked":
		return "The scope '" + scope + "' cannot perform write operation because following scope(s) are locked: '" + scope + "'. Please remove the lock and try again."
	case "SubscriptionRequestsThrottled":
		return "Number of requests for subscription '" + q.route.subscription + "' exceeded the limit. Please try again after '" + seconds(q.fault.RetryAfter) + "' seconds."
	case "ResourceNotFound":
		return "The Resource '" + scope + "' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix"
	case "ResourceGroupNotFound":
		return "Resource group '" + q.route.group + "' could not be found."
	}
	return usualMessage(code)
}

// usualMessages are what Azure says with codes, whatever they are about.
var usualMessages = map[string]string{
	"TooManyRequests": "The request is being throttled as the limit has been reached for operation type. Please retry after the time given in the Retry-After header.",

	"AllocationFailed":                      allocationFailed,
	"OverconstrainedAllocationRequest":      allocationFailed,
	"ZonalAllocationFailed":                 zonalAllocationFailed,
	"OverconstrainedZonalAllocationRequest": zonalAllocationFailed,

	"OSProvisioningTimedOut":              "OS Provisioning for VM did not finish in the allotted time. The VM may still finish provisioning successfully. Please check provisioning status later.",
	"VMStartTimedOut":                     "The VM did not start in the allotted time. The VM may still start successfully. Please check the power state later.",
	"VMExtensionProvisioningError":        "VM has reported a failure when processing extension 'bootstrap'. Error message: 'Enable failed: failed to execute command: command terminated with exit status=1'.",
	"RetryableError":                      "A retryable error occurred.",
	"NetworkingInternalOperationError":    "An unexpected error occurred while processing the network profile of the VM. Please retry later.",
	"InternalExecutionError":              "An internal execution error occurred. Please retry later.",
	"SubnetIsFull":                        "Subnet does not have enough capacity for the IP addresses that were requested.",
	"InsufficientSubnetSize":              "Subnet does not have enough capacity for the IP addresses that were requested.",
	"NicReservedForAnotherVm":             "The network interface is reserved for another virtual machine for 180 seconds. Please provide another network interface or retry after 180 seconds.",
	"SkuNotAvailable":                     "The requested size for resource is currently not available in this location. Please try another size or deploy to a different location or zones.",
	"OperationPreempted":                  "The operation has been preempted by a more recent operation.",
	"AnotherOperationInProgress":          "Another operation on this or dependent resource is in progress.",
	"RequestDisallowedByPolicy":           "Resource was disallowed by policy. Reasons: 'The size is not allowed.'. See error details for policy resource IDs.",
	"LinkedAuthorizationFailed":           "The client has permission to perform the action on the scope; however, it does not have permission to perform action(s) 'Microsoft.Network/virtualNetworks/subnets/join/action' on the linked scope(s).",
	"RetryableErrorDueToAnotherOperation": "Operation could not be completed because another operation on a dependent resource is in progress. Please retry later.",
	"ExpiredAuthenticationToken":          "The access token has expired. Renew the token and try again.",
	"InvalidAuthenticationTokenTenant":    "The access token is from the wrong issuer. It must match the tenant associated with this subscription.",
	"MissingSubscriptionRegistration":     "The subscription is not registered to use namespace 'Microsoft.Compute'. See https://aka.ms/rps-not-found for how to register subscriptions.",
	"EtagMismatch":                        "The entity tag of the request does not match that of the resource. Read it again.",
	"ResourceGroupBeingDeleted":           "The resource group is in deprovisioning state and cannot perform this operation.",
	"PropertyChangeNotAllowed":            "Changing this property is not allowed.",
	"DeploymentActiveAndUneditable":       "The deployment cannot be changed while it is active.",
}

const (
	allocationFailed      = "Allocation failed. VM(s) with the following constraints cannot be allocated, because the condition is too restrictive. Please remove some constraints and try again."
	zonalAllocationFailed = "Allocation failed. We do not have sufficient capacity for the requested VM size in this zone. Read more about improving likelihood of allocation success at http://aka.ms/allocation-guidance"
)

func usualMessage(code string) string {
	if code == "Conflict" {
		return concurrentRequest().detail.Message
	}
	if m := usualMessages[code]; m != "" {
		return m
	}
	return "The operation ended with code '" + code + "'."
}
