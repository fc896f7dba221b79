package azure

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/internal/azure/config"
)

// standard is the source of node groups that are pools of virtual machines in availability sets. A pool is no resource of Azure: it is
// the machines that say so. It grows by a deployment that is replayed for the numbers that come next, and shrinks by the removal of single
// machines with what belongs to them. Both are begun and not waited for: [standard.carryOn] goes on with them in every cycle.
type standard struct {
	resourceGroup string
	replays       replays
	pools         []string // by name
	keep          int      // finished deployments of sluice's own
	force         bool     // delete machines by force
	readOnly      bool     // write nothing
	unique        func() string
	now           func() time.Time
	log           *slog.Logger
	vms           *armcompute.VirtualMachinesClient
	lists         answers[*armcompute.VirtualMachine]
	arm           *resourceManager

	mu       sync.Mutex
	bare     bool // Azure gives no instance views in a list
	growths  growths
	known    map[string]*known // what is known of pools, by name in lower case
	removing map[string]string // names of the machines, by UID, whose removal this process has begun and not finished
	sweeper  sweeper
	prune    time.Time         // when old deployments are to be looked for; zero: not
	said     map[string]string // why a chore is not done, by chore, as the last warning said
}

// replays are made of a deployment that is there.
type replays struct {
	template string         // that deployment
	given    map[string]any // its parameters; nil: they are in the file
	file     string
}

// growths are those that run, and by pool the one that was foretold last.
type growths struct {
	growing  []*growth
	intended map[string]*growth
	adopted  bool // the deployments of an earlier process are known
}

func newStandard(o Options, factory *armcompute.ClientFactory, pipeline runtime.Pipeline) *standard {
	s := &standard{
		resourceGroup: o.ResourceGroup, replays: replays{o.Deployment, o.DeploymentParameters, config.ParametersFile}, keep: cmp.Or(o.MaxDeployments, 10), force: o.ForceDelete, readOnly: o.ReadOnly,
		now: o.Now, log: o.Log, vms: factory.NewVirtualMachinesClient(), arm: newResourceManager(o, pipeline),
		removing: map[string]string{}, growths: growths{intended: map[string]*growth{}}, known: map[string]*known{}, unique: o.Unique,
	}
	if s.unique == nil {
		s.unique = unique
	}
	s.sweeper.seen = map[string]*remnant{}
	if !s.readOnly {
		s.sweeper.due = o.Now() // what an earlier process has left
	}
	for _, g := range o.Groups {
		s.pools = append(s.pools, g.Name)
	}
	return s
}

func (s *standard) noun() string { return "node pool" }

func (s *standard) lacking() string {
	return fmt.Sprintf("has no machine in resource group %q: make one, which the next ones are modelled on, or correct --nodes", s.resourceGroup)
}

// models are the pools that have machines, from one list of the resource group's machines.
func (s *standard) models(ctx context.Context) ([]*model, error) {
	vms, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	var all []*model
	for _, pool := range s.pools {
		if m := s.translate(pool, vms); m != nil {
			all = append(all, m)
		}
	}
	return all, nil
}

func (s *standard) model(ctx context.Context, name string) (*model, error) {
	vms, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	if m := s.translate(name, vms); m != nil {
		return m, nil
	}
	return nil, &cloud.Error{Kind: cloud.NotFound, Code: "PoolEmpty", Message: fmt.Sprintf("node pool %q has no machine", name)}
}

