package azure

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
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

// specific is the detail that says most: the first that says what cannot be had, else the first with a code.
func (a answer) specific(status int) answer {
	best := a
	for i, l := range a.leaves() {
		if l.Code == "" {
			continue
		}
		switch kindOf(status, l) {
		case cloud.Quota, cloud.Allocation, cloud.Unavailable, cloud.Network, cloud.Denied, cloud.Throttled:
			return l
		}
		if i == 0 && l.Message != "" {
			best = l
		}
	}
	return best
}

// kinds are the codes that mean one thing whatever the status. The list is that of Azure's documentation and of answers that users of
// Azure have published.
var kinds = map[string]cloud.Kind{
	"QuotaExceeded": cloud.Quota,

	"AllocationFailed":                      cloud.Allocation,
	"ZonalAllocationFailed":                 cloud.Allocation,
	"OverconstrainedAllocationRequest":      cloud.Allocation,
	"OverconstrainedZonalAllocationRequest": cloud.Allocation,
	"SkuNotAvailable":                       cloud.Unavailable,
	"NotAvailableForSubscription":           cloud.Unavailable,

	"SubnetIsFull":           cloud.Network,
	"InsufficientSubnetSize": cloud.Network,

	"OSProvisioningTimedOut":       cloud.Provisioning,
	"OSProvisioningClientError":    cloud.Provisioning,
	"OSProvisioningInternalError":  cloud.Provisioning,
	"VMStartTimedOut":              cloud.Provisioning,
	"VMExtensionProvisioningError": cloud.Provisioning,

	"RetryableError":                         cloud.Transient,
	"NetworkingInternalOperationError":       cloud.Transient,
	"InternalExecutionError":                 cloud.Transient,
	"InternalServerError":                    cloud.Transient,
	"InternalOperationError":                 cloud.Transient,
	"NicReservedForAnotherVm":                cloud.Transient, // for 180 s after its machine was deleted
	"TooManyRequests":                        cloud.Throttled,
	"SubscriptionRequestsThrottled":          cloud.Throttled,
	"ResourceGroupBeingDeleted":              cloud.NotFound,
	"AuthorizationFailed":                    cloud.Unauthorized,
	"LinkedAuthorizationFailed":              cloud.Unauthorized,
	"InvalidAuthenticationTokenTenant":       cloud.Unauthorized,
	"RequestDisallowedByPolicy":              cloud.Denied,
	"ScopeLocked":                            cloud.Denied,
	"PropertyChangeNotAllowed":               cloud.Invalid,
	"MissingSubscriptionRegistration":        cloud.Invalid,
	"OperationPreempted":                     cloud.Conflict,
	"AnotherOperationInProgress":             cloud.Conflict,
	"AttachDiskWhileBeingDetached":           cloud.Conflict,
	"DeploymentActiveAndUneditable":          cloud.Conflict,
	"RetryableErrorDueToAnotherOperation":    cloud.Throttled,
	"MissingRegistrationForResourceProvider": cloud.Invalid,
}

