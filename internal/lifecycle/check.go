package lifecycle

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"sluice.dev/sluice/internal/azure/catalog"
	"sluice.dev/sluice/internal/clusterfile"
	"sluice.dev/sluice/internal/doctor"
	"sluice.dev/sluice/internal/render"
)

// Finding is what one check came to.
type Finding struct {
	Check  string // what was looked at, such as "quota of standardDSv5Family"
	Wrong  string // one sentence; "" when nothing is wrong
	Remedy string // one sentence

	of Resource // what is wrong; "" where it is not one resource

	Stays   string // one sentence on what differs from the file and is left so; nothing is wrong about it
	Missing string // one sentence on what was there or should be, and up brings
	Skipped string // one sentence on why it was not looked at; "" when it was
}

// checker asks what [Cluster.Check] tells.
type checker struct{ *Cluster }

// Check looks at what a deployment of the file needs, before anything is made: whether the subscription answers to these credentials,
// whether a name is taken by what the file did not make, the region, a subnet that is given, what a deployment cannot change of what
// is there, the rights, the resource providers, each size in its zones, the quota for the server and each pool's min, and at last Azure's
// own word on the template. It calls told after each check. A check whose ground is missing is not made. An error is what could not be
// asked.
func (c *Cluster) Check(ctx context.Context, told func(Finding)) (ok bool, err error) {
	ok = true
	say := func(f Finding) {
		ok = ok && f.Wrong == ""
		told(f)
	}
	var about struct {
		Name  string `json:"displayName"`
		State string `json:"state"`
	}
	found, err := c.Cloud.Get(ctx, c.subscription(), subscriptionsVersion, &about)
	switch {
	case err != nil:
		return false, err
	case !found:
		say(Finding{
			Check: "subscription", Wrong: "subscription " + c.Cloud.Subscription() + " is not there for these credentials",
			Remedy: "sign in to its tenant, or give another subscription",
		})
		return false, nil
	case about.State != "" && about.State != "Enabled":
		say(Finding{Check: "subscription", Wrong: "subscription " + about.Name + " is " + about.State, Remedy: "enable it"})
		return false, nil
	}
	say(Finding{Check: "subscription"})
	resources, err := checker{c}.wanted()
	if err != nil {
		return false, err
	}
	checks := []func(context.Context, []wanted, func(Finding)) error{
		checker{c}.checkNames, checker{c}.checkPlace, checker{c}.checkSubnet, checker{c}.checkFields, checker{c}.checkLocks, checker{c}.checkRights, checker{c}.checkProviders,
	}
	if there, err := (checker{c}).checkRegion(ctx, say); err != nil {
		return false, err
	} else if there {
		checks = append(checks, checker{c}.checkSizes, checker{c}.checkQuota)
	}
	for _, check := range checks {
		if err := check(ctx, resources, say); err != nil {
			return false, err
		}
	}
	if ok {
		err = checker{c}.checkTemplate(ctx, say)
	}
	return ok, err
}

// wanted is a resource of the template, as far as checks go by it.
type wanted struct {
	Kind  string `json:"type"`
	Name  string `json:"name"` // an expression begins with [
	group string // another resource group than the cluster's; "" for none
}

