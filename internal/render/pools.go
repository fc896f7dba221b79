package render

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sluice.dev/sluice/internal/azure/catalog"
	"sluice.dev/sluice/internal/clusterfile"
	"sluice.dev/sluice/setting"
)

// The tags by which sluice knows its node groups and what their nodes are like; cluster-autoscaler has the same.
const (
	tagEnabled = "cluster-autoscaler-enabled"
	tagCluster = "cluster-autoscaler-name"
	tagLabel   = "k8s.io_cluster-autoscaler_node-template_label_"
	tagTaint   = "k8s.io_cluster-autoscaler_node-template_taint_"
	tagModel   = ModelTag
)

// ModelTag is the tag with a short word for what new machines of a pool are told at boot.
const ModelTag = setting.Own + "model"

// tagged is a key as the name of a tag, which has no "/".
func tagged(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "_", "~2"), "/", "_")
}

// model is a short word that changes with what new machines are told at boot, which Azure shows nobody.
func model(cloudInit []byte) string {
	sum := sha256.Sum256(cloudInit)
	return hex.EncodeToString(sum[:6])
}

func (m *maker) poolTags(p *clusterfile.Pool) object {
	o := m.tags(
		pair{tagEnabled, "true"}, pair{tagCluster, m.f.Name}, pair{"min", strconv.Itoa(p.Min)}, pair{"max", strconv.Itoa(p.Max)},
		pair{tagModel, model(m.r.Pools[p.Name])},
	)
	for _, key := range slices.Sorted(maps.Keys(p.Labels)) {
		o = append(o, pair{tagLabel + tagged(key), literal(p.Labels[key])})
	}
	for _, text := range p.Taints {
		key, value, effect := clusterfile.Taint(text)
		o = append(o, pair{tagTaint + tagged(key), value + ":" + effect})
	}
	return o
}

// mostOfOneGroup is how many machines a single placement group holds.
const mostOfOneGroup = 100

// pool makes the scale set of a pool. It never says how many machines one that is there has.
func (m *maker) pool(p *clusterfile.Pool, at place) {
	f := m.f
	text := string(m.r.Pools[p.Name])
	named := "pool-" + p.Name
	m.variables = append(m.variables, pair{named, literal(text)})
	configuration := object{{"subnet", object{{"id", expr(at.subnet)}}}, {"primary", true}}
	if p.PublicAddress {
		public := object{{"name", "public"}, {"sku", object{{"name", "Standard"}}}, {"properties", object{{"idleTimeoutInMinutes", 4}, {"deleteOption", "Delete"}}}}
		configuration = append(configuration, pair{"publicIPAddressConfiguration", public})
	}
	nic := object{
		{"primary", true}, {"networkSecurityGroup", object{{"id", expr(at.security)}}},
		{"ipConfigurations", list{object{{"name", "primary"}, {"properties", configuration}}}},
	}
	network := object{}
	if p.Orchestration == clusterfile.Flexible {
		nic = append(nic, pair{"deleteOption", "Delete"})
		network = append(network, pair{"networkApiVersion", "2020-11-01"})
	}
	network = append(network, pair{"networkInterfaceConfigurations", list{object{{"name", "primary"}, {"properties", nic}}}})
	disk := object{
		{"createOption", "FromImage"}, {"caching", "ReadWrite"}, {"diskSizeGB", p.OSDiskGiB},
		{"managedDisk", object{{"storageAccountType", p.OSDiskType}}},
	}
	if p.Orchestration == clusterfile.Flexible {
		disk = append(disk, pair{"deleteOption", "Delete"})
	}
	size, _ := catalog.Find(p.Size)
	profile := object{}
	if p.Spot != nil {
		profile = object{{"priority", "Spot"}, {"evictionPolicy", "Delete"}, {"billingProfile", object{{"maxPrice", p.Spot.MaxPrice}}}}
	}
	set := f.ScaleSet(p)
	profile = append(profile,
		pair{"storageProfile", object{{"imageReference", imageReference(f.ImageOf(p), size.Arch)}, {"osDisk", disk}}},
		pair{"osProfile", m.osProfile(pair{"computerNamePrefix", set + "-"},
			filledIn(named, text, map[string]string{"fingerprint": parameter(ParameterFingerprint)}))},
		pair{"networkProfile", network},
		pair{"diagnosticsProfile", object{{"bootDiagnostics", object{{"enabled", true}}}}},
	)
	properties := object{{"orchestrationMode", "Flexible"}, {"platformFaultDomainCount", 1}, {"singlePlacementGroup", false}}
	if p.Orchestration == clusterfile.Uniform {
		properties = object{
			{"orchestrationMode", "Uniform"}, {"overprovision", false}, {"upgradePolicy", object{{"mode", "Manual"}}},
			{"singlePlacementGroup", p.Max <= mostOfOneGroup},
		}
	}
	var in any
	if len(p.Zones) > 0 {
		in = p.Zones
	}
	capacity := call("if", isNew(p.Name), strconv.Itoa(p.Min), null)
	m.add(resource{
		kind: kindScaleSet, version: computeVersion, name: set, dependsOn: append([]string{at.security}, at.waits...),
		body: object{{"location", f.Region}, {"tags", m.poolTags(p)}}.with(pair{"zones", in},
			pair{"sku", object{{"name", p.Size}, {"tier", "Standard"}, {"capacity", expr(capacity)}}},
			pair{"properties", append(properties, pair{"virtualMachineProfile", profile})}),
	})
}
