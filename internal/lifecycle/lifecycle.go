// Package lifecycle makes a cluster of a cluster file in Azure, says what differs from the file, and takes it down.
//
// Everything goes through one deployment of the rendered template, whose name is the cluster's. Azure's record of it is the one memory: what it made, by
// whom it was asked, and the file itself. So each step can be interrupted and repeated, from another machine as well.
//
//	step      reads                                        writes
//	check     subscription, rights, providers, sizes,      nothing
//	          quota, and what Azure says of the template
//	up        what is there already                        resource groups, the deployment
//	await     the server by run command, nodes, consoles   nothing
//	pool      a scale set, its machines and their nodes    its tags, what asks sluice to drain nodes; deletes it when it is empty
//	diff      what Azure says the template would change    nothing
//	down      the record, and the tags of resources        deletes each by its name; never storage
package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/clusterfile"
	"sluice.dev/sluice/internal/render"
)

// The versions of Resource Manager's own interfaces.
const (
	groupsVersion      = "2021-04-01"
	deploymentsVersion = "2021-04-01"
	computeVersion     = "2024-07-01"
	rightsVersion      = "2022-04-01"

	subscriptionsVersion = "2022-12-01"
)

// Cloud is Resource Manager. Paths begin with /subscriptions. Errors are sentences for a person.
type Cloud interface {
	// Subscription is the id of the subscription that everything is in.
	Subscription() string
	// Get reads what is at a path; false where nothing is.
	Get(ctx context.Context, path, version string, into any) (bool, error)
	// List reads a whole collection.
	List(ctx context.Context, path, version string, query url.Values) ([]json.RawMessage, error)
	// Put writes, and returns when it is accepted.
	Put(ctx context.Context, path, version string, body any) error
	// Patch changes, and waits for the end.
	Patch(ctx context.Context, path, version string, body any) error
	// Post asks for something and waits for its end.
	Post(ctx context.Context, path, version string, body, into any) error
	// Delete removes and waits for the end. What is not there is gone.
	Delete(ctx context.Context, path, version string) error
	// Examine says what a machine says of itself: bad statuses, and its serial console. It is nil where there is no answer now.
	Examine(ctx context.Context, path string) *cluster.Diagnosis
}

// Cluster is a cluster file and the Azure that it is about.
type Cluster struct {
	File  *clusterfile.File
	Cloud Cloud

	// Wait is called between two looks at work that goes on. It returns the context's error when that ends.
	Wait func(context.Context, time.Duration) error
	// Say is told each step as it ends, one sentence.
	Say func(string)
	// News are resources, by their ids in lower case, that are told one by one as they are ready; the others are counted. nil: all are told.
	News map[string]bool
}

// pause is the time between two looks at a deployment.
const pause = 5 * time.Second

func (c *Cluster) subscription() string {
	return "/subscriptions/" + url.PathEscape(c.Cloud.Subscription())
}

// group is the path of a resource group.
func (c *Cluster) group(name string) string {
	return c.subscription() + "/resourceGroups/" + url.PathEscape(name)
}

// deployment is the path of the one deployment.
func (c *Cluster) deployment() string {
	return c.group(c.File.ResourceGroup) + "/providers/Microsoft.Resources/deployments/" + url.PathEscape(c.File.Name)
}

// Resource is one thing in Azure.
type Resource struct {
	ID string `json:"id"`
}

// Kind is its type, such as Microsoft.Network/networkInterfaces.
func (r Resource) Kind() string {
	i := strings.LastIndex(strings.ToLower(r.ID), "/providers/")
	if i < 0 {
		return "Microsoft.Resources/resourceGroups"
	}
	parts := strings.Split(r.ID[i+len("/providers/"):], "/")
	kind := parts[0]
	for i := 1; i < len(parts); i += 2 {
		kind += "/" + parts[i]
	}
	return kind
}

// Name is the last part of its id, with those of its parents in the same group.
func (r Resource) Name() string {
	at := strings.LastIndex(strings.ToLower(r.ID), "/providers/")
	parts := strings.Split(r.ID[at+1:], "/")
	var names []string
	for i := 3; i < len(parts); i += 2 {
		names = append(names, parts[i])
	}
	if at < 0 || len(names) == 0 { // a resource group
		return parts[len(parts)-1]
	}
	return strings.Join(names, "/")
}

