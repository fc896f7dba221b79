package azure

import (
	"context"
	"net/http"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
)

// model is what Azure says of a node group, in the words of no kind of it. Once read it does not change.
type model struct {
	kind         kind
	name         string // as Azure spells it
	resource     string // its resource id, "" when it is none
	version      string // the entity tag, "" for none
	capacity     int    // machines that Azure wants, those that are switched off included; -1 when it does not say
	provisioning string // "Updating" while it is being changed; "" when Azure does not say

	size     string   // such as "Standard_D4s_v5"
	location string   // as Azure spells it
	zones    []string // that machines are spread over, such as "1"; empty for none
	tags     map[string]string
	spot     bool // of spot or low priority
	parks    bool // a removal switches its machines off instead of deleting them
	windows  bool // its machines run Windows

	disks disks
	make  string // stands for the image and the extensions of its next machines, as far as Azure shows them; "" when it does not

	interfaces interfaces

	names machineNames

	identities []string // user-assigned ones that its machines have: resource ids and, where Azure tells them, client ids, in lower case

	actors []cluster.Actor // by which Azure changes its machines by itself

	unfit string // why sluice does not manage such a group, with the remedy; "" when it does
}

// machineNames say how the names of a group's machines begin.
type machineNames struct {
	id       string // their provider ids, and no other's; "" when nobody knows
	hostname string // what their hostnames are before a number of six digits of base 36; "" when they are not so
}

// disks are those that a machine is made with.
type disks struct {
	os        bool   // the model speaks of the disk it starts from at all
	osGB      int    // of that disk; 0 when Azure does not say
	osTier    string // its kind, such as "Premium_LRS"; "" when Azure does not say
	ephemeral bool   // it is on the machine's host
	data      int    // the others
}

// interfaces say how the network interfaces of a group's machines are listed.
type interfaces struct {
	path  string // with its api-version; "" when there is no such list
	right string // that this takes
}

// machine is one machine of a group, in the words of no kind of it. Once read it does not change.
type machine struct {
	id           string // within its group; "" when Azure left it out, which makes the whole list unreadable
	uid          string // the vmId in lower case
	resource     string // its resource id
	computerName string
	ips          []string  // private; nil when they are not known
	size         string    // "" when Azure does not say
	zone         string    // as topology.kubernetes.io/zone has it
	created      time.Time // UTC; zero when Azure does not say
	state        cluster.State
	protected    bool             // from scale-in or from actions on its group
	power        string           // such as "running" or "deallocated"; "" when Azure does not say
	failure      *cluster.Failure // for StateFailed; At is zero when Azure does not say when, until [group.take] has dated it
}

// off says whether the machine has given its processor back, or is about to: it keeps its disks and its id.
func (m *machine) off() bool {
	return !m.leaving() && (m.power == "deallocated" || m.power == "deallocating")
}

// leaving says whether Azure is deleting the machine.
func (m *machine) leaving() bool { return m.state == cluster.StateDeleting }

// identity tells machines apart, also those that get the id of a deleted one.
func (m *machine) identity() string { return strings.ToLower(m.id) + "/" + m.uid }

// source finds the node groups of a resource group.
type source interface {
	// noun is what the source's groups are called in sentences, such as "scale set".
	noun() string
	// lacking is the end of the sentence about a group that is not there, such as: is not in resource group "farm": correct --nodes or create it.
	lacking() string
	// models are all groups in one list, or none of them.
	models(ctx context.Context) ([]*model, error)
	// model is one group by name.
	model(ctx context.Context, name string) (*model, error)
	// resume goes on following a write to a group that an earlier process made, by its verb and token. It sends nothing.
	resume(ctx context.Context, name string, v verb, token string) (*accepted, error)
}

// kind is how the machines of one kind of node group are read, and how such a group is changed. Its calls send what they are told to
// send: the evidence for it, the doubts about it and the memory of it are the same for every kind. Errors are the SDK's.
type kind interface {
	// machines are all machines of the group, or none of them.
	machines(ctx context.Context, m *model) ([]*machine, error)
	// grow asks for n machines, on condition that the group is still as the version says.
	grow(ctx context.Context, name, version string, n int) (*accepted, error)
	// remove deletes the machines by id, at most [kind.atOnce] of them; the group's capacity falls by as many. A kind whose ids may name
	// another machine soon does it on condition that the group is still as the version says.
	remove(ctx context.Context, name, version string, ids []string) (*accepted, error)
	// park switches the machines off by id, and gives their processors back; start switches them on again. Neither changes the number of
	// machines that Azure wants. The version is a condition as it is for remove. An empty list is an error: Azure reads it as all machines.
	park(ctx context.Context, name, version string, ids []string) (*accepted, error)
	start(ctx context.Context, name string, ids []string) (*accepted, error)
	// atOnce is how many machines one request removes, switches off or starts.
	atOnce() int
}

// verb is what a write asked for, as an operation's record names it.
type verb string

const (
	verbGrow   verb = "grow"
	verbDelete verb = "delete"
	verbPark   verb = "deallocate"
	verbStart  verb = "start"

	// verbParked is no request: the machine was switched off, and lists may have it at work.
	verbParked verb = "deallocated"
	// verbAsked is none either: the token says which machines of a pool a process has asked for lately, or was about to.
	verbAsked verb = "asked"
	// verbLedger is none either: its token is the record of machines, in base64.
	verbLedger verb = "ledger"
)

// intentRecorder is a kind of whose growths answers of Azure may tell nothing for a while, not even the capacity.
type intentRecorder interface {
	// recordIntent says which growth to n machines comes next, for a process that comes after this one; "" when it can't.
	recordIntent(group string, n int) (token string)
}

// teller is the source of such a kind.
type teller interface {
	// asked are the growths of a group that answers may not show, as tokens.
	asked(group string) []string
	// merge takes over such a growth of another process, once.
	merge(token string)
}

// poller follows a long-running operation.
type poller interface {
	Poll(context.Context) (*http.Response, error)
	Done() bool
}

// accepted is a write that Azure has accepted.
type accepted struct {
	verb     verb
	poller   poller
	token    string                      // resumes the poller after a restart; "" when the operation has ended already
	result   func(context.Context) error // the outcome of a finished operation that does not say it itself
	response *http.Response              // that accepted the write; nil when it was not captured
	model    *model                      // the group in that answer; nil when it tells none
	ids      []string                    // of the machines that a removal took on; nil: all that were named
}

// accept is the write that the SDK's poller follows.
func accept[P interface {
	poller
	ResumeToken() (string, error)
	Result(context.Context) (T, error)
}, T any](v verb, p P, response *http.Response) *accepted {
	a := &accepted{verb: v, poller: p, response: response}
	a.token, _ = p.ResumeToken() // an operation that has ended already has none
	a.result = func(ctx context.Context) error {
		_, err := p.Result(ctx)
		return err
	}
	return a
}
