package azure

import (
	"cmp"
	"context"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"sluice.dev/sluice/cloud"
)

// Arrivals reads machines that want to join: who they are, where their requests come from, and since when they are there. It passes the gate as all else does, and asks
// after everything that a decision rests on.
type Arrivals struct {
	subscription, group, endpoint, version string
	pipeline                               runtime.Pipeline
	wrap                                   func(doing string, err error) error
}

// Arrival is a machine as Azure has it now.
type Arrival struct {
	ID       string // resource id
	UID      string // vmId, in lower case
	Name     string // the computer's, as its node is called
	ScaleSet string // name; "" in none
	Address  netip.Addr
	Created  time.Time
}

// Arrivals reads with the provider's identity, within its share of Azure's limits.
func (p *Provider) Arrivals() *Arrivals {
	version := cmp.Or(p.options.computeVersion(), arrivalVersion)
	return &Arrivals{
		subscription: p.options.Subscription, group: p.options.ResourceGroup, endpoint: p.options.ResourceManagerEndpoint, version: version, pipeline: p.pipeline,
		wrap: func(doing string, err error) error { return p.wrap("", doing, err) },
	}
}

// Subscription is the one that the provider manages machines in.
func (a *Arrivals) Subscription() string { return a.subscription }

// ResourceGroup is the one that the provider manages machines in.
func (a *Arrivals) ResourceGroup() string { return a.group }

// The api-versions of what is asked.
const (
	arrivalVersion    = "2024-07-01"
	interfacesVersion = "2018-10-01" // the newest that interfaces beneath scale sets are documented with
)

var machinePath = regexp.MustCompile(`(?i)^/subscriptions/([0-9a-z-]{1,64})/resourceGroups/([\w.()-]{1,90})/providers/Microsoft\.Compute/` +
	`(?:virtualMachineScaleSets/([\w.-]{1,64})/virtualMachines/([0-9]{1,10})|virtualMachines/([\w.-]{1,64}))$`)

// MachineID takes a resource id of a machine apart: its resource group, and the uniform scale set that it is beneath, "" for one that is a resource of its own.
// It is none of the subscription's machines unless ok.
func (a *Arrivals) MachineID(id string) (group, set string, ok bool) {
	m := machinePath.FindStringSubmatch(id)
	if len(m) == 0 || !strings.EqualFold(m[1], a.subscription) || strings.Contains(id, "..") {
		return "", "", false
	}
	return m[2], m[3], true
}

// seen is a virtual machine on the wire, of both kinds.
type seen struct {
	ID         string `json:"id"`
	Properties struct {
		VMID      string `json:"vmId"`
		Created   string `json:"timeCreated"`
		OSProfile struct {
			ComputerName string `json:"computerName"`
		} `json:"osProfile"`
		ScaleSet struct {
			ID string `json:"id"`
		} `json:"virtualMachineScaleSet"`
		Network struct {
			Interfaces []struct {
				ID         string `json:"id"`
				Properties struct {
					Primary *bool `json:"primary"`
				} `json:"properties"`
			} `json:"networkInterfaces"`
		} `json:"networkProfile"`
	} `json:"properties"`
}

// plugged is a network interface on the wire, of both kinds.
type plugged struct {
	ID         string `json:"id"`
	Properties struct {
		Primary *bool `json:"primary"`
		Machine struct {
			ID string `json:"id"`
		} `json:"virtualMachine"`
		Configurations []struct {
			Properties struct {
				Primary *bool  `json:"primary"`
				Address string `json:"privateIPAddress"`
			} `json:"properties"`
		} `json:"ipConfigurations"`
	} `json:"properties"`
}

// isPrimary says whether one of several is the primary one; the only one is, where nothing is said.
func isPrimary(primary *bool, of int) bool {
	return primary == nil && of == 1 || primary != nil && *primary
}

// address is that of the primary configuration: with some networks the others are pods'.
func (n plugged) address() netip.Addr {
	all := n.Properties.Configurations
	for _, c := range all {
		if isPrimary(c.Properties.Primary, len(all)) {
			ip, _ := netip.ParseAddr(c.Properties.Address) // the zero address is nobody's
			return ip
		}
	}
	return netip.Addr{}
}

