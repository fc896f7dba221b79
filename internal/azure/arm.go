package azure

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"sluice.dev/sluice/internal/azure/config"
)

// resourceManager asks Resource Manager for what the SDK's clients for Microsoft.Compute do not know, in one resource group, through the same
// pipeline and the same gate as everything else.
type resourceManager struct {
	pipeline runtime.Pipeline
	endpoint string // without a trailing slash
	group    string // the path of the resource group
	versions versions
}

// versions are the api-versions of what is asked.
type versions struct{ network, disks, deployments string }

var (
	cloudVersions = versions{network: "2024-05-01", disks: "2024-03-02", deployments: "2021-04-01"}
	hubVersions   = versions{network: "2018-11-01", disks: "2019-07-01", deployments: "2019-10-01"} // API profile 2020-09-01-hybrid
)

func newResourceManager(o Options, pipeline runtime.Pipeline) *resourceManager {
	a := &resourceManager{
		pipeline: pipeline, endpoint: o.ResourceManagerEndpoint, versions: cloudVersions,
		group: "/subscriptions/" + url.PathEscape(o.Subscription) + "/resourceGroups/" + url.PathEscape(o.ResourceGroup),
	}
	if o.where.Name == config.StackCloud && !o.NewestVersions {
		a.versions = hubVersions
	}
	return a
}

// send makes one request. A nil body sends none; a status of 400 and above is an error.
func (a *resourceManager) send(ctx context.Context, method, path, version string, body any) (*http.Response, error) {
	req, err := runtime.NewRequest(ctx, method, a.endpoint+path)
	if err != nil {
		return nil, err
	}
	query := req.Raw().URL.Query()
	query.Set("api-version", version)
	req.Raw().URL.RawQuery = query.Encode()
	return a.finish(req, body)
}

func (a *resourceManager) finish(req *policy.Request, body any) (*http.Response, error) {
	req.Raw().Header.Set("Accept", "application/json")
	if body != nil {
		if err := runtime.MarshalAsJSON(req, body); err != nil {
			return nil, err
		}
	}
	resp, err := a.pipeline.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= http.StatusBadRequest {
		return nil, runtime.NewResponseError(resp)
	}
	return resp, nil
}

// listAll is a whole collection, or none of it.
func listAll[T any](ctx context.Context, a *resourceManager, path, version string) ([]T, error) {
	all, err := collect[T](ctx, a.pipeline, a.endpoint+path+"?"+url.Values{"api-version": {version}}.Encode())
	if err != nil {
		return nil, err
	}
	return all, nil
}

// belonging is a resource that belongs to a machine: a network interface or a managed disk.
type belonging struct {
	ID         string            `json:"id"`
	Tags       map[string]string `json:"tags"`
	ManagedBy  string            `json:"managedBy"` // of a disk: the machine that it is attached to, "" for none
	Properties struct {
		VirtualMachine *struct {
			ID string `json:"id"`
		} `json:"virtualMachine"` // of an interface: the machine that uses it
	} `json:"properties"`

	version string // for requests about it
}

// user is the id of the machine that uses it, "" for none.
func (b *belonging) user() string {
	if vm := b.Properties.VirtualMachine; vm != nil {
		return vm.ID
	}
	return b.ManagedBy
}

// belongings are all network interfaces and disks of the resource group, by id in lower case.
func (a *resourceManager) belongings(ctx context.Context) (map[string]*belonging, error) {
	all := map[string]*belonging{}
	for _, of := range []struct{ kind, version string }{
		{"Microsoft.Network/networkInterfaces", a.versions.network},
		{"Microsoft.Compute/disks", a.versions.disks},
	} {
		found, err := listAll[*belonging](ctx, a, a.group+"/providers/"+of.kind, of.version)
		if err != nil {
			return nil, err
		}
		for _, b := range found {
			if b != nil && b.ID != "" {
				b.version = of.version
				all[strings.ToLower(b.ID)] = b
			}
		}
	}
	return all, nil
}

// retag replaces the tags, which is all that is written (S-04). It does not wait for the end.
func (a *resourceManager) retag(ctx context.Context, b *belonging, tags map[string]string) error {
	_, err := a.send(ctx, http.MethodPatch, b.ID, b.version, map[string]any{"tags": tags}) //nolint:bodyclose // the pipeline has read and closed it
	return err
}

// remove deletes it. It does not wait for the end; one that is gone already is none.
func (a *resourceManager) remove(ctx context.Context, b *belonging) error {
	_, err := a.send(ctx, http.MethodDelete, b.ID, b.version, nil) //nolint:bodyclose // the pipeline has read and closed it
	if missing(err) {
		return nil
	}
	return err
}
