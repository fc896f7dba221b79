package azure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// deployment is a deployment as a read tells it, as far as sluice goes by it.
type deployment struct {
	Name       string `json:"name"`
	Properties struct {
		ProvisioningState string    `json:"provisioningState"`
		Timestamp         time.Time `json:"timestamp"`
		Parameters        map[string]struct {
			Value any `json:"value"`
		} `json:"parameters"`
	} `json:"properties"`
}

// active says whether Azure is still at it.
func (d *deployment) active() bool {
	switch d.Properties.ProvisioningState {
	case "Succeeded", "Failed", "Canceled":
		return false
	}
	return true
}

func (a *resourceManager) deploymentPath(name string) string {
	path := a.group + "/providers/Microsoft.Resources/deployments"
	if name != "" {
		path += "/" + url.PathEscape(name)
	}
	return path
}

func (a *resourceManager) deployments(ctx context.Context) ([]*deployment, error) {
	return listAll[*deployment](ctx, a, a.deploymentPath(""), a.versions.deployments)
}

// template is the template that a deployment deployed. Numbers are as they were written.
func (a *resourceManager) template(ctx context.Context, name string) (map[string]any, error) {
	resp, err := a.send(ctx, http.MethodPost, a.deploymentPath(name)+"/exportTemplate", a.versions.deployments, nil) //nolint:bodyclose // the pipeline has read and closed it
	if err != nil {
		return nil, err
	}
	raw, err := runtime.Payload(resp)
	if err != nil {
		return nil, err
	}
	var exported struct {
		Template map[string]any `json:"template"`
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&exported); err != nil || exported.Template == nil {
		return nil, fmt.Errorf("Azure exports no template of deployment %q", name)
	}
	return exported.Template, nil
}

// deployed is what is decoded of a finished deployment.
type deployed struct{}

// deploy begins an incremental deployment: what is in the resource group and not in the template stays as it is.
func (a *resourceManager) deploy(ctx context.Context, name string, template, parameters map[string]any) (*runtime.Poller[deployed], *http.Response, error) {
	resp, err := a.send(ctx, http.MethodPut, a.deploymentPath(name), a.versions.deployments, map[string]any{
		"properties": map[string]any{"mode": "Incremental", "template": template, "parameters": parameters},
	})
	if err != nil {
		return nil, nil, err
	}
	poller, err := runtime.NewPoller[deployed](resp, a.pipeline, nil)
	return poller, resp, err
}

// resumeDeployment goes on following a deployment. It sends nothing.
func (a *resourceManager) resumeDeployment(token string) (*runtime.Poller[deployed], error) {
	return runtime.NewPollerFromResumeToken[deployed](token, a.pipeline, nil)
}

// forget deletes the record of a deployment; what it made stays.
func (a *resourceManager) forget(ctx context.Context, name string) error {
	_, err := a.send(ctx, http.MethodDelete, a.deploymentPath(name), a.versions.deployments, nil) //nolint:bodyclose // the pipeline has read and closed it
	if missing(err) {
		return nil
	}
	return err
}

// missing says whether Azure answered that what was asked for is not there.
func missing(err error) bool {
	var refused *azcore.ResponseError
	return errors.As(err, &refused) && refused.StatusCode == http.StatusNotFound
}