// list is every machine of the resource group. Where Azure refuses instance views in such a list, the states come from the list of the
// subscription's states, as far as the identity may read it.
func (s *standard) list(ctx context.Context) ([]*armcompute.VirtualMachine, error) {
	if err := s.adopt(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	bare := s.bare
	s.mu.Unlock()
	if !bare {
		vms, err := s.page(ctx, new(armcompute.ExpandTypeForListVMsInstanceView))
		var refused *azcore.ResponseError
		if err == nil || !errors.As(err, &refused) || refused.StatusCode != http.StatusBadRequest {
			return vms, err
		}
		s.mu.Lock()
		s.bare = true
		s.mu.Unlock()
	}
	vms, err := s.page(ctx, nil)
	if err != nil {
		return nil, err
	}
	views := map[string]*armcompute.VirtualMachineInstanceView{}
	pager := s.vms.NewListAllPager(&armcompute.VirtualMachinesClientListAllOptions{StatusOnly: new("true")})
	links := links{}
	for pager.More() {
		page, err := pager.NextPage(ctx)
		if err == nil {
			err = links.follow(val(page.NextLink))
		}
		if err != nil {
			s.log.Debug("power states of machines are unknown", "err", err)
			break
		}
		for _, vm := range page.Value {
			if vm != nil && vm.Properties != nil {
				views[strings.ToLower(val(vm.ID))] = vm.Properties.InstanceView
			}
		}
	}
	for i, vm := range vms {
		if vm.Properties != nil && vm.Properties.InstanceView == nil {
			viewed, properties := *vm, *vm.Properties
			properties.InstanceView = views[strings.ToLower(val(vm.ID))]
			viewed.Properties = &properties
			vms[i] = &viewed
		}
	}
	return vms, nil
}

// page asks for the machines page by page. Nobody changes them: the next answer may be the same ones.
func (s *standard) page(ctx context.Context, expand *armcompute.ExpandTypeForListVMs) ([]*armcompute.VirtualMachine, error) {
	pager := s.vms.NewListPager(s.resourceGroup, &armcompute.VirtualMachinesClientListOptions{Expand: expand})
	return listPages(ctx, &s.lists, string(val(expand)), pager, func(page armcompute.VirtualMachinesClientListResponse) (made []*armcompute.VirtualMachine, next *string, err error) {
		return slices.DeleteFunc(page.Value, func(vm *armcompute.VirtualMachine) bool { return vm == nil }), page.NextLink, nil
	})
}

// known is what is known of a pool that once had machines.
type known struct {
	model *model
	free  int       // the number behind the highest one that a list had
	empty time.Time // since when lists have none; zero: they have
}

// remember keeps what a list tells of a pool that has machines.
func (s *standard) remember(m *model, highest string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pool := strings.ToLower(m.name)
	free := 0
	if k := s.known[pool]; k != nil {
		free = k.free
	}
	if index, ok := indexOf(highest); ok {
		free = max(free, index+1)
	}
	s.known[pool] = &known{model: m, free: free}
}

// emptied is a pool that has no machine any more, as it was when it had some; nil when nobody knows, or when that is not so for long: lists may leave out what
// is there.
func (s *standard) emptied(name string) *model {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.known[strings.ToLower(name)]
	if k == nil {
		return nil
	}
	if k.empty.IsZero() {
		k.empty = s.now()
	}
	if s.now().Sub(k.empty) < believeFor {
		return nil
	}
	m := *k.model
	m.provisioning = "Succeeded"
	return &m
}

// translate says of a pool what sluice goes by; nil when it has no machine and nobody knows what the next one is modelled on. Its size and tags are those of
// its newest machine.
func (s *standard) translate(name string, vms []*armcompute.VirtualMachine) *model {
	k := &pool{standard: s}
	for _, vm := range vms {
		if strings.EqualFold(poolOf(val(vm.Name), vm.Tags), name) && setOf(vm) == "" {
			k.members = append(k.members, vm)
		}
	}
	if len(k.members) == 0 {
		m := s.emptied(name)
		if m != nil {
			m.kind = k
			s.measure(m, k)
		}
		return m
	}
	newest := slices.MaxFunc(k.members, func(a, b *armcompute.VirtualMachine) int {
		i, _ := indexOf(val(a.Name))
		j, _ := indexOf(val(b.Name))
		return cmp.Compare(i, j)
	})
	m := &model{
		kind: k, name: name, provisioning: "Succeeded", location: val(newest.Location), tags: make(map[string]string, len(newest.Tags)),
	}
	for tag, value := range newest.Tags {
		m.tags[tag] = val(value)
	}
	if p := newest.Properties; p != nil {
		if p.HardwareProfile != nil {
			m.size = string(val(p.HardwareProfile.VMSize))
		}
		m.spot = p.Priority != nil && *p.Priority != armcompute.VirtualMachinePriorityTypesRegular
		m.windows = p.OSProfile != nil && p.OSProfile.WindowsConfiguration != nil
		if p.StorageProfile != nil && p.StorageProfile.OSDisk != nil {
			m.disks.osGB = int(val(p.StorageProfile.OSDisk.DiskSizeGB))
		}
	}
	for _, vm := range k.members {
		k.listed = append(k.listed, virtualMachine(m, vm))
	}
	m.readRemoval(s.noun())
	m.names.id = k.begins(newest, vms)
	s.remember(m, val(newest.Name))
	s.measure(m, k)
	return m
}

// begins is how the provider ids of the pool's machines begin, before their numbers: as those of no other machine of the resource group do, or "".
func (k *pool) begins(newest *armcompute.VirtualMachine, all []*armcompute.VirtualMachine) string {
	id, name := val(newest.ID), val(newest.Name)
	series := seriesOf(name)
	if _, ok := indexOf(name); !ok || !strings.HasSuffix(strings.ToLower(id), "/"+strings.ToLower(name)) {
		return ""
	}
	for _, vm := range all {
		if !slices.Contains(k.members, vm) && strings.HasPrefix(strings.ToLower(val(vm.Name)), series) {
			return ""
		}
	}
	return providerID(id[:len(id)-len(name)]) + series
}

// measure says how many machines a pool has or will have, and as which it was read.
func (s *standard) measure(m *model, k *pool) {
	coming := s.coming(m.name, k.members)
	if len(coming) > 0 {
		m.provisioning = "Updating"
	}
	m.capacity = (&reading{machines: k.listed}).staying() + len(coming)
	m.version = digest(k.listed, coming)
}

// digest stands in for the entity tag that a pool does not have: it moves when machines come, go, or are replaced under the same name.
func digest(machines []*machine, coming []int) string {
	var lines []string
	for _, m := range machines {
		lines = append(lines, fmt.Sprintf("%s %t", m.identity(), m.leaving()))
	}
	for _, index := range coming {
		lines = append(lines, fmt.Sprint(index))
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:8])
}