func (r Resource) String() string {
	kind := r.Kind()
	return kind[strings.LastIndexByte(kind, '/')+1:] + " " + r.Name()
}

// Group is the resource group that it is in; "" for what is in none.
func (r Resource) Group() string {
	parts := strings.Split(r.ID, "/")
	const kind, name = 3, 4
	if len(parts) > name && strings.EqualFold(parts[kind], "resourceGroups") {
		return parts[name]
	}
	return ""
}

// in says whether the resource is in a resource group.
func (r Resource) in(group string) bool {
	return strings.HasPrefix(strings.ToLower(r.ID)+"/", strings.ToLower(group)+"/")
}

// record is a deployment as Azure keeps it.
type record struct {
	Properties struct {
		State      string `json:"provisioningState"`
		Parameters map[string]struct {
			Value any `json:"value"`
		} `json:"parameters"`
		OutputResources []struct {
			ID string `json:"id"`
		} `json:"outputResources"`
		Outputs map[string]struct {
			Value any `json:"value"`
		} `json:"outputs"`
		Error *problem `json:"error"`
	} `json:"properties"`
}

// problem is an error as Resource Manager nests it.
type problem struct {
	Code    string    `json:"code"`
	Message string    `json:"message"`
	Target  string    `json:"target"`
	Details []problem `json:"details"`
}

// leaf is the innermost of the first details: the one that says what is the matter.
func (p *problem) leaf() problem {
	if len(p.Details) == 0 {
		return *p
	}
	return p.Details[0].leaf()
}

func (p problem) Error() string { return p.Code + ": " + p.Message }

// ended says whether Azure is done with the deployment.
func (r *record) ended() bool {
	return slices.Contains([]string{"Succeeded", "Failed", "Canceled"}, r.Properties.State)
}

// recorded is Azure's record of the deployment; false where there is none. One of the same name that did not come from a cluster file is somebody else's:
// down would take for the cluster's what it made.
func (c *Cluster) recorded(ctx context.Context) (r record, found bool, err error) {
	found, err = c.Cloud.Get(ctx, c.deployment(), deploymentsVersion, &r)
	if !found || err != nil || !r.ours() {
		return record{}, false, err
	}
	return r, true, nil
}

// ours says whether the deployment came from a cluster file.
func (r *record) ours() bool {
	_, has := r.Properties.Parameters[render.ParameterFingerprint]
	return has
}

// elsewhere is asked before something counts as gone, or as not made yet: an error where the subscription has machines of the cluster, and
// all of them in another resource group than the file names.
func (c *Cluster) elsewhere(ctx context.Context) error {
	raw, err := c.Cloud.List(ctx, c.subscription()+"/resources", groupsVersion, url.Values{
		"$filter": {fmt.Sprintf("tagName eq '%s' and tagValue eq '%s'", render.ClusterTag, c.File.Name)},
	})
	if cloud.KindOf(err) == cloud.Unauthorized {
		return nil // only the group may be read
	}
	if err != nil {
		return err
	}
	other := ""
	for _, one := range raw {
		var r listed
		if err := json.Unmarshal(one, &r); err != nil {
			return fmt.Errorf("read the resources of the subscription: %w", err)
		}
		about := Resource{r.ID}
		if kind := about.Kind(); !c.ours(r) || !strings.EqualFold(kind, kindVM) && !strings.EqualFold(kind, kindSet) {
			continue
		}
		if about.in(c.group(c.File.ResourceGroup)) {
			return nil
		}
		other = about.Group()
	}
	if other == "" {
		return nil
	}
	return fmt.Errorf("resource group %s has no machine of cluster %s, and resource group %s has: nothing was changed; "+
		"look at resourceGroup in the cluster file",
		c.File.ResourceGroup, c.File.Name, other)
}

