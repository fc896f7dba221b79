package azure

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/imds"
)

// answer is an error as Resource Manager tells it. The compute provider's throttling comes without the envelope.
type answer struct {
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Target  string   `json:"target"`
	Details []answer `json:"details"`
}

// parseAnswer reads an error body or an operation's status, with or without the envelope; the zero answer when it is neither.
func parseAnswer(raw []byte) answer {
	var body struct {
		answer
		Error *answer `json:"error"`
	}
	if json.Unmarshal(raw, &body) != nil {
		return answer{}
	}
	if body.Error != nil {
		return *body.Error
	}
	return body.answer
}

// leaves are the innermost details, or the answer itself when it has none.
func (a answer) leaves() []answer {
	if len(a.Details) == 0 {
		return []answer{a}
	}
	var all []answer
	for _, d := range a.Details {
		all = append(all, d.leaves()...)
	}
	return all
}

// specific is the detail that says most: the first that names quota, allocation or throttling, else the first with a code.
func (a answer) specific(status int) answer {
	best := a
	for i, l := range a.leaves() {
		if l.Code == "" {
			continue
		}
		switch kindOf(status, l) {
		case cloud.Quota, cloud.Allocation, cloud.Throttled:
			return l
		}
		if i == 0 && l.Message != "" {
			best = l
		}
	}
	return best
}

// ofOneResource says whether an exceeded limit is one of a single scale set rather than of the subscription.
func (a answer) ofOneResource() bool {
	for _, l := range a.leaves() {
		if strings.Contains(l.Target, "Resource") {
			return true
		}
	}
	return false
}

// kindOf says what can be done about an answer. A status of 200 is a failed operation's.
func kindOf(status int, a answer) cloud.Kind {
	code, text := a.Code, strings.ToLower(a.Message)
	switch {
	case code == "QuotaExceeded", strings.Contains(text, "quota") && (code == "OperationNotAllowed" || strings.Contains(text, "exceeding approved")):
		return cloud.Quota
	case status == http.StatusTooManyRequests, code == "TooManyRequests", code == "SubscriptionRequestsThrottled":
		return cloud.Throttled
	case code == "SkuNotAvailable", strings.Contains(code, "AllocationFailed"), strings.HasPrefix(code, "Overconstrained"),
		code == "SubnetIsFull", code == "InsufficientSubnetSize":
		return cloud.Allocation
	case status == http.StatusUnauthorized, status == http.StatusForbidden, code == "ScopeLocked", strings.HasSuffix(code, "AuthorizationFailed"):
		return cloud.Unauthorized
	case code == "MissingSubscriptionRegistration", code == "MissingRegistrationForResourceProvider":
		return cloud.Invalid
	case status == http.StatusConflict, status == http.StatusPreconditionFailed, code == "OperationPreempted",
		code == "InvalidParameter" && strings.EqualFold(a.Target, "instanceIds"):
		return cloud.Conflict
	case status == http.StatusNotFound:
		return cloud.NotFound
	case status >= 400 && status < 500 && status != http.StatusRequestTimeout:
		return cloud.Invalid
	default:
		return cloud.Transient
	}
}

var (
	quotaText = regexp.MustCompile(`approved (.+?) quota\b.*?Location: ([^,]+), Current Limit: (\d+), Current Usage: (\d+), Additional Required: (\d+), \(Minimum\) New Limit Required: (\d+)`)
	rightText = regexp.MustCompile(`perform action '([^']+)' over scope '([^']+)'`)
)

