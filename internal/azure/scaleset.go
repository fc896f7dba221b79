package azure

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"sluice.dev/sluice/cloud"
)

// scaleSets is the source of node groups that are scale sets of one resource group. It carries what the kinds of them share.
type scaleSets struct {
	resourceGroup string
	client        *armcompute.VirtualMachineScaleSetsClient
	uniform       kind
	flexible      kind // nil when flexible scale sets are not to be managed
	force         bool // machines are deleted by force where Azure can
	lists         answers[model]
}

func newScaleSets(o Options, factory *armcompute.ClientFactory) *scaleSets {
	s := &scaleSets{resourceGroup: o.ResourceGroup, client: factory.NewVirtualMachineScaleSetsClient()}
	s.uniform = &uniform{scaleSets: s, client: factory.NewVirtualMachineScaleSetVMsClient()}
	if !o.RefuseFlexible {
		s.flexible = &flexible{scaleSets: s, client: factory.NewVirtualMachinesClient()}
	}
	s.force = o.ForceDelete
	return s
}

func (s *scaleSets) noun() string { return "scale set" }

func (s *scaleSets) lacking() string {
	return fmt.Sprintf("is not in resource group %q: correct --nodes or create it", s.resourceGroup)
}

// atOnce is the number of ids that one deletion may name.
func (s *scaleSets) atOnce() int { return 100 }

func (s *scaleSets) models(ctx context.Context) ([]*model, error) {
	pager := s.client.NewListPager(s.resourceGroup, nil)
	all, err := listPages(ctx, &s.lists, "", pager, func(page armcompute.VirtualMachineScaleSetsClientListResponse) (made []model, next *string, err error) {
		for _, set := range page.Value {
			if set != nil && val(set.Name) != "" {
				made = append(made, *s.translate(set))
			}
		}
		return made, page.NextLink, nil
	})
	if err != nil {
		return nil, err
	}
	own := make([]*model, len(all))
	for i := range all {
		own[i] = new(all[i])
	}
	return own, nil
}

func (s *scaleSets) model(ctx context.Context, name string) (*model, error) {
	got, err := s.client.Get(ctx, s.resourceGroup, name, nil)
	if err != nil {
		return nil, err
	}
	return s.translate(&got.VirtualMachineScaleSet), nil
}

// translate says of a scale set what sluice goes by.
func (s *scaleSets) translate(set *armcompute.VirtualMachineScaleSet) *model {
	m := &model{
		kind: s.uniform, name: val(set.Name), resource: val(set.ID), version: val(set.Etag), capacity: -1, location: val(set.Location),
		tags: make(map[string]string, len(set.Tags)),
	}
	if set.SKU != nil {
		m.size = val(set.SKU.Name)
		if n := set.SKU.Capacity; n != nil && *n >= 0 {
			m.capacity = int(*n)
		}
	}
	for _, z := range set.Zones {
		m.zones = append(m.zones, val(z))
	}
	for name, value := range set.Tags {
		m.tags[name] = val(value)
	}
	if set.Identity != nil {
		for id, is := range set.Identity.UserAssignedIdentities {
			m.identities = append(m.identities, strings.ToLower(id))
			if is != nil && val(is.ClientID) != "" {
				m.identities = append(m.identities, strings.ToLower(*is.ClientID))
			}
		}
		slices.Sort(m.identities) // two readings of one set are the same
	}
	m.readRemoval(s.noun())
	m.actors = actorsIn(set)
	if m.resource != "" {
		m.names.id = providerID(m.resource) + "/virtualMachines/"
		m.interfaces.path, m.interfaces.right = m.resource+"/networkInterfaces?api-version=2018-10-01", "Microsoft.Compute/virtualMachineScaleSets/networkInterfaces/read"
	}
	p := set.Properties
	if p == nil {
		return m
	}
	m.provisioning = val(p.ProvisioningState)
	isFlexible := val(p.OrchestrationMode) == armcompute.OrchestrationModeFlexible
	if isFlexible && s.flexible != nil {
		m.kind = s.flexible
		m.names.id = ""
		if group, _, ok := strings.Cut(m.resource, "/providers/"); ok {
			m.names.id = providerID(group) + "/providers/Microsoft.Compute/virtualMachines/" + m.name + "_"
			m.interfaces.path, m.interfaces.right = group+"/providers/Microsoft.Network/networkInterfaces?api-version=2025-05-01", "Microsoft.Network/networkInterfaces/read"
		}
	}
	if s.force && forcible(set) {
		m.kind = &forced{m.kind, s}
	}
	switch {
	case isFlexible && s.flexible == nil:
		m.unfit = fmt.Sprintf("scale set %q has flexible orchestration, which enableVmssFlexNodes switches off: switch it on, or use a scale set with uniform orchestration", m.name)
	case isFlexible && p.VirtualMachineProfile == nil:
		m.unfit = fmt.Sprintf("scale set %q has no virtual machine profile, from which Azure would make its machines: add one to it, or use another scale set", m.name)
	case val(p.Overprovision):
		m.unfit = fmt.Sprintf("scale set %q overprovisions, so that machines register and vanish: set its property overprovision to false", m.name)
	}
	if profile := p.VirtualMachineProfile; profile != nil {
		m.spot = profile.Priority != nil && *profile.Priority != armcompute.VirtualMachinePriorityTypesRegular
		m.windows = profile.OSProfile != nil && profile.OSProfile.WindowsConfiguration != nil
		if !isFlexible && profile.OSProfile != nil { // the names of flexible machines end in letters and digits that mean nothing
			m.names.hostname = val(profile.OSProfile.ComputerNamePrefix)
		}
		m.disks = disksOf(profile.StorageProfile)
		m.make = makeOf(profile)
	}
	return m
}

