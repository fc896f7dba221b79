package azure_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azuresim"
)

// groupKind is a kind of node group, and the life of a group of that kind, which is called agents.
type groupKind struct {
	name    string
	file    string // azure.json
	sets    []azuresim.ScaleSet
	prepare func(*wired) // makes what a description of a scale set cannot say, and completes the options
	steps   []step
}

// step is something sluice does, until it is through.
type step struct {
	name string
	do   func(*wired) error
}

// processes is how many processes of sluice a life has: every life has two restarts.
const processes = 3

// groupKinds are all kinds of groups, with all that is ever done to them.
var groupKinds = []groupKind{
	{"a uniform scale set", "", ofMode("Uniform", "delete"), furnish("galleries/farm/images/node/versions/1.0.0"), deleting},
	{"a flexible scale set", "", ofMode("Flexible", "delete"), furnish("galleries/farm/images/node"), deleting},
	{"a uniform scale set whose machines are switched off", "", ofMode("Uniform", "deallocate"), furnish("images/node"), parkingSteps},
	{"a flexible scale set whose machines are switched off", "", ofMode("Flexible", "deallocate"), furnish("images/node"), parkingSteps},
	{"an availability set", standardFile, nil, deployed("delete"), deleting},
	{"an availability set whose machines are switched off", standardFile, nil, deployed("deallocate"), parkingSteps},
}

var reading = []step{
	{"start, and find the group", (*wired).start},
	{"read the group past the caches", func(w *wired) error { _, err := w.read(); return err }},
	{"examine what the identity may do, for sluice doctor", func(w *wired) error {
		in := w.Inspect(context.Background())
		return errors.Join(in.Token, in.RightsError)
	}},
	{"hear why a machine does not join", (*wired).diagnose},
	{"look at a machine that wants to join, and at all", (*wired).greet},
	{"watch for five quiet minutes", func(w *wired) error { w.pass(5 * time.Minute); return nil }},
}

var deleting = slices.Concat(reading, []step{
	{"grow by two", func(w *wired) error { return w.raise(2) }},
	{"remove the first two by their ids", func(w *wired) error { return w.drop(2) }},
	{"grow by one, and have it followed by the next process", func(w *wired) error { return w.across(func() error { return w.raise(1) }) }},
	{"remove one, and have it followed by the next process", func(w *wired) error { return w.across(func() error { return w.drop(1) }) }},
})

var parkingSteps = slices.Concat(reading, []step{
	{"switch the first two off", func(w *wired) error { return w.drop(2) }},
	{"start one of them", func(w *wired) error { return w.raise(1) }},
	{"grow by two, of which one is started", func(w *wired) error { return w.raise(2) }},
	{"switch one off, and have it followed by the next process", func(w *wired) error { return w.across(func() error { return w.drop(1) }) }},
	{"start it, and have it followed by the next process", func(w *wired) error { return w.across(func() error { return w.raise(1) }) }},
})

// ofMode is a scale set of three machines that is found by its tags.
func ofMode(orchestration, removal string) []azuresim.ScaleSet {
	s := set("agents", 3)
	s.OrchestrationMode, s.Zones, s.Identities = orchestration, []string{"1", "2"}, []string{userIdentity + "node"}
	s.Tags = map[string]string{"cluster-autoscaler-enabled": "true", "min": "0", "max": "9", "sluice.dev_removal": removal}
	return []azuresim.ScaleSet{s}
}

// settle is how long every change of a life takes until all is quiet again.
const settle = 80 * time.Second

func (w *wired) start() error {
	p, err := azure.New(context.Background(), w.options)
	if err != nil {
		return err
	}
	w.Provider = p
	if g := w.cycle()["agents"]; g == nil || !g.Usable() {
		return fmt.Errorf("agents is %+v", g)
	}
	return nil
}

// diagnose has the first machine asked why it does not join, and hears it.
func (w *wired) diagnose() error {
	g, err := w.read()
	if err != nil {
		return err
	}
	w.Diagnose([]cluster.Machine{g.Instances[0].Machine()})
	w.cycle()
	w.AwaitErrands()
	told := w.cycle()["agents"].Instances[0].Diagnosis
	w.Diagnose(nil)
	if told == nil || told.Problem != "" || len(told.Lines) == 0 {
		return fmt.Errorf("the machine says %+v", told)
	}
	return nil
}

// greet reads what the door reads of a machine that comes to it, by itself and in a list.
func (w *wired) greet() error {
	var id string
	for _, m := range w.sim.Machines() {
		if m.ScaleSet != "" || id == "" {
			id = m.ID
		}
	}
	ctx, door := context.Background(), w.Arrivals()
	one, err := door.Machine(ctx, id)
	if err != nil {
		return err
	}
	group, set, _ := door.MachineID(id)
	all, err := door.Machines(ctx, group, set)
	if err != nil || !one.Address.IsValid() || !slices.Contains(all, one) {
		return fmt.Errorf("the door sees %+v, and in the list %+v: %w", one, all, err)
	}
	return nil
}

func (w *wired) read() (*cluster.Group, error) {
	return w.Group(context.Background(), "agents")
}