// parameters are the values for a deployment now: the door's fingerprint, its key where it is new, and what is not there yet.
func parameters(fingerprint, key string, isNew []string) map[string]any {
	value := func(v any) map[string]any { return map[string]any{"value": v} }
	if isNew == nil {
		isNew = []string{}
	}
	all := map[string]any{render.ParameterFingerprint: value(fingerprint), render.ParameterNew: value(isNew)}
	if key != "" {
		all[render.ParameterKey] = value(key)
	}
	return all
}

// body is what a deployment is asked with.
func (c *Cluster) body(values map[string]any) (map[string]any, error) {
	r, err := render.Render(c.File)
	if err != nil {
		return nil, err
	}
	return map[string]any{"properties": map[string]any{
		"mode": "Incremental", "template": json.RawMessage(r.Template), "parameters": values,
	}}, nil
}

// there is what exists of the cluster already.
type there struct {
	group       bool              // the resource group
	fingerprint string            // that the server's machine bears; "" where there is no server
	server      map[string]string // the tags of the server; nil where there is none
	vault       string            // the cluster's, by its id; "" for none
	secret      bool              // the door's key is in it
	stored      string            // the fingerprint of that key; "" where it is not known
	missing     []string
}

// look reads what exists already, by the names that the template gives.
func (c *Cluster) look(ctx context.Context) (there, error) {
	var t there
	var err error
	group := c.group(c.File.ResourceGroup)
	if t.group, err = c.Cloud.Get(ctx, group, groupsVersion, &struct{}{}); err != nil || !t.group {
		t.missing = append([]string{render.NewNetwork, render.NewServer}, c.pools()...)
		return t, err
	}
	resources, err := c.listing(ctx)
	if err != nil {
		return t, err
	}
	found := map[string]map[string]string{}
	for _, r := range resources {
		if !c.ours(r) {
			continue
		}
		found[strings.ToLower(Resource{r.ID}.Kind()+" "+Resource{r.ID}.Name())] = r.Tags
	}
	if _, ok := found[strings.ToLower("Microsoft.Network/networkSecurityGroups "+c.File.Name+"-nodes")]; !ok {
		t.missing = append(t.missing, render.NewNetwork)
	}
	if tags, ok := found[strings.ToLower("Microsoft.Compute/virtualMachines "+c.File.Name+"-server")]; ok {
		t.fingerprint, t.server = tags[render.JoinTag], tags
	} else {
		t.missing = append(t.missing, render.NewServer)
	}
	for _, r := range resources {
		if c.ours(r) && strings.EqualFold(Resource{r.ID}.Kind(), "Microsoft.KeyVault/vaults") {
			if err := (keeper{c}).lookAtVault(ctx, &t, r.ID); err != nil {
				return t, err
			}
		}
	}
	for _, name := range c.pools() {
		if _, ok := found[strings.ToLower("Microsoft.Compute/virtualMachineScaleSets "+c.File.Name+"-"+name)]; !ok {
			t.missing = append(t.missing, name)
		}
	}
	return t, nil
}

func (c *Cluster) pools() []string {
	names := make([]string, len(c.File.Pools))
	for i, p := range c.File.Pools {
		names[i] = p.Name
	}
	return names
}

// listed is a resource as the list of a group shows it.
type listed struct {
	ID        string            `json:"id"`
	Location  string            `json:"location"`
	Tags      map[string]string `json:"tags"`
	ManagedBy string            `json:"managedBy"` // of a disk: the machine that it is attached to
}

// ours says whether the resource bears the cluster's tag.
func (c *Cluster) ours(r listed) bool { return r.Tags[render.ClusterTag] == c.File.Name }

// listing are all resources of the cluster's group.
func (c *Cluster) listing(ctx context.Context) ([]listed, error) {
	all, err := c.Cloud.List(ctx, c.group(c.File.ResourceGroup)+"/resources", groupsVersion, nil)
	if err != nil {
		return nil, err
	}
	out := make([]listed, len(all))
	for i, raw := range all {
		if err := json.Unmarshal(raw, &out[i]); err != nil {
			return nil, fmt.Errorf("read the resources of group %s: %w", c.File.ResourceGroup, err)
		}
	}
	return out, nil
}