// sentence is the answer in words, with the remedy where there is one.
func (a answer) sentence(kind cloud.Kind) string {
	text := strings.TrimSuffix(strings.TrimSpace(a.Message), ".")
	switch {
	case kind == cloud.Quota:
		if m := quotaText.FindStringSubmatch(a.Message); m != nil {
			return fmt.Sprintf("the quota of %s in %s is %s, %s are in use and %s more are needed: have it raised to at least %s, or use another size", m[1], m[2], m[3], m[4], m[5], m[6])
		}
	case a.Code == "ScopeLocked":
		return text + ": remove the management lock"
	case a.Code == "ResourceGroupNotFound":
		return text + ": correct the resource group (ARM_RESOURCE_GROUP)"
	case a.Code == "SubscriptionNotFound":
		return text + ": correct the subscription (ARM_SUBSCRIPTION_ID), or let the identity see it"
	case a.Code == "MissingSubscriptionRegistration":
		return text + ": register the provider Microsoft.Compute in the subscription"
	case kind == cloud.Unauthorized:
		if m := rightText.FindStringSubmatch(a.Message); m != nil {
			return fmt.Sprintf("the identity may not perform %s over %s: give it a role with that action at that scope, such as Virtual Machine Contributor on the resource group", m[1], m[2])
		}
	}
	if text == "" {
		return "Azure gives no reason"
	}
	return text
}

// wrap makes err the contract's error. Doing is what was tried, such as "resize agents to 5". The code is Azure's, or one of sluice's own
// where Azure gave none: it is never empty.
func (p *Provider) wrap(group cluster.GroupID, doing string, err error) *cloud.Error {
	e := &cloud.Error{Kind: cloud.Transient, Group: group}
	var (
		known   *cloud.Error
		shut    *shutError
		refused *azcore.ResponseError
		login   *azidentity.AuthenticationFailedError
		machine *imds.Error
	)
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &shut):
		e.Kind, e.RetryAfter, e.Code, e.Message = cloud.Throttled, shut.until.Sub(p.now()), "NotBeforeRetryAfter", shut.Error()
	case errors.As(err, &machine):
		e.Code, e.Message = cmp.Or(machine.Code, "InstanceMetadata"), machine.Message
		if !machine.Temporary() {
			e.Kind = cloud.Unauthorized
		}
	case errors.As(err, &login):
		e.Code, e.Message = "NoToken", fmt.Sprintf("%s got no token: %s", p.options.Identity, firstLine(login.Error()))
		if r := login.RawResponse; r != nil && r.StatusCode < 500 && r.StatusCode != http.StatusTooManyRequests {
			e.Kind = cloud.Unauthorized
			e.Message += ": correct the tenant, client id and secret"
		}
	case errors.As(err, &refused):
		a, status := answerOf(refused)
		e.Kind, e.Code = kindOf(status, a), cmp.Or(a.Code, fmt.Sprintf("Status%d", status))
		e.Message = a.sentence(e.Kind)
		if e.Kind == cloud.Throttled {
			e.RetryAfter = defaultRetryAfter
			if refused.RawResponse != nil {
				e.RetryAfter = retryAfter(refused.RawResponse, p.now(), defaultRetryAfter)
			}
		}
	default:
		e.Code, e.Message = unanswered(err, hostOf(p.options.ResourceManagerEndpoint))
	}
	e.Message = doing + ": " + e.Message
	return e
}

// answerOf is the most specific part of a refusal.
func answerOf(err *azcore.ResponseError) (answer, int) {
	var a answer
	if err.RawResponse != nil {
		if raw, e := runtime.Payload(err.RawResponse); e == nil {
			a = parseAnswer(raw)
		}
	}
	a = a.specific(err.StatusCode)
	if a.Code == "" {
		a.Code = err.ErrorCode
	}
	if a.Message == "" && err.StatusCode >= 400 {
		a.Message = fmt.Sprintf("Azure answered %d %s", err.StatusCode, http.StatusText(err.StatusCode))
	}
	return a, err.StatusCode
}

// failure is what an operation's or a machine's answer leaves on record, under the code unnamed when Azure gives none.
func (a answer) failure(at time.Time, status int, unnamed string) *cluster.Failure {
	kind := kindOf(status, a)
	return &cluster.Failure{At: at, Kind: string(kind), Code: cmp.Or(a.Code, unnamed), Message: a.sentence(kind)}
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}
