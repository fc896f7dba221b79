package world

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azuresim"
)

// series are sizes as their names tell: GiB of memory for a core, by series.
var (
	series  = map[string]int{"D": 4, "E": 8, "F": 2}
	sizeTag = regexp.MustCompile(`^Standard_([DEF])(\d+)(s)_(v\d+)$`)
)

// sizeNamed is what a machine of a size has, as its name tells, and the family against whose quota it counts; false when the name
// does not tell.
func sizeNamed(name string) (m machineSize, family string, ok bool) {
	parts := sizeTag.FindStringSubmatch(name)
	if parts == nil {
		return m, "", false
	}
	m.cpu, _ = strconv.Atoi(parts[2])
	m.memory = *resource.NewQuantity(int64(m.cpu*series[parts[1]])<<30, resource.BinarySI)
	return m, "standard" + parts[1] + "S" + parts[4] + "Family", true
}

// sizeOf is what the machines of a group have. What the statement says counts more than the name of the size.
func sizeOf(s *statement) (m machineSize, family string, err error) {
	name := s.value("size", "")
	m, family, known := sizeNamed(name)
	memory, given, err := s.quantity("memory")
	if err != nil {
		return m, "", err
	}
	if given {
		m.memory = memory
	}
	if m.cpu, err = s.number("cpu", m.cpu); err != nil {
		return m, "", err
	}
	if !known && (!given || m.cpu == 0) {
		return m, "", fmt.Errorf("group %s: size=%s: give one such as Standard_D4s_v5 of the series D, E and F, or say cpu and memory besides", s.names[0], name)
	}
	if m.gpus, err = s.number("gpu", 0); err != nil {
		return m, "", err
	}
	if m.disks, err = s.number("disks", 0); err != nil {
		return m, "", err
	}
	if m.devices, err = s.number("devices", 0); err != nil {
		return m, "", err
	}
	if m.announced, err = s.duration("gpu-after", 0); err != nil {
		return m, "", err
	}
	if m.resources, err = s.resources("resource"); err != nil {
		return m, "", err
	}
	m.ready, err = s.duration("ready-after", 0)
	return m, family, err
}

// providerIDs are the forms in which nodes name their machines, by what scripts call them.
var providerIDs = map[string]func(m *machine) string{
	"cloud": func(m *machine) string { // as the cloud controller manager writes it: with the resource group in lower case
		return "azure://" + strings.Replace(m.ID, "/"+resourceGroup+"/", "/"+strings.ToLower(resourceGroup)+"/", 1)
	},
	"upper": func(m *machine) string {
		return "azure://" + strings.Replace(m.ID, "/"+resourceGroup+"/", "/"+strings.ToUpper(resourceGroup)+"/", 1)
	},
	k3s:    func(m *machine) string { return k3s + "://" + m.ComputerName },
	"none": func(*machine) string { return "" },
}

func doGroup(w *world, s *statement) error {
	name := s.names[0]
	if len(w.groups.specs) == mostGroups {
		return fmt.Errorf("group %s: a scenario has at most %d groups", name, mostGroups)
	}
	least, err := s.number("min", 0)
	if err != nil {
		return err
	}
	most, err := s.number("max", 10)
	if err != nil {
		return err
	}
	spec, err := azure.ParseGroup(fmt.Sprintf("%d:%d:%s", least, most, name))
	if err != nil {
		return fmt.Errorf("group: %w", err)
	}
	mode, err := s.oneOf("mode", "uniform", "flexible", "availability-set")
	if err != nil {
		return err
	}
	if err := w.groups.sameKind(s, mode == "availability-set"); err != nil {
		return err
	}
	w.groups.specs = append(w.groups.specs, spec)
	missing, err := s.oneOf("missing", "false", "true")
	if err != nil || missing == "true" {
		return err
	}
	size, family, err := sizeOf(s)
	if err != nil {
		return err
	}
	if size.labels, err = s.pairs("label"); err != nil {
		return err
	}
	if size.taints, err = s.taints("taint"); err != nil {
		return err
	}
	if size.names, err = s.oneOf("provider-id", "cloud", "upper", k3s, "none"); err != nil {
		return err
	}
	token, err := s.oneOf("token", "agent", "bootstrap")
	if err != nil {
		return err
	}
	size.joinsOnce = token == "bootstrap"
	tags, err := s.tags(size)
	if err != nil {
		return err
	}
	untold, err := s.pairs("node-label")
	if err != nil {
		return err
	}
	more, err := s.taints("node-taint")
	if err != nil {
		return err
	}
	size.taints = append(size.taints, more...)
	if size.labels == nil {
		size.labels = map[string]string{}
	}
	maps.Copy(size.labels, untold)
	elsewhere, err := s.oneOf("elsewhere", "false", "true")
	if err != nil {
		return err
	}
	size.elsewhere = elsewhere == "true"
	if mode == "availability-set" {
		if err := w.groups.addPool(s, size, family, tags); err != nil {
			return err
		}
		return w.machines.move() // so that pods can be put on them
	}
	set := azuresim.ScaleSet{
		Subscription: subscription, ResourceGroup: resourceGroup, Name: name, Location: location,
		Size: s.value("size", ""), VCPUs: size.cpu, Family: family, Tags: tags,
	}
	if err := s.scaleSet(&set); err != nil {
		return err
	}
	w.groups.sizes[name], w.groups.tags[name] = size, tags
	if err := w.azure.AddScaleSet(set); err != nil {
		return fmt.Errorf("group: %w", err)
	}
	return w.machines.move() // so that pods can be put on them
}