func (vm seen) arrival() Arrival {
	p := vm.Properties
	out := Arrival{ID: vm.ID, UID: strings.ToLower(p.VMID), Name: strings.ToLower(p.OSProfile.ComputerName), ScaleSet: p.ScaleSet.ID[strings.LastIndex(p.ScaleSet.ID, "/")+1:]}
	if m := machinePath.FindStringSubmatch(vm.ID); len(m) > 3 && m[3] != "" {
		out.ScaleSet = m[3]
	}
	if at, err := time.Parse(time.RFC3339, p.Created); err == nil {
		out.Created = at.UTC()
	}
	return out
}

func (a *Arrivals) get(ctx context.Context, path, version string, into any) error {
	req, err := runtime.NewRequest(ctx, http.MethodGet, a.endpoint+path)
	if err != nil {
		return err
	}
	req.Raw().URL.RawQuery = "api-version=" + version
	req.Raw().Header.Set("Accept", "application/json")
	resp, err := a.pipeline.Do(req) //nolint:bodyclose // the pipeline has read and closed it
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return runtime.NewResponseError(resp)
	}
	return runtime.UnmarshalAsJSON(resp, into)
}

// Machine reads one machine and its primary interface: two requests. The error says with kind NotFound that it is not there.
func (a *Arrivals) Machine(ctx context.Context, id string) (Arrival, error) {
	_, set, ok := a.MachineID(id)
	if !ok {
		return Arrival{}, &cloud.Error{Kind: cloud.NotFound, Code: "NoMachine", Message: "the resource id names no machine of the subscription"}
	}
	var vm seen
	if err := a.get(ctx, id, a.version, &vm); err != nil {
		return Arrival{}, a.wrap("read a machine", err)
	}
	out := vm.arrival()
	if set != "" {
		nics, err := collect[plugged](ctx, a.pipeline, a.endpoint+id+"/networkInterfaces?api-version="+interfacesVersion)
		if err != nil {
			return Arrival{}, a.wrap("read a machine's interfaces", err)
		}
		out.Address = primary(nics)[strings.ToLower(vm.ID)]
		return out, nil
	}
	all := vm.Properties.Network.Interfaces
	for _, of := range all {
		if !isPrimary(of.Properties.Primary, len(all)) {
			continue
		}
		if !strings.HasPrefix(strings.ToLower(of.ID), "/subscriptions/"+strings.ToLower(a.subscription)+"/") {
			break // no path of Resource Manager's that the identity is to be shown to
		}
		var nic plugged
		if err := a.get(ctx, of.ID, cloudVersions.network, &nic); err != nil {
			return Arrival{}, a.wrap("read a machine's interface", err)
		}
		out.Address = nic.address()
	}
	return out, nil
}

// Machines reads all machines of a uniform scale set or, where set is "", all that are resources of their own in a resource group: two lists.
func (a *Arrivals) Machines(ctx context.Context, group, set string) ([]Arrival, error) {
	at := "/subscriptions/" + a.subscription + "/resourceGroups/" + group + "/providers/"
	machines, interfaces := at+"Microsoft.Compute/virtualMachines?api-version="+a.version, at+"Microsoft.Network/networkInterfaces?api-version="+cloudVersions.network
	if set != "" {
		at += "Microsoft.Compute/virtualMachineScaleSets/" + set
		machines, interfaces = at+"/virtualMachines?api-version="+a.version, at+"/networkInterfaces?api-version="+interfacesVersion
	}
	vms, err := collect[seen](ctx, a.pipeline, a.endpoint+machines)
	if err != nil {
		return nil, a.wrap("list machines", err)
	}
	nics, err := collect[plugged](ctx, a.pipeline, a.endpoint+interfaces)
	if err != nil {
		return nil, a.wrap("list interfaces", err)
	}
	addresses := primary(nics)
	all := make([]Arrival, 0, len(vms))
	for _, vm := range vms {
		one := vm.arrival()
		one.Address = addresses[strings.ToLower(vm.ID)]
		all = append(all, one)
	}
	return all, nil
}

// primary are the addresses of the primary interfaces of machines, by resource id in lower case.
func primary(nics []plugged) map[string]netip.Addr {
	count, of := map[string]int{}, map[string]netip.Addr{}
	for _, n := range nics {
		count[strings.ToLower(n.Properties.Machine.ID)]++
	}
	for _, n := range nics {
		if id := strings.ToLower(n.Properties.Machine.ID); id != "" && isPrimary(n.Properties.Primary, count[id]) {
			of[id] = n.address()
		}
	}
	return of
}