// kindOf says what can be done about an answer. A status of 200 is a failed operation's.
func kindOf(status int, a answer) cloud.Kind {
	code, text := a.Code, strings.ToLower(a.Message)
	if strings.Contains(text, "quota") && (code == "OperationNotAllowed" || strings.Contains(text, "exceeding approved")) {
		return cloud.Quota
	}
	if status == http.StatusTooManyRequests {
		return cloud.Throttled
	}
	if kind, ok := kinds[code]; ok {
		return kind
	}
	switch {
	case code == "OperationNotAllowed" && a.Target == "dataDisks":
		return cloud.Invalid
	case code == "InvalidParameter" && strings.EqualFold(a.Target, "instanceIds"):
		return cloud.Conflict // an instance that is gone by now
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return cloud.Unauthorized
	case status == http.StatusConflict, status == http.StatusPreconditionFailed:
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
	quotaText = regexp.MustCompile(`approved (.+?) quota\b.*?(?:Location: ([^,]+), )?Current Limit: (\d+), Current Usage: (\d+), Additional Required: (\d+)`)
	rightText = regexp.MustCompile(`perform action '([^']+)' over scope '([^']+)'`)
	// linkedText names rights at resources that the written one refers to, such as a subnet, in two lists of the same length.
	linkedText = regexp.MustCompile(`perform action\(s\) '(.+?)' on the linked scope\(s\) '(.+?)' \(respectively\)`)
	goneText   = regexp.MustCompile(`instanceId (\S+) is not an active`)
)

// absent is the id of the machine that Azure has answered a write about that it is not there, "" for any other answer or none.
func absent(err error) string {
	var refused *azcore.ResponseError
	if !errors.As(err, &refused) {
		return ""
	}
	a, _ := answerOf(refused)
	if m := goneText.FindStringSubmatch(a.Message); m != nil {
		return m[1]
	}
	return ""
}

// subject is what an answer is about, in the words of its sentence.
type subject struct {
	size     string   // of the group's machines
	location string   // of the group, such as "westeurope"
	zones    []string // of the group, such as "1"; none when it is regional
	spot     bool
	person   bool // a person asks, and not sluice with its role
}

// subject is what an answer about the group is about, as far as it was read. state.mu is not held.
func (s *state) subject(id cluster.GroupID) subject {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.groups[key(string(id))]; g != nil {
		return g.subject()
	}
	return subject{}
}

// subject is the same of one group. state.mu is held.
func (g *group) subject() subject {
	if g.reading == nil {
		return subject{}
	}
	return g.reading.model.subject()
}

// subject is what an answer about the group or one of its machines is about.
func (m *model) subject() subject {
	return subject{size: m.size, location: m.location, zones: m.zones, spot: m.spot}
}

// machine is "spot Standard_D4s_v5 in westeurope, zone 1 or 2," as it stands in a sentence that goes on.
func (s subject) machine() string {
	text := cmp.Or(s.size, "such a machine")
	if s.spot {
		text = "spot " + text
	}
	if s.location != "" {
		text += " in " + s.location
	}
	if len(s.zones) > 0 {
		text += ", zone " + strings.Join(s.zones, " or ") + ","
	}
	return text
}

// sentence is the answer in words, with the remedy where there is one.
func (a answer) sentence(kind cloud.Kind, about subject) string {
	text := strings.TrimSuffix(strings.TrimSpace(a.Message), ".")
	switch {
	case kind == cloud.Throttled && strings.HasPrefix(text, "{"):
		return cmp.Or(throttleSentence(text), "Azure asks for fewer requests")
	case kind == cloud.Quota:
		if q := a.quota(0); q != nil {
			return fmt.Sprintf("the quota of %s%s is %d, %d are in use and %d more are needed: have it raised to at least %d, or use another size",
				q.Name, a.place(), q.Limit, q.Used, q.Needed, q.Used+q.Needed)
		}
	case kind == cloud.Allocation:
		return fmt.Sprintf("Azure has no %s to give now: let another size, zone or region help out (%s)", about.machine(), cmp.Or(firstSentence(text), "no details"))
	case kind == cloud.Unavailable:
		return fmt.Sprintf("Azure does not offer %s to this subscription: use another size or zone, or ask for access (%s)", about.machine(), cmp.Or(firstSentence(text), "no details"))
	case kind == cloud.Network:
		return cmp.Or(text, "the subnet is full") + ": enlarge the subnet or lower the group's max"
	case a.Code == "ScopeLocked":
		return text + ": remove the management lock"
	case a.Code == "RequestDisallowedByPolicy":
		return text + ": have the policy changed, or the scale set's model made to comply"
	case a.Code == "ResourceGroupNotFound":
		return text + ": correct the resource group (ARM_RESOURCE_GROUP)"
	case a.Code == noSubscription:
		return text + ": correct the subscription (ARM_SUBSCRIPTION_ID), or let the identity see it"
	case a.Code == "MissingSubscriptionRegistration", a.Code == "MissingRegistrationForResourceProvider":
		return text + ": register the provider Microsoft.Compute in the subscription"
	case kind == cloud.Unauthorized:
		if missing := a.rights(); missing != "" {
			action, _, _ := strings.Cut(missing, " ")
			if about.person {
				return fmt.Sprintf("the identity may not perform %s: give it a role that has this, such as %s, at that scope", missing, roleOfPersons(action))
			}
			return fmt.Sprintf("the identity may not perform %s: give it sluice's role (%s), or another one with that action, at that scope", missing, RoleFor(action))
		}
	}
	if text == "" {
		return "Azure gives no reason"
	}
	return text
}

// noSubscription is the code of a subscription that is not there for whoever asks.
const noSubscription = "SubscriptionNotFound"

// throttleSentence is what the compute provider says in JSON of an exceeded limit; "" when it is something else.
func throttleSentence(text string) string {
	var said struct {
		Limit    string `json:"operationGroup"`
		Allowed  int    `json:"allowedRequestCount"`
		Measured int    `json:"measuredRequestCount"`
	}
	if json.Unmarshal([]byte(text), &said) != nil || said.Limit == "" {
		return ""
	}
	return fmt.Sprintf("Azure's limit %s is exceeded: %d requests were counted (limit %d)", said.Limit, said.Measured, said.Allowed)
}

// rights are the actions, each with its scope, that a refusal says are missing; "" when it does not say.
func (a answer) rights() string {
	if m := rightText.FindStringSubmatch(a.Message); m != nil {
		return m[1] + " over " + m[2]
	}
	m := linkedText.FindStringSubmatch(a.Message)
	if m == nil {
		return ""
	}
	actions, scopes := strings.Split(m[1], "','"), strings.Split(m[2], "','")
	if len(actions) != len(scopes) {
		return strings.Join(actions, " and ") + " over " + strings.Join(scopes, " and ")
	}
	for i := range actions {
		actions[i] += " over " + scopes[i]
	}
	return strings.Join(actions, " and ")
}

// quota reads the numbers out of a quota message; nil when it has none. Machines is how many the refused request asked for, 0 when
// that is unknown.
func (a answer) quota(machines int) *cluster.Quota {
	m := quotaText.FindStringSubmatch(a.Message)
	if m == nil {
		return nil
	}
	q := &cluster.Quota{Name: m[1], Left: -1}
	for i, field := range []*int{&q.Limit, &q.Used, &q.Needed} {
		n, err := strconv.Atoi(m[i+3])
		if err != nil {
			return nil // more digits than a number has
		}
		*field = n
	}
	if machines > 0 && q.Needed > 0 {
		q.Left = machinesLeft(q, machines)
	}
	return q
}

// mostLeft bounds what a quota is believed to leave, so that no answer makes a number that does not add up.
const mostLeft = 1 << 30

// machinesLeft is how many machines a quota still holds, which a request for so many of them has exceeded. Its Needed is above zero.
func machinesLeft(q *cluster.Quota, machines int) int {
	return min(max(0, q.Limit-q.Used), mostLeft) * machines / q.Needed
}

// place is " in westeurope" when a quota message says so.
func (a answer) place() string {
	if m := quotaText.FindStringSubmatch(a.Message); len(m) > 2 && m[2] != "" {
		return " in " + m[2]
	}
	return ""
}

// wrap makes err the contract's error. Doing is what was tried, such as "resize agents to 5". The code is Azure's, or one of sluice's own
// where Azure gave none: it is never empty.
func (c *client) wrap(group cluster.GroupID, doing string, err error) *cloud.Error {
	e := &cloud.Error{Kind: cloud.Transient, Group: group}
	var (
		known   *cloud.Error
		shut    *shutError
		refused *azcore.ResponseError
		unasked *unansweredSignIn
		login   *azidentity.AuthenticationFailedError
		machine *imds.Error
	)
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &shut):
		e.Kind, e.RetryAfter, e.Code, e.Message = cloud.Throttled, shut.until.Sub(c.now()), shut.code(), shut.Error()
		e.Property = "S-32"
	case errors.As(err, &machine):
		e.Code, e.Message = cmp.Or(machine.Code, noMetadata), machine.Error()
		if !machine.Temporary() {
			e.Kind = cloud.Unauthorized
		}
	case errors.As(err, &unasked):
		_, why := unanswered(unasked.lost, hostOf(c.options.AuthorityHost))
		e.Code, e.Message = noToken, fmt.Sprintf("%s got no token: %s", c.options.Identity, why)
	case errors.As(err, &login):
		e.Code, e.Message = noToken, fmt.Sprintf("%s got no token: %s", c.options.Identity, signInReason(login))
		if r := login.RawResponse; r != nil && r.StatusCode < 500 && r.StatusCode != http.StatusTooManyRequests {
			e.Kind = cloud.Unauthorized
			e.Message += ": correct the tenant, the client id and the secret, certificate or token"
		}
	case errors.As(err, &refused):
		a, status := answerOf(refused)
		e.Kind, e.Code = kindOf(status, a), cmp.Or(a.Code, fmt.Sprintf("Status%d", status))
		about := c.about(group)
		if e.Kind == cloud.Unavailable && about.spot {
			e.Kind = cloud.Allocation // spot capacity comes and goes
		}
		e.Message = a.sentence(e.Kind, about)
		if e.Kind == cloud.Quota {
			e.Quota = a.quota(0)
		}
		if e.Kind == cloud.Throttled {
			e.RetryAfter = defaultRetryAfter
			if refused.RawResponse != nil {
				e.RetryAfter = retryAfter(refused.RawResponse, c.now(), defaultRetryAfter)
			}
		}
	default:
		e.Code, e.Message = unanswered(err, hostOf(c.options.ResourceManagerEndpoint))
	}
	e.Message = doing + ": " + e.Message
	return e
}