// scaleSet reads what Azure is told about a scale set besides its size and its tags.
func (s *statement) scaleSet(set *azuresim.ScaleSet) (err error) {
	if set.Capacity, err = s.number("machines", 0); err != nil {
		return err
	}
	if s.value("mode", "") == "flexible" {
		set.OrchestrationMode = "Flexible"
	}
	spot, err := s.oneOf("spot", "no", "delete", "deallocate")
	if err != nil {
		return err
	}
	if spot != "no" {
		set.Priority, set.EvictionPolicy = "Spot", map[string]string{"delete": "Delete", "deallocate": "Deallocate"}[spot]
	}
	mode, err := s.oneOf("upgrade", "manual", "automatic", "rolling")
	if err != nil {
		return err
	}
	set.UpgradeMode = map[string]string{"automatic": "Automatic", "rolling": "Rolling"}[mode]
	own := false
	for setting, flag := range map[string]*bool{
		"identity": &own, "reuse-ids": &set.ReuseIDs, "overprovision": &set.Overprovision, "os-upgrades": &set.OSUpgrades, "repairs": &set.Repairs, "zone-rebalancing": &set.ZoneRebalancing,
	} {
		said, err := s.oneOf(setting, "false", "true")
		if err != nil {
			return err
		}
		*flag = said == "true"
	}
	if own {
		set.Identities = []string{identityID}
	}
	balance, err := s.oneOf("zone-balance", "best-effort", "strict")
	if err != nil {
		return err
	}
	set.Strict = balance == "strict"
	if s.has("zones") {
		set.Zones = strings.Split(s.value("zones", ""), ",")
	}
	if s.has("subnet") {
		set.Subnet = subnetID(s.value("subnet", ""))
	}
	return nil
}

// tags are those that the statement gives, and those that tell the autoscaler of labels and taints.
func (s *statement) tags(size machineSize) (map[string]string, error) {
	tags := map[string]string{}
	for _, t := range s.set["tag"] {
		key, value, ok := strings.Cut(t, ":")
		if !ok {
			return nil, s.bad("tag", t, "key:value")
		}
		tags[key] = value
	}
	removal, err := s.oneOf("removal", "delete", "deallocate")
	if err != nil {
		return nil, err
	}
	if removal != "delete" {
		tags["sluice.dev_removal"] = removal
	}
	for key, value := range size.labels {
		tags[autoscalerTag+"node-template_label_"+tagKey(key)] = value
	}
	for _, t := range size.taints {
		tags[autoscalerTag+"node-template_taint_"+tagKey(t.Key)] = t.Value + ":" + string(t.Effect)
	}
	for name, amount := range size.resources {
		tags[autoscalerTag+"node-template_resources_"+tagKey(string(name))] = amount.String()
	}
	if s.has("unneeded") {
		d, err := s.duration("unneeded", 0)
		if err != nil {
			return nil, err
		}
		tags[autoscalerTag+"node-template_autoscaling-options_scaledownunneededtime"] = d.Round(time.Second).String()
	}
	return tags, nil
}

// autoscalerTag begins the tags by which autoscalers are told about nodes.
const autoscalerTag = "k8s.io_cluster-autoscaler_"

// tagKey writes a key of Kubernetes as tags of Azure can carry it.
func tagKey(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "_", "~2"), "/", "_")
}

// subnetID is the resource id of what a script calls a subnet.
func subnetID(name string) string {
	return "/subscriptions/" + subscription + "/resourceGroups/" + resourceGroup + "/providers/Microsoft.Network/virtualNetworks/farm/subnets/" + name
}