// raise asks for n machines more, and waits for them.
func (w *wired) raise(n int) error {
	g, err := w.read()
	if err != nil {
		return err
	}
	if err := w.SetCapacity(context.Background(), g, g.Capacity+n); err != nil {
		return err
	}
	return w.until(g.Capacity + n)
}

// drop has the first n machines removed, and waits until they are.
func (w *wired) drop(n int) error {
	g, err := w.read()
	if err != nil {
		return err
	}
	var first []cluster.Machine
	for _, in := range g.Instances[:n] {
		first = append(first, in.Machine())
	}
	if err := w.DeleteInstances(context.Background(), g, first); err != nil {
		return err
	}
	return w.until(g.Capacity - n)
}

// until lets the time pass that every change takes, and wants so many running machines at its end.
func (w *wired) until(n int) error {
	if w.leaves {
		w.leaves = false
		if err := w.succeed(); err != nil {
			return err
		}
	}
	w.pass(settle)
	g := w.cycle()["agents"]
	if g == nil {
		return errors.New("the group is gone")
	}
	if !g.Usable() || g.Capacity != n || g.Live() != n || len(w.Operations()) != 0 {
		return fmt.Errorf("capacity %d with %d live machines, usable %t, follows %d operations; want %d, and peace", g.Capacity, g.Live(), g.Usable(), len(w.Operations()), n)
	}
	return nil
}

// across does something that the present process begins and the next one ends.
func (w *wired) across(do func() error) error {
	w.leaves = true
	defer func() { w.leaves = false }()
	return do()
}

// succeed replaces the process, which has an operation in flight, by the next.
func (w *wired) succeed() error {
	saved := w.SaveOperations()
	if saved == nil {
		return errors.New("no operation is handed over")
	}
	p, err := azure.New(context.Background(), w.options)
	if err != nil {
		return err
	}
	w.Provider = p
	return p.ResumeOperations(saved)
}

// furnish gives the scale set an image and everything else that a model can refer to.
func furnish(image string) func(*wired) {
	const network, compute = provided + "Microsoft.Network/", provided + "Microsoft.Compute/"
	id := func(resource string) string { return fmt.Sprintf(`{"id":%q}`, resource) }
	model := `{"properties":{"virtualMachineProfile":{
		"storageProfile":{"imageReference":` + id(compute+image) + `,"osDisk":{"createOption":"FromImage",
			"managedDisk":{"diskEncryptionSet":` + id(compute+"diskEncryptionSets/farm") + `}}},
		"networkProfile":{"healthProbe":` + id(network+"loadBalancers/farm/probes/p") + `,"networkInterfaceConfigurations":[{"name":"nic","properties":{
			"primary":true,"networkSecurityGroup":` + id(network+"networkSecurityGroups/farm") + `,
			"ipConfigurations":[{"name":"ip","properties":{
				"subnet":` + id(network+"virtualNetworks/farm/subnets/agents") + `,
				"publicIPAddressConfiguration":{"name":"public","properties":{"publicIPPrefix":` + id(network+"publicIPPrefixes/farm") + `}},
				"applicationSecurityGroups":[` + id(network+"applicationSecurityGroups/farm") + `],
				"loadBalancerBackendAddressPools":[` + id(network+"loadBalancers/farm/backendAddressPools/p") + `],
				"loadBalancerInboundNatPools":[` + id(network+"loadBalancers/farm/inboundNatPools/p") + `],
				"applicationGatewayBackendAddressPools":[` + id(network+"applicationGateways/farm/backendAddressPools/p") + `]}}]}}]}}}}`
	return func(w *wired) { w.own("PATCH", compute+"virtualMachineScaleSets/agents", model) }
}

// provided is the path that every resource of the resource group begins with.
const provided = "/subscriptions/" + subscription + "/resourceGroups/" + resourceGroup + "/providers/"

// standardFile is azure.json of availability sets that were deployed as [template] says, with three agents.
var standardFile = `{"vmType":"standard","deployment":"cluster","maxDeploymentsCount":1,"deploymentParameters":` + threeAgents + `}`

var threeAgents = strings.Replace(clusterParameters, `"agentsCount":{"value":2}`, `"agentsCount":{"value":3}`, 1)

// deployed deploys them, into a subnet and from an image of this subscription.
func deployed(removal string) func(*wired) {
	text := strings.NewReplacer(
		"/subscriptions/x/subnets/agents", provided+"Microsoft.Network/virtualNetworks/farm/subnets/agents",
		"/images/linux", provided+"Microsoft.Compute/images/node",
		`"tags":{"poolName":"agents"}`, `"tags":{"poolName":"agents","sluice.dev_removal":"`+removal+`"}`,
	).Replace(template())
	return func(w *wired) {
		w.own("PUT", provided+"Microsoft.Resources/deployments/cluster", `{"properties":{"mode":"Incremental","template":`+text+`,"parameters":`+threeAgents+`}}`)
		w.now = w.now.Add(time.Minute)
		agents, err := azure.ParseGroup("1:9:agents")
		w.must(err)
		w.options.Groups = []azure.GroupSpec{agents}
	}
}
