package azure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"sluice.dev/sluice/internal/azure/config"
	"sluice.dev/sluice/internal/imds"
)

// metadata is the client for this machine's own services.
func (o Options) metadata() *imds.Client {
	return &imds.Client{
		Endpoint: o.MetadataEndpoint, Transport: o.Transport,
		IdentityEndpoint: o.IdentityEndpoint, IdentityHeader: string(o.IdentityHeader), Log: o.Log,
	}
}

// locate asks instance metadata for what the options leave open of subscription, resource group, location and cloud. With both
// subscription and resource group given it asks nothing: sluice may run elsewhere then.
func (o Options) locate(ctx context.Context) (Options, error) {
	if o.Subscription != "" && o.ResourceGroup != "" {
		return o, nil
	}
	self, err := o.metadata().Instance(ctx)
	if err != nil {
		return o, fmt.Errorf("subscription and resource group are not both given (ARM_SUBSCRIPTION_ID, ARM_RESOURCE_GROUP) and cannot be discovered: %w", err)
	}
	o.self = self.VMID
	o.Subscription, o.ResourceGroup = cmp.Or(o.Subscription, self.Subscription), cmp.Or(o.ResourceGroup, self.ResourceGroup)
	o.Location = cmp.Or(o.Location, self.Location)
	if o.Subscription == "" || o.ResourceGroup == "" {
		return o, errors.New("instance metadata names no subscription or no resource group: give ARM_SUBSCRIPTION_ID and ARM_RESOURCE_GROUP")
	}
	if o.Cloud == "" && o.EnvironmentFile == "" && o.EndpointsFrom == "" {
		o.Cloud = self.Environment
	}
	found := []any{"subscription", o.Subscription, "resourceGroup", o.ResourceGroup, "location", o.Location}
	if o.Cloud != "" {
		found = append(found, "cloud", o.Cloud)
	}
	o.Log.Info("discovered from instance metadata", found...)
	return o, nil
}

// whoAmI is the vmId of the machine that sluice runs on, "" when that is not known: where sluice signs in as an application it may run elsewhere. Nobody may
// be there to answer, which is not waited for long; a service that says that it is busy is.
func (o Options) whoAmI(ctx context.Context) string {
	if o.self != "" || o.Identity.Application() || o.IdentityEndpoint != "" {
		return o.self
	}
	metadata := o.metadata()
	metadata.Within = selfWithin
	self, err := metadata.Instance(ctx)
	if err != nil {
		o.Log.Warn("this machine is not known: a scale set that it is in is not taken for one of servers", "err", err)
	}
	return self.VMID
}

// selfWithin is how long the answer is waited for.
const selfWithin = 2 * time.Second

// find settles the cloud's endpoints: those of the options before those of the cloud. It asks Resource Manager when
// the configuration says so (resourceManagerEndpoint), and nobody else.
func (o Options) find(ctx context.Context) (Options, error) {
	var err error
	if o.where, err = o.described(ctx); err != nil {
		return o, err
	}
	o.ResourceManagerEndpoint = cmp.Or(o.ResourceManagerEndpoint, o.where.ResourceManager)
	o.AuthorityHost = cmp.Or(o.AuthorityHost, o.where.Authority)
	o.where.Audience = cmp.Or(o.where.Audience, o.ResourceManagerEndpoint)
	if o.where.ADFS && o.Identity.Application() {
		o.Identity.Tenant = config.ADFS
	}
	for _, e := range []struct{ field, value string }{{"Resource Manager", o.ResourceManagerEndpoint}, {"token authority", o.AuthorityHost}} {
		if err := checkEndpoint(e.value, false, publicManagement); err != nil {
			return o, fmt.Errorf("the %s of cloud %s, %q: %w", e.field, o.where.Name, e.value, err)
		}
	}
	return o, nil
}

// described is the cloud as its file, its Resource Manager or its name describes it.
func (o Options) described(ctx context.Context) (config.Cloud, error) {
	known, isKnown := config.KnownCloud(cmp.Or(o.Cloud, "AzurePublicCloud"))
	switch {
	case o.EnvironmentFile != "":
		data, err := os.ReadFile(o.EnvironmentFile)
		if err != nil {
			return config.Cloud{}, fmt.Errorf("AZURE_ENVIRONMENT_FILEPATH=%s: it cannot be read (%w): give the path of the cloud's endpoints", o.EnvironmentFile, innermost(err))
		}
		return config.ParseEnvironment(data, o.EnvironmentFile)
	case o.EndpointsFrom != "":
		return o.ask(ctx)
	case isKnown:
		return known, nil
	case o.ResourceManagerEndpoint != "" && o.AuthorityHost != "":
		return config.Cloud{Name: o.Cloud}, nil
	}
	return config.Cloud{}, fmt.Errorf("cloud (ARM_CLOUD) is %q, whose endpoints are not known: set AZURE_ENVIRONMENT_FILEPATH to a file of them, or resourceManagerEndpoint; or give AzurePublicCloud, AzureUSGovernmentCloud or AzureChinaCloud", o.Cloud)
}

// ask has a Resource Manager describe its cloud: a list since api-version 2019-05-01, and where that is refused the one object of
// 2015-01-01. No token goes along.
func (o Options) ask(ctx context.Context) (config.Cloud, error) {
	endpoint := strings.TrimRight(o.EndpointsFrom, "/")
	if err := checkEndpoint(endpoint, false, publicManagement); err != nil {
		return config.Cloud{}, fmt.Errorf("resourceManagerEndpoint=%s: %w", endpoint, err)
	}
	var refusal error
	for _, version := range []string{"2019-05-01", "2015-01-01"} {
		body, err := o.askVersion(ctx, endpoint, version)
		if err == nil {
			return config.ParseMetadata(body, endpoint, o.Cloud)
		}
		if refusal = err; !errors.Is(err, errRefused) {
			break // another version would not be answered either
		}
	}
	return config.Cloud{}, refusal
}

// errRefused is the remedy where a Resource Manager answers and does not describe its cloud.
var errRefused = errors.New("correct the endpoint, or describe the cloud in the file that AZURE_ENVIRONMENT_FILEPATH names")

func (o Options) askVersion(ctx context.Context, endpoint, version string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint+"/metadata/endpoints?api-version="+version, nil)
	if err != nil {
		return nil, fmt.Errorf("resourceManagerEndpoint=%s: must be a URL such as %s", endpoint, publicManagement)
	}
	resp, err := o.client().Do(req)
	if err != nil {
		_, why := unanswered(err, req.URL.Host)
		return nil, fmt.Errorf("resourceManagerEndpoint=%s: %s", endpoint, why)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("resourceManagerEndpoint=%s: its /metadata/endpoints answers %s: %w", endpoint, resp.Status, errRefused)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		_, why := unanswered(err, req.URL.Host)
		return nil, fmt.Errorf("resourceManagerEndpoint=%s: its /metadata/endpoints broke off its answer: %s", endpoint, why)
	}
	return body, nil
}

// stackVersion is the newest api-version of Microsoft.Compute that Azure Stack Hub has (API profile 2020-09-01-hybrid).
const stackVersion = "2020-06-01"

// computeVersion is the api-version that Microsoft.Compute is asked with; "" is the SDK's own.
func (o Options) computeVersion() string {
	if o.where.Name == config.StackCloud && !o.NewestVersions {
		return stackVersion
	}
	return ""
}
