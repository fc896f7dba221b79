package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/internal/render"
)

// rank orders deletions: what uses others goes before what it uses. Kinds that are not named go in between.
var rank = map[string]int{
	"microsoft.authorization/roleassignments":          0,
	"microsoft.compute/virtualmachinescalesets":        1,
	"microsoft.compute/virtualmachines":                1,
	"microsoft.authorization/roledefinitions":          2,
	"microsoft.network/loadbalancers":                  2,
	"microsoft.network/networkinterfaces":              3,
	"microsoft.compute/disks":                          3,
	"microsoft.network/virtualnetworks":                5,
	"microsoft.network/natgateways":                    6,
	"microsoft.network/networksecuritygroups":          6,
	"microsoft.network/routetables":                    6,
	"microsoft.network/publicipaddresses":              7,
	"microsoft.managedidentity/userassignedidentities": 7,
	"microsoft.keyvault/vaults":                        7,
}

const rankOfOthers = 4

// versionOf is the version of the interface by which a kind is deleted.
var versionOf = map[string]string{
	"microsoft.authorization":   rightsVersion,
	"microsoft.compute":         computeVersion,
	"microsoft.network":         "2024-05-01",
	"microsoft.keyvault":        "2023-07-01",
	"microsoft.managedidentity": "2023-01-31",
	"microsoft.resources":       groupsVersion,
	"microsoft.storage":         "2023-05-01",
}

// diskVersion is that of disks, which have their own.
const diskVersion = "2024-03-02"

func (r Resource) version() string {
	kind := strings.ToLower(r.Kind())
	if kind == "microsoft.compute/disks" {
		return diskVersion
	}
	provider, _, _ := strings.Cut(kind, "/")
	return versionOf[provider]
}

func (r Resource) rank() int {
	if n, ok := rank[strings.ToLower(r.Kind())]; ok {
		return n
	}
	return rankOfOthers
}

// parts says whether a resource goes with its parent: it is never deleted by itself.
func (r Resource) part() bool { return strings.Count(r.Kind(), "/") > 1 }

// Demolition is what down deletes and what it leaves.
type Demolition struct {
	Goes  []Resource          // in the order in which they go
	Group string              // the resource group that goes with them; "" when it stays
	Stays []Resource          // in the group, and not made by the cluster file, or in use by what is not
	Used  map[Resource]string // of the cluster's own that stay: what uses each
	Keeps string              // the storage group, "" for none: of it only the server's rights go
	// Underway says that the deployment still makes resources: it is canceled first, and they go as well.
	Underway bool

	roles map[Resource]string // names of roles, of what is named by a GUID
}

// Says is a resource that goes, in words: rights with the name of their role.
func (d *Demolition) Says(r Resource) string { return says(r, d.roles[r]) }