// refusedWith says whether Azure refused a request with this status.
func refusedWith(err error, status int) bool {
	var refused *azcore.ResponseError
	return errors.As(err, &refused) && refused.StatusCode == status
}

// signInReason is the token authority's own sentence where it gave one, such as "AADSTS7000215: Invalid client secret provided".
func signInReason(login *azidentity.AuthenticationFailedError) string {
	if login.RawResponse != nil {
		var said struct {
			Description string `json:"error_description"`
		}
		if raw, err := runtime.Payload(login.RawResponse); err == nil && json.Unmarshal(raw, &said) == nil && said.Description != "" {
			return firstSentence(said.Description)
		}
	}
	if r := login.RawResponse; r != nil {
		if kind := pageKind(r); kind != "" {
			return fmt.Sprintf("a proxy answers in the token authority's place (%d, %s)", r.StatusCode, kind)
		}
		return fmt.Sprintf("the token authority answers %d %s", r.StatusCode, http.StatusText(r.StatusCode))
	}
	_, reason, found := strings.Cut(firstLine(login.Error()), "Credential: ")
	if !found {
		reason = firstLine(login.Error())
	}
	reason, _, _ = strings.Cut(reason, " To troubleshoot, visit ")
	return strings.TrimRight(reason, " .:")
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

// failure is what an operation's or a machine's answer leaves on record, under the code unnamed when Azure gives none. Machines is how
// many the operation was to make, 0 when that is unknown.
func (a answer) failure(at time.Time, status int, unnamed string, about subject, machines int) *cluster.Failure {
	kind := kindOf(status, a)
	if kind == cloud.Unavailable && about.spot {
		kind = cloud.Allocation
	}
	f := &cluster.Failure{At: at, Kind: string(kind), Code: cmp.Or(a.Code, unnamed), Message: a.sentence(kind, about)}
	if kind == cloud.Quota {
		f.Quota = a.quota(machines)
	}
	return f
}

// firstSentence is what comes before the first full stop that ends a sentence.
func firstSentence(s string) string {
	s, _, _ = strings.Cut(firstLine(s), ". ")
	return strings.TrimSuffix(s, ".")
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}
