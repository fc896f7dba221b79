package azure

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"sluice.dev/sluice/cluster"
)

// addresses knows the private addresses of machines, by which a node is matched when nothing else tells: a machine keeps what it was
// given until it is switched off, so that each is asked for once. It does without when it may not ask.
type addresses struct {
	endpoint string
	pipeline runtime.Pipeline
	now      func() time.Time
	warn     func(action string, err error)

	mu     sync.Mutex
	of     map[string][]string     // by UID
	turns  map[string]*addressTurn // of groups, by name
	warned bool
}

// addressTurn is when a group's interfaces are listed.
type addressTurn struct {
	at   time.Time     // zero while no address is missing
	wait time.Duration // to the next, should this one say nothing new
}

// A group's interfaces are listed when it is first read, and then once a machine has been up for addressesEvery, so that those that come
// together are asked for together, and at most as often; each list that says nothing new about the machines in question doubles that, up to addressesRarely.
const (
	addressesEvery  = 5 * time.Minute
	addressesRarely = 6 * time.Hour
)

// fill gives the machines the addresses that are known. They are nobody else's yet.
func (a *addresses) fill(machines []*machine) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range machines {
		if m.off() {
			delete(a.of, m.uid) // it may be given another one when it starts
		}
		m.ips = a.of[m.uid]
	}
}

// ask lists the interfaces of a group when one of its machines is up whose addresses are not known, and fills them in.
func (a *addresses) ask(ctx context.Context, m *model, machines []*machine) {
	unknown := func() int {
		n := 0
		for _, vm := range machines {
			if vm.uid != "" && vm.state == cluster.StateRunning && vm.ips == nil {
				n++
			}
		}
		return n
	}
	before := unknown()
	if m.interfaces.path == "" || !a.due(key(m.name), before) {
		return
	}
	found, err := a.list(ctx, m)
	a.mu.Lock()
	for _, vm := range machines {
		if ips := found[strings.ToLower(vm.resource)]; len(ips) > 0 && vm.uid != "" {
			a.of[vm.uid] = ips
		}
	}
	a.mu.Unlock()
	a.fill(machines)

	a.mu.Lock()
	defer a.mu.Unlock()
	if left := unknown(); left == 0 {
		a.turns[key(m.name)] = &addressTurn{}
	} else if left < before {
		a.turns[key(m.name)] = &addressTurn{a.now().Add(addressesEvery), 2 * addressesEvery}
	}
	var refused *azcore.ResponseError
	if errors.As(err, &refused) && !a.warned {
		a.warned = true
		a.warn(m.interfaces.right, err)
	}
}

// due says whether the interfaces of a group with so many machines of unknown addresses are to be listed now, and plans the next turn.
func (a *addresses) due(name string, unknown int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.turns[name]
	switch now := a.now(); {
	case unknown == 0:
		a.turns[name] = &addressTurn{}
		return false
	case t == nil:
		a.turns[name] = &addressTurn{now.Add(addressesEvery), 2 * addressesEvery}
		return true
	case t.at.IsZero():
		a.turns[name] = &addressTurn{now.Add(addressesEvery), addressesEvery}
		return false
	case now.Before(t.at):
		return false
	default:
		t.at, t.wait = now.Add(t.wait), min(addressesRarely, 2*t.wait)
		return true
	}
}

// attached is a network interface and the machine that it serves.
type attached struct {
	Properties struct {
		Machine struct {
			ID string `json:"id"`
		} `json:"virtualMachine"` // absent of an interface that no machine has
		Configurations []struct {
			Properties struct {
				Address string `json:"privateIPAddress"`
			} `json:"properties"`
		} `json:"ipConfigurations"`
	} `json:"properties"`
}

// list is the addresses of a group's machines by their resource ids in lower case: of the pages that came, when one does not.
func (a *addresses) list(ctx context.Context, m *model) (map[string][]string, error) {
	found := map[string][]string{}
	interfaces, err := collect[attached](ctx, a.pipeline, a.endpoint+m.interfaces.path)
	for _, nic := range interfaces {
		id := strings.ToLower(nic.Properties.Machine.ID)
		for _, c := range nic.Properties.Configurations {
			if ip := c.Properties.Address; id != "" && ip != "" && !slices.Contains(found[id], ip) {
				found[id] = append(found[id], ip)
			}
		}
	}
	return found, err
}

// makeAddresses reads them with a warning where it may not.
func (c *client) makeAddresses() *addresses {
	return &addresses{
		endpoint: c.options.ResourceManagerEndpoint, pipeline: c.pipeline, now: c.options.Now,
		of: map[string][]string{}, turns: map[string]*addressTurn{},
		warn: func(action string, err error) {
			c.options.Log.Warn("private addresses of machines cannot be read, and nodes are matched without them: allow "+action, "err", c.wrap("", "list network interfaces", err))
		},
	}
}
