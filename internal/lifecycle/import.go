package lifecycle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/internal/render"
)

// Imported is the cluster file of a resource group that is there.
type Imported struct {
	Text     string
	Recorded bool // the file is word for word what up was given; the rest is empty then, but for other clusters of the group in Lost

	Lost   []string // what the file cannot say, one sentence each; they stand at its top as well
	Absent []string // what Azure does not know and a person fills in, one sentence with its line each
	Wrong  []string // what is there and a cluster file does not allow, as its checks say it
}

// Import reads a resource group. Where up made the cluster, Azure's record of the deployment has the file, and that is returned as it was; what was
// changed by hand since stands in [Cluster.Diff]. Else the file is written from the resources of the group, and from what the API server knows.
// A name chooses one of several clusters in the group; it may be empty where there is one.
func Import(ctx context.Context, c Cloud, group, name string, known Kubernetes) (Imported, error) {
	var about struct {
		Location string            `json:"location"`
		Tags     map[string]string `json:"tags"`
	}
	at := "/subscriptions/" + url.PathEscape(c.Subscription()) + "/resourceGroups/" + url.PathEscape(group)
	if found, err := c.Get(ctx, at, groupsVersion, &about); err != nil {
		return Imported{}, err
	} else if !found {
		return Imported{}, fmt.Errorf("resource group %s is not there: name the group of a cluster", group)
	}
	if text, others, found, err := fileOfRecord(ctx, c, at, name); err != nil || found {
		return Imported{Text: text, Recorded: found, Lost: others}, err
	}
	e, err := readEstate(ctx, c, group)
	if err != nil {
		return Imported{}, err
	}
	e.region, e.known = about.Location, known
	switch of := managed(about.Tags); {
	case of == "" && len(e.sets)+len(e.machines) == 0:
		return Imported{}, fmt.Errorf("resource group %s has no machine and no scale set: name the group of a cluster", group)
	case of != "":
		return Imported{}, fmt.Errorf("resource group %s is that of AKS cluster %s: AKS makes its machines, and this file is for clusters that run themselves", group, of)
	}
	if err := e.choose(name); err != nil {
		return Imported{}, err
	}
	e.find()
	e.leaveOut()
	for _, t := range slices.Concat(e.servers, e.pools) {
		e.losesOf(t)
	}
	if err := e.losesAround(ctx); err != nil {
		return Imported{}, err
	}
	return e.write(), nil
}

// managed is the AKS cluster to which a resource group belongs, by its tags; "" for none.
func managed(tags map[string]string) string { return tags["aks-managed-cluster-name"] }

// fileOfRecord is the cluster file of the newest deployment in the group that came from one, of a cluster that is there before one that was
// taken down. Others that are there are said, one sentence each. Azure keeps the last 800 deployments of a group. A name is that of the only one to
// look for; "" for none.
func fileOfRecord(ctx context.Context, c Cloud, group, name string) (text string, others []string, found bool, err error) {
	at := group + "/providers/Microsoft.Resources/deployments"
	raw, err := c.List(ctx, at, deploymentsVersion, nil)
	if err != nil {
		return "", nil, false, err
	}
	type named struct {
		Name       string `json:"name"`
		Properties struct {
			Time       string                     `json:"timestamp"`
			Parameters map[string]json.RawMessage `json:"parameters"`
		} `json:"properties"`
	}
	var all []named
	for _, one := range raw {
		var d named
		if json.Unmarshal(one, &d) != nil {
			continue
		}
		if _, ours := d.Properties.Parameters[render.ParameterFingerprint]; ours {
			all = append(all, d)
		}
	}
	there := map[string]bool{} // names of clusters
	if len(all) > 1 {
		resources, err := c.List(ctx, group+"/resources", groupsVersion, nil)
		if err != nil {
			return "", nil, false, err
		}
		for _, one := range resources {
			var r listed
			if json.Unmarshal(one, &r) == nil {
				there[r.Tags[render.ClusterTag]] = true
			}
		}
	}
	slices.SortFunc(all, func(a, b named) int {
		if there[a.Name] != there[b.Name] {
			if there[a.Name] {
				return -1
			}
			return 1
		}
		return strings.Compare(b.Properties.Time, a.Properties.Time)
	})
	for n, d := range all {
		if name != "" && d.Name != name {
			continue
		}
		var said struct {
			Template struct {
				Metadata map[string]any `json:"metadata"`
			} `json:"template"`
		}
		if err := c.Post(ctx, at+"/"+url.PathEscape(d.Name)+"/exportTemplate", deploymentsVersion, nil, &said); err != nil {
			return "", nil, false, err
		}
		if text, ok := said.Template.Metadata[render.MetadataFile].(string); ok && text != "" {
			for m, other := range all {
				if m != n && there[other.Name] {
					others = append(others, "cluster "+other.Name+" is in this resource group as well; this is the file of "+d.Name)
				}
			}
			return text, others, true, nil
		}
	}
	return "", nil, false, nil
}

