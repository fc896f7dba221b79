// Package doctor says what is wrong with an installation and how to mend it: identity, rights, endpoints, tags, groups, how nodes and
// machines match, and the clock; and of a node or machine why it did not join as it should. It judges [Facts] that somebody else has gathered and asks nobody itself, so that every fault it can name is
// a case in a test.
package doctor

import (
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
)

// Offline is what there is to try where no cluster is.
const Offline = "without a cluster, try in a clone of sluice: make playground, or sluice simulate testdata/remove-idle-not-newest.txtar"

// Status is how a finding stands.
type Status string

// The statuses, from good to bad. Unknown is what could not be looked at because something else is wrong.
const (
	OK      Status = "ok"
	Unknown Status = "unknown"
	Warning Status = "warning" // sluice works, and something in it less well than it could
	Problem Status = "problem" // sluice, or a part of it, does not work
)

// Finding is one thing that was looked at.
type Finding struct {
	Check   string `json:"check"`             // the area: one of [Checks]
	Status  Status `json:"status"`            //
	Code    string `json:"code,omitempty"`    // of what is wrong; stable, one of [Codes]; "" when nothing is
	Subject string `json:"subject,omitempty"` // what it is about, such as a group; "" when the area says it
	Message string `json:"message"`           // one sentence
	Remedy  string `json:"remedy,omitempty"`  // what mends it, one sentence; "" when nothing is wrong
	Cause   string `json:"cause,omitempty"`   // the check whose fault keeps this one from being looked at; "" for none

	// Known is where others have met the same, as "kubernetes/autoscaler#3392"; "" when nobody is known to have.
	Known string `json:"known,omitempty"`

	blocks bool // what rests on this check cannot be looked at
}

// Facts are everything that is judged. A nil error means that the thing went well; a zero time or empty list that there was nothing.
type Facts struct {
	Azure  Azure
	Groups []*cluster.Group // as read now, each with its Problem
	Kube   Kube

	// Unknown says of a check why its facts are not known, as "no answer within 30s".
	Unknown map[string]string

	// Snapshot joins groups and nodes; nil when the cluster or the groups could not be read.
	Snapshot *cluster.Snapshot

	// Joining is how machines become nodes, where that was asked for.
	Joining *Joining

	// Strangers are the names in flags that no group has, as "--schedule names agents2".
	Strangers []string
}

// Azure is what was learned of the cloud.
type Azure struct {
	Config      error    // why the configuration could not be used; nothing else was tried then
	Notes       []string // what of the configuration has no effect, or another one than its writer may expect
	Metadata    *Failure // why instance metadata did not answer; nil also when nothing needed it
	Unplaced    error    // why the cloud's endpoints are not known although metadata answered
	Place       Place    // where sluice runs and works
	Reached     []Reached
	Identity    string   // who asks, in words
	ClientID    string   // of the identity, as the token says; "" when it does not
	Token       *Failure // why there is none
	Skew        time.Duration
	SkewKnown   bool                            // Skew is Azure's clock minus this machine's
	Rights      []Permission                    // what the identity may do in the resource group
	RightsError *Failure                        // why that is not known
	Needed      []string                        // the actions that these groups need
	Roles       map[string]string               // the files of the shipped roles that have them, by action
	List        *Failure                        // why the groups could not be listed
	Unread      map[cluster.GroupID]FailureKind // groups whose Problem is that Azure did not answer well
	LeftOut     []LeftOut                       // scale sets that bear the tags of discovery and are no groups
	Notices     []Notice                        // what reading the groups brought to light
	Unpriced    []string                        // sizes of groups without a price
	Discovered  bool                            // groups are found by their tags
}

// Place is where sluice works.
type Place struct {
	Cloud, Subscription, ResourceGroup, Location string
}

// Reached is an endpoint that was tried.
type Reached struct {
	Name string // [Manager] or [Authority]
	Host string
	Err  *Failure // why it cannot be used; nil when it answers
}

// The endpoints by their names.
const (
	Manager   = "Resource Manager"
	Authority = "token authority"
)

// Permission is one of Azure's answers to what an identity may do: the actions, less the others. Both may have wildcards.
type Permission struct {
	Actions    []string
	NotActions []string
}

// LeftOut is a scale set that is no node group although its tags ask for it.
type LeftOut struct {
	Name string
	Why  string // with the remedy
}

// Notice is something about a group that works less well than it could: a tag that cannot be read, a zone that the subscription may not use.
type Notice struct {
	Group    string // "" when it is about none
	Sentence string // with the remedy
}

// Kube is what was learned of the cluster.
type Kube struct {
	Skipped   bool     // it was not asked, since the configuration could not be used; all else is zero then
	Config    error    // why no API server is known; all else is zero then
	Absent    bool     // for nothing names one at all
	Err       *Failure // why the API server could not be asked
	Account   string   // whose rights were asked about, as the API server calls it; "" when it does not say
	As        string   // the account that was impersonated for it; "" for none
	Service   string   // sluice's service account, as --as takes it
	Skew      time.Duration
	SkewKnown bool          // Skew is the API server's clock minus this machine's
	Unread    error         // why objects could not be read although the API server answers: a right to list them is missing
	Denied    []Right       // rights that the account lacks and sluice cannot work without
	Lacks     cluster.Lacks // rights that it lacks and does without
	Checked   int           // rights that were asked about
	RightsErr *Failure      // why rights are not known
	Leader    string        // who holds the lease now, with its name; "" when nobody does
	Server    cluster.Server
}

// Right is a right in Kubernetes, and what it is limited to.
type Right struct {
	cluster.Right
	Name, Namespace string // "" for no limit
}

// Worst is the worst status among findings.
func Worst(all []Finding) Status {
	order := []Status{OK, Unknown, Warning, Problem}
	worst := 0
	for _, f := range all {
		worst = max(worst, slices.Index(order, f.Status))
	}
	return order[worst]
}