// makeOf stands for the image and the extensions that a model makes machines of: another value is another model. Azure does not show what starts a machine
// (customData), and shows besides what changes by itself, such as the image's exact version: that is left out.
func makeOf(p *armcompute.VirtualMachineScaleSetVMProfile) string {
	var parts []string
	if p.StorageProfile != nil && p.StorageProfile.ImageReference != nil {
		i := p.StorageProfile.ImageReference
		parts = append(parts, val(i.ID), val(i.Publisher), val(i.Offer), val(i.SKU), val(i.Version), val(i.CommunityGalleryImageID), val(i.SharedGalleryImageID))
	}
	var extensions []string // in an order of our own
	if p.ExtensionProfile != nil {
		for _, e := range p.ExtensionProfile.Extensions {
			if e == nil || e.Properties == nil {
				continue
			}
			settings, _ := json.Marshal(e.Properties.Settings) // read from JSON
			extensions = append(extensions, strings.Join([]string{
				val(e.Name), val(e.Properties.Publisher), val(e.Properties.Type), val(e.Properties.TypeHandlerVersion), val(e.Properties.ForceUpdateTag), string(settings),
			}, "\x00"))
		}
	}
	slices.Sort(extensions)
	parts = append(parts, extensions...)
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:8])
}

func disksOf(p *armcompute.VirtualMachineScaleSetStorageProfile) (d disks) {
	if p == nil {
		return d
	}
	d.data = len(p.DataDisks)
	if p.OSDisk == nil {
		return d
	}
	d.os, d.osGB = true, int(val(p.OSDisk.DiskSizeGB))
	if p.OSDisk.ManagedDisk != nil {
		d.osTier = string(val(p.OSDisk.ManagedDisk.StorageAccountType))
	}
	d.ephemeral = p.OSDisk.DiffDiskSettings != nil && val(p.OSDisk.DiffDiskSettings.Option) == armcompute.DiffDiskOptionsLocal
	return d
}

// grow sends the capacity and nothing else (S-04).
func (s *scaleSets) grow(ctx context.Context, name, version string, n int) (*accepted, error) {
	var resp *http.Response
	poller, err := s.client.BeginUpdate(policy.WithCaptureResponse(ctx, &resp), s.resourceGroup, name,
		armcompute.VirtualMachineScaleSetUpdate{SKU: &armcompute.SKU{Capacity: new(int64(n))}},
		&armcompute.VirtualMachineScaleSetsClientBeginUpdateOptions{IfMatch: &version})
	if err != nil {
		return nil, err
	}
	a := accept(verbGrow, poller, resp)
	a.model = s.modelIn(resp)
	return a, nil
}

// remove names the machines to Azure, which lowers the capacity by as many itself (S-10).
func (s *scaleSets) remove(ctx context.Context, name, _ string, ids []string) (*accepted, error) {
	return s.removeBy(ctx, name, ids, false)
}