// estate is what a resource group holds, as far as a cluster file or a sentence about it goes.
type estate struct {
	cloud  Cloud
	group  string // its name
	region string
	known  Kubernetes

	all        []listed         // everything, as the group lists it
	machines   []thing          // virtual machines that no scale set made
	members    map[string]thing // machines of flexible sets, by id in lower case
	sets       []thing
	interfaces map[string]thing // by id in lower case
	others     map[string]thing // networks, groups of rules, balancers and the like, by id in lower case
	unread     []string         // what could not be read, one sentence each

	of     string // the cluster, as tags name it; "" where none does
	chosen bool   // it is by a person

	// What find makes of it.
	servers []thing // machines, or scale sets, of the control plane
	why     string  // how they are known
	pools   []thing // scale sets that are pools
	lost    []loss
}

// thing is one resource, whole.
type thing struct {
	Resource
	tags map[string]string
	body map[string]any
}

// String is the resource as people call it.
func (t thing) String() string {
	switch strings.ToLower(t.Kind()) {
	case strings.ToLower(kindSet):
		return "scale set " + t.Name()
	case strings.ToLower(kindVM):
		return "machine " + t.Name()
	}
	return t.Resource.String()
}

func (t thing) text(path string) string { return text(t.body, path) }
func (t thing) isSet() bool             { return strings.EqualFold(t.Kind(), kindSet) }

// profile is what a machine, or each machine of a set, is made of.
func (t thing) profile() map[string]any {
	if t.isSet() {
		return object(t.body, "properties.virtualMachineProfile")
	}
	return object(t.body, "properties")
}

func (t thing) size() string {
	if t.isSet() {
		return t.text("sku.name")
	}
	return t.text("properties.hardwareProfile.vmSize")
}

const (
	kindVM   = "Microsoft.Compute/virtualMachines"
	kindSet  = "Microsoft.Compute/virtualMachineScaleSets"
	kindNIC  = "Microsoft.Network/networkInterfaces"
	kindDisk = "Microsoft.Compute/disks"
)

// whole are the kinds whose resources are read whole, each with its version; of others the list of the group says enough.
var whole = map[string]string{
	"microsoft.network/virtualnetworks":       networkVersion,
	"microsoft.network/networksecuritygroups": networkVersion,
	"microsoft.network/loadbalancers":         networkVersion,
	"microsoft.network/routetables":           networkVersion,
}

// networkVersion is that of Microsoft.Network.
const networkVersion = "2024-05-01"

// readEstate reads a group: its list, machines, sets and interfaces as collections, and some kinds one by one.
func readEstate(ctx context.Context, c Cloud, group string) (*estate, error) {
	e := &estate{cloud: c, group: group, members: map[string]thing{}, interfaces: map[string]thing{}, others: map[string]thing{}}
	at := "/subscriptions/" + url.PathEscape(c.Subscription()) + "/resourceGroups/" + url.PathEscape(group)
	raw, err := c.List(ctx, at+"/resources", groupsVersion, nil)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, one := range raw {
		var r listed
		if err := json.Unmarshal(one, &r); err != nil {
			return nil, fmt.Errorf("read the resources of group %s: %w", group, err)
		}
		e.all = append(e.all, r)
		there[strings.ToLower(Resource{r.ID}.Kind())] = true
	}
	for _, kind := range []struct{ kind, version string }{
		{kindVM, computeVersion}, {kindSet, computeVersion}, {kindNIC, networkVersion}, {kindDisk, diskVersion},
	} {
		if !there[strings.ToLower(kind.kind)] {
			continue
		}
		raw, err := c.List(ctx, at+"/providers/"+kind.kind, kind.version, nil)
		if err != nil {
			return nil, err
		}
		for _, one := range raw {
			t, err := readThing(one)
			if err != nil {
				return nil, fmt.Errorf("read the resources of group %s: %w", group, err)
			}
			e.sort(t)
		}
	}
	for _, r := range e.all {
		if version, read := whole[strings.ToLower(Resource{r.ID}.Kind())]; read {
			if err := e.read(ctx, r.ID, version); err != nil {
				return nil, err
			}
		}
	}
	if err := e.readAround(ctx); err != nil {
		return nil, err
	}
	return e, nil
}