// Demolish says what [Cluster.Down] would delete: what the deployment's record names, what bears the cluster's tag or what its cloud
// controller has made, in the cluster's own group; and the role assignments that the deployment has made in others.
func (c *Cluster) Demolish(ctx context.Context) (Demolition, error) {
	group := c.group(c.File.ResourceGroup)
	var about struct {
		Tags map[string]string `json:"tags"`
	}
	found, err := c.Cloud.Get(ctx, group, groupsVersion, &about)
	if err != nil {
		return Demolition{}, err
	}
	if !found {
		return Demolition{}, c.elsewhere(ctx)
	}
	was, recorded, err := c.recorded(ctx)
	if err != nil {
		return Demolition{}, err
	}
	all, err := c.listing(ctx)
	if err != nil {
		return Demolition{}, err
	}
	d := Demolition{Keeps: c.File.Storage.ResourceGroup, Underway: recorded && !was.ended(), roles: map[Resource]string{}}
	made := map[string]bool{}
	for _, r := range was.Properties.OutputResources {
		made[strings.ToLower(r.ID)] = true
	}
	goes := map[string]bool{}
	for _, r := range all {
		if about := (Resource{r.ID}); !about.part() && (made[strings.ToLower(r.ID)] || c.ours(r) || c.forServices(r)) {
			d.Goes = append(d.Goes, about)
			goes[strings.ToLower(r.ID)] = true
		}
	}
	for _, r := range all {
		if goes[strings.ToLower(r.ID)] || (Resource{r.ID}).part() {
			continue
		}
		user, err := c.user(ctx, r)
		if err != nil {
			return Demolition{}, err
		}
		if !goes[strings.ToLower(user)] {
			d.Stays = append(d.Stays, Resource{r.ID})
		}
	}
	// What lists of resources do not show. Role assignments in other groups go as well: nobody is behind them any more.
	rights, err := c.assignments(ctx)
	if err != nil {
		return Demolition{}, err
	}
	other := checker{c}.neighbor(all)
	for _, r := range was.Properties.OutputResources {
		if about := (Resource{r.ID}); about.in(group) && about.isRight() {
			rights = append(rights, about)
		}
	}
	for n := 0; n < len(rights); n++ {
		r := rights[n]
		var of right
		found, err := c.Cloud.Get(ctx, r.ID, rightsVersion, &of)
		if err != nil {
			return Demolition{}, err
		}
		if role := c.ownRole(&of); found && role.ID != "" && !slices.ContainsFunc(rights, role.same) {
			rights = append(rights, role) // it has no record
		}
		isRole := strings.EqualFold(r.Kind(), kindRoleDefinition)
		if isRole && !made[strings.ToLower(r.ID)] && !strings.HasPrefix(of.Properties.Name, "sluice "+c.File.Name+" ") {
			continue // a person has described an assignment of another role so
		}
		d.roles[r] = of.role()
		if found && other != "" && isRole {
			d.Stays = append(d.Stays, r) // its server has the same role
			continue
		}
		if found && !goes[strings.ToLower(r.ID)] {
			goes[strings.ToLower(r.ID)] = true
			d.Goes = append(d.Goes, r)
		}
	}
	slices.SortStableFunc(d.Goes, func(a, b Resource) int {
		if n := a.rank() - b.rank(); n != 0 {
			return n
		}
		return strings.Compare(strings.ToLower(a.ID), strings.ToLower(b.ID))
	})
	if err := c.leaveUsed(ctx, &d); err != nil {
		return Demolition{}, err
	}
	if about.Tags[render.ClusterTag] == c.File.Name && len(d.Stays) == 0 {
		d.Group = c.File.ResourceGroup
	}
	if d.Nothing() {
		return d, c.elsewhere(ctx)
	}
	return d, nil
}

// Nothing says whether nothing of the cluster is there.
func (d *Demolition) Nothing() bool {
	return len(d.Goes) == 0 && d.Group == "" && !d.Underway && len(d.Used) == 0
}

// controllerTag is on the public addresses that cloud-provider-azure makes: the cluster that it was told. One that a person made has it not.
const controllerTag = "k8s-azure-cluster-name"

// forServices says whether the cluster's cloud controller has made a resource for Services. Its load balancers have no tag, but names that
// are its own. With the controller gone nobody would delete them, and while they are there the network cannot be.
func (c *Cluster) forServices(r listed) bool {
	if !c.File.Addons.CloudProvider {
		return false
	}
	about := Resource{r.ID}
	switch strings.ToLower(about.Kind()) {
	case "microsoft.network/loadbalancers":
		return strings.EqualFold(about.Name(), c.File.Name) || strings.EqualFold(about.Name(), c.File.Name+"-internal")
	case "microsoft.network/publicipaddresses":
		return r.Tags[controllerTag] == c.File.Name
	}
	return false
}

// user is the machine that a disk or an interface belongs to, and with which it goes; "" for none.
func (c *Cluster) user(ctx context.Context, r listed) (string, error) {
	if !strings.EqualFold(Resource{r.ID}.Kind(), "Microsoft.Network/networkInterfaces") {
		return r.ManagedBy, nil
	}
	var nic struct {
		Properties struct {
			Machine struct {
				ID string `json:"id"`
			} `json:"virtualMachine"`
		} `json:"properties"`
	}
	_, err := c.Cloud.Get(ctx, r.ID, Resource{r.ID}.version(), &nic)
	return nic.Properties.Machine.ID, err
}

