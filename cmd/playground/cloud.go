package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azuresim"
)

// Where everything is in the simulated Azure. The resource group has capital letters because Azure keeps them and provider ids don't.
const (
	subscription  = "5ca1ab1e-0000-4000-8000-000000000001"
	resourceGroup = "Playground"
	location      = "westeurope"
	controlPlane  = "control-plane-0" // the machine whose instance metadata and identity sluice uses
)

// poolLabel tells the machines of the groups apart; burst machines are also tainted with it.
const poolLabel = "pool"

// group is a node group: a scale set and its bounds.
type group struct {
	name     string
	size     size
	min, max int
	tainted  bool // only pods that tolerate poolLabel run there
}

// size is a machine size as its kubelet sees it.
type size struct {
	name   string
	family string
	cores  int
	gib    int // memory
}

var (
	d2s = size{"Standard_D2s_v5", "standardDSv5Family", 2, 8}
	d4s = size{"Standard_D4s_v5", "standardDSv5Family", 4, 16}
	e8s = size{"Standard_E8s_v5", "standardESv5Family", 8, 64}
)

// The groups. A pod of three cores fits an agent once and a render machine, which costs more a core, twice: a decision by cost fills
// agents to its maximum first.
var (
	agents = group{name: "agents", size: d4s, min: 1, max: 7}
	render = group{name: "render", size: e8s, min: 1, max: 10}
	burst  = group{name: "burst", size: d2s, min: 0, max: 20, tainted: true}
	groups = []group{agents, render, burst}
)

// flag is the group as a --nodes flag names it.
func (g group) flag() string { return fmt.Sprintf("%d:%d:%s", g.min, g.max, g.name) }

// scaleSet is the group at its minimum, with the tags that tell what its nodes will look like.
func (g group) scaleSet() azuresim.ScaleSet {
	tags := map[string]string{"k8s.io_cluster-autoscaler_node-template_label_" + poolLabel: g.name}
	if g.tainted {
		tags["k8s.io_cluster-autoscaler_node-template_taint_"+poolLabel] = g.name + ":NoSchedule"
	}
	return azuresim.ScaleSet{
		Subscription: subscription, ResourceGroup: resourceGroup, Name: g.name, Location: location,
		Size: g.size.name, VCPUs: g.size.cores, Family: g.size.family,
		Zones: []string{"1", "2", "3"}, Capacity: g.min, Tags: tags,
	}
}

// newAzure is an Azure with the groups at their minimum and one machine for the control plane.
func newAzure(s script) (*azuresim.Server, error) {
	a := &azuresim.Server{Seed: 1, Boot: s.boot, Delete: s.remove, RetryAfter: s.retryAfter}
	err := a.AddMachine(azuresim.Machine{
		Subscription: subscription, ResourceGroup: resourceGroup, Name: controlPlane, Location: location, Zone: "1",
		Size: d2s.name, SystemAssigned: true,
	})
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		if err := a.AddScaleSet(g.scaleSet()); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// listen serves a handler on a free port of loopback until the returned server is closed, and tells its URL.
func listen(handler http.Handler, log *slog.Logger) (*http.Server, string, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	s := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	go s.Serve(listener) //nolint:errcheck // ends when it is closed
	return s, "http://" + listener.Addr().String(), nil
}

// azureOptions are sluice's: three groups by name, and nothing else that instance metadata can tell.
func (p *playground) azureOptions() azure.Options {
	o := azure.Options{ResourceManagerEndpoint: p.managerURL, AuthorityHost: p.managerURL, MetadataEndpoint: p.metadataURL, Log: p.log}
	for _, g := range groups {
		o.Groups = append(o.Groups, azure.GroupSpec{Name: g.name, Min: g.min, Max: g.max})
	}
	return o
}