func (s *scaleSets) removeBy(ctx context.Context, name string, ids []string, force bool) (*accepted, error) {
	if len(ids) == 0 {
		return nil, errAll
	}
	var options *armcompute.VirtualMachineScaleSetsClientBeginDeleteInstancesOptions
	if force {
		options = &armcompute.VirtualMachineScaleSetsClientBeginDeleteInstancesOptions{ForceDeletion: &force}
	}
	var resp *http.Response
	poller, err := s.client.BeginDeleteInstances(policy.WithCaptureResponse(ctx, &resp), s.resourceGroup, name,
		armcompute.VirtualMachineScaleSetVMInstanceRequiredIDs{InstanceIDs: pointers(ids)}, options)
	if err != nil {
		return nil, err
	}
	return accept(verbDelete, poller, resp), nil
}

func (s *scaleSets) resume(ctx context.Context, name string, v verb, token string) (*accepted, error) {
	switch v {
	case verbGrow:
		poller, err := s.client.BeginUpdate(ctx, s.resourceGroup, name, armcompute.VirtualMachineScaleSetUpdate{},
			&armcompute.VirtualMachineScaleSetsClientBeginUpdateOptions{ResumeToken: token})
		if err != nil {
			return nil, err
		}
		return accept(v, poller, nil), nil
	case verbDelete:
		poller, err := s.client.BeginDeleteInstances(ctx, s.resourceGroup, name, armcompute.VirtualMachineScaleSetVMInstanceRequiredIDs{},
			&armcompute.VirtualMachineScaleSetsClientBeginDeleteInstancesOptions{ResumeToken: token})
		if err != nil {
			return nil, err
		}
		return accept(v, poller, nil), nil
	case verbPark:
		poller, err := s.client.BeginDeallocate(ctx, s.resourceGroup, name, &armcompute.VirtualMachineScaleSetsClientBeginDeallocateOptions{ResumeToken: token})
		if err != nil {
			return nil, err
		}
		return accept(v, poller, nil), nil
	case verbStart:
		poller, err := s.client.BeginStart(ctx, s.resourceGroup, name, &armcompute.VirtualMachineScaleSetsClientBeginStartOptions{ResumeToken: token})
		if err != nil {
			return nil, err
		}
		return accept(v, poller, nil), nil
	}
	return nil, unresumable(v)
}

// park deallocates the machines.
func (s *scaleSets) park(ctx context.Context, name, _ string, ids []string) (*accepted, error) {
	if len(ids) == 0 {
		return nil, errAll
	}
	var resp *http.Response
	poller, err := s.client.BeginDeallocate(policy.WithCaptureResponse(ctx, &resp), s.resourceGroup, name,
		&armcompute.VirtualMachineScaleSetsClientBeginDeallocateOptions{VMInstanceIDs: &armcompute.VirtualMachineScaleSetVMInstanceIDs{InstanceIDs: pointers(ids)}})
	if err != nil {
		return nil, err
	}
	return accept(verbPark, poller, resp), nil
}

func (s *scaleSets) start(ctx context.Context, name string, ids []string) (*accepted, error) {
	if len(ids) == 0 {
		return nil, errAll
	}
	var resp *http.Response
	poller, err := s.client.BeginStart(policy.WithCaptureResponse(ctx, &resp), s.resourceGroup, name,
		&armcompute.VirtualMachineScaleSetsClientBeginStartOptions{VMInstanceIDs: &armcompute.VirtualMachineScaleSetVMInstanceIDs{InstanceIDs: pointers(ids)}})
	if err != nil {
		return nil, err
	}
	return accept(verbStart, poller, resp), nil
}

// errAll keeps a list without ids from Azure.
var errAll error = &cloud.Error{Kind: cloud.Invalid, Code: "NoMachineNamed", Message: "no machine is named, which Azure reads as all"}

// modelIn is the scale set in an answer, nil when it tells none.
func (s *scaleSets) modelIn(resp *http.Response) *model {
	if resp == nil {
		return nil
	}
	set := &armcompute.VirtualMachineScaleSet{}
	raw, err := runtime.Payload(resp)
	if err != nil || json.Unmarshal(raw, set) != nil {
		return nil
	}
	return s.translate(set)
}

func pointers(ids []string) []*string {
	out := make([]*string, len(ids))
	for i := range ids {
		out[i] = &ids[i]
	}
	return out
}