// pool is the kind of one reading of a pool.
type pool struct {
	*standard
	members []*armcompute.VirtualMachine
	listed  []*machine // the same

	once     sync.Mutex
	reported bool
}

// machines are those of the list that the model came from, once; after that a list of their own.
func (k *pool) machines(ctx context.Context, m *model) ([]*machine, error) {
	k.once.Lock()
	reported := k.reported
	k.reported = true
	k.once.Unlock()
	if !reported {
		return k.listed, nil
	}
	again, err := k.model(ctx, m.name)
	if err != nil {
		return nil, err
	}
	return again.kind.(*pool).listed, nil
}

// atOnce is how many machines are removed together.
func (k *pool) atOnce() int { return 10 }

// fresh reads the pool again for a write, which is refused when it is another one by now: between this read and the write lies nothing
// but the write itself (S-04).
func (s *standard) fresh(ctx context.Context, name, version string) (*model, *pool, error) {
	m, err := s.model(asEvidence(ctx), name)
	if err != nil {
		return nil, nil, err
	}
	if m.version != version {
		return nil, nil, &cloud.Error{Kind: cloud.Conflict, Code: "PoolMoved", Message: fmt.Sprintf("node pool %q has other machines now than when it was read", name)}
	}
	return m, m.kind.(*pool), nil
}