// sort puts what was read where it belongs.
func (e *estate) sort(t thing) {
	low := strings.ToLower(t.ID)
	switch {
	case t.isSet():
		e.sets = append(e.sets, t)
	case strings.EqualFold(t.Kind(), kindNIC):
		e.interfaces[low] = t
	case strings.EqualFold(t.Kind(), kindDisk):
		e.others[low] = t
	case t.text("properties.virtualMachineScaleSet.id") != "":
		e.members[low] = t
	default:
		e.machines = append(e.machines, t)
	}
	byName := func(a, b thing) int { return strings.Compare(strings.ToLower(a.ID), strings.ToLower(b.ID)) }
	slices.SortFunc(e.sets, byName)
	slices.SortFunc(e.machines, byName)
}

func readThing(raw []byte) (thing, error) {
	var about listed
	var body map[string]any
	if err := json.Unmarshal(raw, &about); err != nil {
		return thing{}, err
	}
	err := json.Unmarshal(raw, &body)
	return thing{Resource{about.ID}, about.Tags, body}, err
}

// read reads one resource among the others. What is not there, or may not be read, is said.
func (e *estate) read(ctx context.Context, id, version string) error {
	low := strings.ToLower(id)
	if _, done := e.others[low]; done {
		return nil
	}
	var raw json.RawMessage
	found, err := e.cloud.Get(ctx, id, version, &raw)
	switch {
	case unauthorized(err):
		e.unread = append(e.unread, (Resource{id}).String()+" may not be read by you, so nothing of it is known")
		return nil
	case err != nil || !found:
		return err
	}
	t, err := readThing(raw)
	if err != nil {
		return fmt.Errorf("read %s: %w", id, err)
	}
	e.others[low] = t
	return nil
}

// unauthorized says whether the one who asks lacks a right.
func unauthorized(err error) bool {
	var e *cloud.Error
	return errors.As(err, &e) && e.Kind == cloud.Unauthorized
}

// readAround reads what machines and sets name and what may be in another group: interfaces, subnets, and what these name.
func (e *estate) readAround(ctx context.Context) error {
	var nics []map[string]any
	for _, m := range e.machines {
		for _, ref := range objects(m.body, "properties.networkProfile.networkInterfaces") {
			id := text(ref, "id")
			if _, done := e.interfaces[strings.ToLower(id)]; done || id == "" {
				continue
			}
			if err := e.read(ctx, id, networkVersion); err != nil {
				return err
			}
			e.interfaces[strings.ToLower(id)] = e.others[strings.ToLower(id)]
		}
	}
	for _, nic := range e.interfaces {
		nics = append(nics, nic.body)
	}
	for _, set := range e.sets {
		nics = append(nics, e.interfacesOf(set)...)
	}
	more := map[string]bool{} // ids
	for _, nic := range nics {
		more[text(nic, "properties.networkSecurityGroup.id")] = true
		for _, ip := range objects(nic, "properties.ipConfigurations") {
			more[text(ip, "properties.subnet.id")] = true
		}
	}
	for len(more) > 0 {
		next := map[string]bool{}
		for _, id := range slices.Sorted(maps.Keys(more)) {
			if id == "" {
				continue
			}
			if err := e.read(ctx, id, networkVersion); err != nil {
				return err
			}
			of := e.others[strings.ToLower(id)]
			for _, part := range []string{"networkSecurityGroup", "routeTable"} { // of subnets: groups and tables have none
				next[of.text("properties."+part+".id")] = true
			}
		}
		delete(next, "")
		more = next
	}
	slices.Sort(e.unread)
	return nil
}

// dig finds what is at a path of names in an object as JSON has it; nil where a step is missing.
func dig(v any, path string) any {
	for _, name := range strings.Split(path, ".") {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

func text(v any, path string) string {
	s, _ := dig(v, path).(string)
	return s
}

func object(v any, path string) map[string]any {
	m, _ := dig(v, path).(map[string]any)
	return m
}

// objects are the objects of a list.
func objects(v any, path string) (all []map[string]any) {
	list, _ := dig(v, path).([]any)
	for _, one := range list {
		if m, ok := one.(map[string]any); ok {
			all = append(all, m)
		}
	}
	return all
}

// texts are the texts of a list.
func texts(v any, path string) (all []string) {
	list, _ := dig(v, path).([]any)
	for _, one := range list {
		if s, ok := one.(string); ok {
			all = append(all, s)
		}
	}
	return all
}