// halt ends a deployment that is under way, and those inside of it: what they make meanwhile would outlive the deletion. It says whether
// there was one.
func (c *Cluster) halt(ctx context.Context) (was bool, err error) {
	at, canceled := []string{c.deployment()}, false
	for n := 0; n < len(at); n++ {
		asked := false
		for {
			var r record
			found, err := c.Cloud.Get(ctx, at[n], deploymentsVersion, &r)
			if n > 0 && (cloud.KindOf(err) == cloud.Unauthorized || err == nil && !found) {
				break // another's group, which may not be read any more, or is gone
			}
			if err != nil || !found || n == 0 && !r.ours() {
				return was, err
			}
			if r.ended() {
				canceled = canceled || r.Properties.State == "Canceled"
				break
			}
			if was = true; !asked {
				asked = true
				if err := c.cancel(ctx, at[n]); err != nil {
					return was, err
				}
			}
			if err := c.Wait(ctx, pause); err != nil {
				return was, err
			}
		}
		if !was && !canceled { // those inside of one that somebody has canceled go on
			return false, nil
		}
		more, err := c.nested(ctx, at[n])
		if err != nil {
			return was, err
		}
		at = append(at, more...)
	}
	return was, nil
}

// cancel asks Azure to end a deployment. One that may not be canceled is waited for.
func (c *Cluster) cancel(ctx context.Context, deployment string) error {
	what := "deployment " + Resource{deployment}.Name()
	err := c.Cloud.Post(ctx, deployment+"/cancel", deploymentsVersion, nil, nil)
	switch cloud.KindOf(err) {
	case "":
		c.Say(what + " is under way, and is canceled first")
	case cloud.Conflict, cloud.NotFound: // it has ended meanwhile
	case cloud.Unauthorized:
		c.Say(fmt.Sprintf("%s is under way, and its end is waited for, since it is not canceled: %v", what, err))
	default:
		return fmt.Errorf("%s is under way, and is not canceled: %w", what, err)
	}
	return nil
}

// Down deletes what a demolition names, each by its name, and says so. What fails is said at the end, after everything else was tried: called
// again, Down goes on there. A deployment that is under way is ended first, and what it has made by then goes as well.
func (c *Cluster) Down(ctx context.Context, d Demolition) error {
	halted, err := c.halt(ctx)
	if err != nil {
		return err
	}
	if halted {
		if d, err = c.Demolish(ctx); err != nil {
			return err
		}
	}
	left := d.Goes
	for round := 0; len(left) > 0; round++ {
		var again []Resource
		var failed []error
		for _, r := range left {
			err := c.Cloud.Delete(ctx, r.ID, r.version())
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				again, failed = append(again, r), append(failed, fmt.Errorf("%s is not deleted: %w", d.Says(r), err))
				continue
			}
			c.Say(d.Says(r) + " is deleted")
			c.purge(ctx, r)
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		if len(again) == len(left) || round == mostRounds || !slices.ContainsFunc(failed, usedStill) {
			if len(failed) > 0 {
				return summed(failed)
			}
			break
		}
		left = again // what used them is gone now
	}
	if d.Group == "" {
		return nil
	}
	if err := c.Cloud.Delete(ctx, c.group(d.Group), groupsVersion); err != nil {
		return fmt.Errorf("resource group %s is not deleted: %w", d.Group, err)
	}
	c.Say("resource group " + d.Group + " is deleted")
	return nil
}

// purge frees the name of a vault, which Azure keeps for days after its deletion: the next up would be refused. Where that is forbidden it is said.
func (c *Cluster) purge(ctx context.Context, r Resource) {
	if !strings.EqualFold(r.Kind(), "Microsoft.KeyVault/vaults") {
		return
	}
	at := c.subscription() + "/providers/Microsoft.KeyVault/locations/" + c.File.Region + "/deletedVaults/" + r.Name() + "/purge"
	err := c.Cloud.Post(ctx, at, r.version(), nil, nil)
	var e *cloud.Error
	if err != nil && ctx.Err() == nil && !(errors.As(err, &e) && e.Kind == cloud.NotFound) {
		c.Say(fmt.Sprintf("the name of %s is taken for some days, since it is not purged: %v", r, err))
	}
}

// mostRounds is how often down comes back to what was in use.
const mostRounds = 3

// usedStill says whether Azure refused because something uses the resource.
func usedStill(err error) bool {
	var e *cloud.Error
	return errors.As(err, &e) && (e.Kind == cloud.Conflict || strings.Contains(e.Code, "InUse") || strings.Contains(e.Code, "CannotBeDeleted"))
}