// wanted are the resources of the template, those of nested deployments included.
func (c checker) wanted() (all []wanted, err error) {
	r, err := render.Render(c.File)
	if err != nil {
		return nil, err
	}
	type template struct {
		Resources []struct {
			wanted
			Group      string `json:"resourceGroup"` // of a nested deployment
			Properties struct {
				Template json.RawMessage `json:"template"`
			} `json:"properties"`
		} `json:"resources"`
	}
	var add func(raw []byte, group string) error
	add = func(raw []byte, group string) error {
		var t template
		if err := json.Unmarshal(raw, &t); err != nil {
			return fmt.Errorf("read the rendered template: %w", err)
		}
		for _, one := range t.Resources {
			one.group = group
			all = append(all, one.wanted)
			if len(one.Properties.Template) > 0 {
				if err := add(one.Properties.Template, one.Group); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return all, add(r.Template, "")
}

// checkRights compares what the deployment writes with what the identity may do: in the resource group where it is there, else in the subscription.
func (c checker) checkRights(ctx context.Context, resources []wanted, say func(Finding)) error {
	scope := c.group(c.File.ResourceGroup)
	there, err := c.Cloud.Get(ctx, scope, groupsVersion, &struct{}{})
	if err != nil {
		return err
	}
	actions := map[string]bool{"Microsoft.Resources/deployments/write": true, "Microsoft.Resources/deployments/validate/action": true}
	if !there {
		scope = c.subscription()
		actions["Microsoft.Resources/subscriptions/resourceGroups/write"] = true
	}
	for _, r := range resources {
		actions[r.Kind+"/write"] = true
	}
	raw, err := c.Cloud.List(ctx, scope+"/providers/Microsoft.Authorization/permissions", rightsVersion, nil)
	if err != nil {
		return err
	}
	var held []doctor.Permission
	for _, one := range raw {
		var p doctor.Permission
		if err := json.Unmarshal(one, &p); err != nil {
			return fmt.Errorf("read the permissions at %s: %w", scope, err)
		}
		held = append(held, p)
	}
	var missing []string
	for _, action := range slices.Sorted(maps.Keys(actions)) {
		if !doctor.Allowed(held, action) {
			missing = append(missing, action)
		}
	}
	if len(missing) == 0 {
		say(Finding{Check: "rights"})
		return nil
	}
	remedy := "assign the role Contributor at " + scope
	if slices.ContainsFunc(missing, func(a string) bool { return strings.HasPrefix(a, "Microsoft.Authorization/") }) {
		remedy = "assign the roles Contributor and User Access Administrator at " + scope
	}
	say(Finding{Check: "rights", Wrong: fmt.Sprintf("%d rights are missing: %s", len(missing), strings.Join(missing, ", ")), Remedy: remedy})
	return nil
}

// checkProviders looks whether each resource provider of the template is registered.
func (c checker) checkProviders(ctx context.Context, resources []wanted, say func(Finding)) error {
	names := map[string]bool{}
	for _, r := range resources {
		provider, _, _ := strings.Cut(r.Kind, "/")
		names[provider] = true
	}
	delete(names, "Microsoft.Resources")
	delete(names, "Microsoft.Authorization")
	for _, name := range slices.Sorted(maps.Keys(names)) {
		var p struct {
			State string `json:"registrationState"`
		}
		if _, err := c.Cloud.Get(ctx, c.subscription()+"/providers/"+name, groupsVersion, &p); err != nil {
			return err
		}
		f := Finding{Check: "resource provider " + name}
		if p.State != "Registered" {
			f.Wrong, f.Remedy = "resource provider "+name+" is not registered", "run: az provider register --namespace "+name
		}
		say(f)
	}
	return nil
}

// machines is how many machines of a size the file wants at least, and where.
type machines struct {
	size  string
	spot  bool
	zones []string
	least int
	whom  string
	image string
}

func (c *Cluster) machines() []machines {
	server := machines{size: c.File.Server.Size, least: 1, whom: "the server", image: c.File.Image}
	if c.File.Server.Zone != "" {
		server.zones = []string{c.File.Server.Zone}
	}
	all := []machines{server}
	for _, p := range c.File.Pools {
		all = append(all, machines{p.Size, p.Spot != nil, p.Zones, p.Min, "pool " + p.Name, c.File.ImageOf(&p)})
	}
	return all
}

// offer is a size as the region offers it.
type offer struct {
	Name      string `json:"name"`
	Kind      string `json:"resourceType"`
	Family    string `json:"family"`
	Locations []struct {
		Zones []string `json:"zones"`
	} `json:"locationInfo"`
	Restrictions []struct {
		Type string `json:"type"`
		Info struct {
			Zones []string `json:"zones"`
		} `json:"restrictionInfo"`
		Reason string `json:"reasonCode"`
	} `json:"restrictions"`
	Capabilities []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"capabilities"`
}

// architecture is that of its processors, as Azure calls it: x64 or Arm64; "" where it does not say.
func (o *offer) architecture() string {
	for _, one := range o.Capabilities {
		if one.Name == "CpuArchitectureType" {
			return one.Value
		}
	}
	return ""
}

// zones are those in which the size can be had.
func (o *offer) zones() (all []string) {
	for _, l := range o.Locations {
		all = append(all, l.Zones...)
	}
	for _, r := range o.Restrictions {
		if r.Type == "Zone" {
			all = slices.DeleteFunc(all, func(z string) bool { return slices.Contains(r.Info.Zones, z) })
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (o *offer) closed() bool {
	for _, r := range o.Restrictions {
		if r.Type == "Location" {
			return true
		}
	}
	return false
}

// architecture is that of the image, as far as its name says it; "" is not known. The default is an image for each. Images of a gallery may have
// any name, and so do those of other publishers than Canonical without arm64 in it.
func (m machines) architecture() string {
	size, _ := catalog.Find(m.size)
	switch {
	case strings.HasPrefix(m.image, "/"):
		return ""
	case strings.Contains(strings.ToLower(m.image), "arm64"), m.image == clusterfile.DefaultImage && size.Arch == "arm64":
		return "Arm64"
	case strings.HasPrefix(m.image, "Canonical:"):
		return "x64"
	}
	return ""
}

// checkSizes looks whether the region offers each size, in each zone that is asked for, and whether its machines can start the image.
func (c checker) checkSizes(ctx context.Context, _ []wanted, say func(Finding)) error {
	raw, err := c.Cloud.List(ctx, c.subscription()+"/providers/Microsoft.Compute/skus", "2021-07-01", url.Values{
		"$filter": {fmt.Sprintf("location eq '%s'", c.File.Region)},
	})
	if err != nil {
		return err
	}
	offers := map[string]*offer{}
	for _, one := range raw {
		var o offer
		if json.Unmarshal(one, &o) == nil && o.Kind == "virtualMachines" {
			offers[strings.ToLower(o.Name)] = &o
		}
	}
	starts := map[string]machines{} // by an image whose architecture is not known, the first that have it
	for _, m := range c.machines() {
		f := Finding{Check: "size " + m.size + " of " + m.whom}
		o := offers[strings.ToLower(m.size)]
		switch {
		case o == nil || o.closed():
			f.Wrong = fmt.Sprintf("%s: size %s cannot be had in %s", m.whom, m.size, c.File.Region)
			f.Remedy = "choose another size or region: az vm list-skus --location " + c.File.Region + " --resource-type virtualMachines"
		default:
			has := o.zones()
			for _, z := range m.zones {
				if !slices.Contains(has, z) && f.Wrong == "" {
					f.Wrong = fmt.Sprintf("%s: size %s cannot be had in zone %s of %s", m.whom, m.size, z, c.File.Region)
					f.Remedy = "choose zones among " + strings.Join(has, ", ")
					if len(has) == 0 {
						f.Remedy = "leave the zones out: the region has the size in none"
					}
				}
			}
			is, of := o.architecture(), m.architecture()
			first, seen := starts[m.image]
			if !seen && of == "" {
				starts[m.image] = m
			}
			switch {
			case f.Wrong != "" || is == "":
			case of != "" && !strings.EqualFold(is, of):
				f.Wrong = fmt.Sprintf("%s: size %s is %s, and image %s is %s", m.whom, m.size, is, m.image, of)
				f.Remedy = "choose an image for " + is + ", or another size"
			case seen && !strings.EqualFold(is, cmp.Or(offers[strings.ToLower(first.size)].architecture(), is)):
				f.Wrong = fmt.Sprintf("%s: size %s is %s, and %s of another architecture has the same image", m.whom, m.size, is, first.whom)
				f.Remedy = "give the pool an image for " + is + ", or another size"
			}
		}
		say(f)
	}
	return nil
}

// usage is how much of a quota is in use.
type usage struct {
	Current int `json:"currentValue"`
	Limit   int `json:"limit"`
	Name    struct {
		Value string `json:"value"`
	} `json:"name"`
}

// usages are the quotas of the region, by their names in lower case.
func (c *Cluster) usages(ctx context.Context) (map[string]usage, error) {
	raw, err := c.Cloud.List(ctx, c.subscription()+"/providers/Microsoft.Compute/locations/"+url.PathEscape(c.File.Region)+"/usages", computeVersion, nil)
	if err != nil {
		return nil, err
	}
	left := map[string]usage{}
	for _, one := range raw {
		var u usage
		if json.Unmarshal(one, &u) == nil {
			left[strings.ToLower(u.Name.Value)] = u
		}
	}
	return left, nil
}

// takes are the cores that one machine of a size takes of each quota; none where the size is not known.
func takes(name string, spot bool) map[string]int {
	size, known := catalog.Find(name)
	cores := max(size.QuotaVCPUs, size.VCPUs)
	switch {
	case !known:
		return nil
	case spot:
		return map[string]int{"lowPriorityCores": cores}
	case size.Family == "":
		return map[string]int{"cores": cores}
	}
	return map[string]int{"cores": cores, size.Family: cores}
}

// Room is how many more machines of a pool the quota has room for now, and the quota that bounds it; false where that is not known.
func (c *Cluster) Room(ctx context.Context, p *clusterfile.Pool) (more int, quota string, known bool) {
	left, err := c.usages(ctx)
	if err != nil { // who changes limits need not have the right to read quotas
		return 0, "", false
	}
	need := takes(p.Size, p.Spot != nil)
	for _, name := range slices.Sorted(maps.Keys(need)) {
		u, there := left[strings.ToLower(name)]
		if n := max(u.Limit-u.Current, 0) / max(need[name], 1); there && (!known || n < more) {
			more, quota, known = n, name, true
		}
	}
	return more, quota, known
}

// checkQuota compares what the server and each pool's min take with what is left of the quota.
func (c checker) checkQuota(ctx context.Context, _ []wanted, say func(Finding)) error {
	left, err := c.usages(ctx)
	if err != nil {
		return err
	}
	need := map[string]int{}
	for _, m := range c.machines() {
		for name, cores := range takes(m.size, m.spot) {
			if m.least > 0 {
				need[name] += cores * m.least
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(need)) {
		u, known := left[strings.ToLower(name)]
		f := Finding{Check: "quota of " + name}
		if known && u.Current+need[name] > u.Limit {
			f.Wrong = fmt.Sprintf("quota of %s in %s: %d of %d cores are in use, and %d more are needed", name, c.File.Region, u.Current, u.Limit, need[name])
			f.Remedy = "ask Azure for more quota, or lower min of the pools"
		}
		say(f)
	}
	return nil
}

// checkTemplate has Azure look at the template. That needs the resource group.
func (c checker) checkTemplate(ctx context.Context, say func(Finding)) error {
	f := Finding{Check: "Azure's validation of the template"}
	now, err := c.look(ctx)
	if err != nil {
		return err
	}
	deleted, err := keeper(c).deletedVaults(ctx)
	if err != nil {
		return err
	}
	if len(deleted) > 0 { // Azure refuses the template as long as its name is taken
		f.Skipped = "up recovers " + Resource{deleted[0].Properties.Vault}.String() + " first: Azure checks the template then"
		say(f)
		return nil
	}
	if !now.group {
		f.Skipped = "resource group " + c.File.ResourceGroup + " is not there yet: Azure checks the template when up has made it"
		say(f)
		return nil
	}
	body, err := c.body(parameters(orZero(now.fingerprint), "", now.missing))
	if err != nil {
		return err
	}
	var said struct {
		Error *problem `json:"error"`
	}
	if err := c.Cloud.Post(ctx, c.deployment()+"/validate", deploymentsVersion, body, &said); err != nil {
		f.Wrong, f.Remedy = err.Error(), "correct the file, or what Azure names"
	} else if said.Error != nil {
		f.Wrong, f.Remedy = said.Error.leaf().Error(), "correct the file, or what Azure names"
	}
	say(f)
	return nil
}

// hoursOfMonth is Azure's own month in price lists.
const hoursOfMonth = 730

// Cost is what the machines cost a month at list prices.
type Cost struct {
	Least, Most float64  // USD: with each pool at its min, and at its max
	Unknown     []string // whose price is not known; they are in neither
}

// Cost is what the server and the pools cost. Disks, addresses and traffic come on top.
func (c *Cluster) Cost(prices *catalog.Prices) Cost {
	var all Cost
	add := func(whom, size string, spot bool, least, most int) {
		usd, known := prices.USDPerHour(catalog.Key{Size: size, Region: c.File.Region, Spot: spot})
		if !known {
			all.Unknown = append(all.Unknown, whom)
			return
		}
		all.Least += usd * hoursOfMonth * float64(least)
		all.Most += usd * hoursOfMonth * float64(most)
	}
	add("the server", c.File.Server.Size, false, 1, 1)
	for _, p := range c.File.Pools {
		add("pool "+p.Name, p.Size, p.Spot != nil, p.Min, p.Max)
	}
	return all
}
