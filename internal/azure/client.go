package azure

import (
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
)

// tryTimeout bounds one request, so that one that hangs costs one cycle.
const tryTimeout = 30 * time.Second

func (o Options) cloud() cloud.Configuration {
	return cloud.Configuration{
		ActiveDirectoryAuthorityHost: o.AuthorityHost + "/",
		Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
			cloud.ResourceManager: {Endpoint: o.ResourceManagerEndpoint, Audience: publicManagement},
		},
	}
}

// client is the HTTP client of the SDK.
func (o Options) client() *http.Client {
	t := o.Transport
	if t == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.MaxIdleConnsPerHost = parallelReads
		t = own
	}
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// clients makes the SDK's clients, with one pipeline and so one cache of tokens for all of them. Nothing in them retries or waits, but
// for one repetition of a request whose token had ended.
func (o Options) clients(gate *gate) (*armcompute.ClientFactory, error) {
	cred, err := o.credential()
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(o.ResourceManagerEndpoint)
	if err != nil {
		return nil, fmt.Errorf("resource manager endpoint %q: %w", o.ResourceManagerEndpoint, err)
	}
	options := &arm.ClientOptions{
		DisableRPRegistration: true,
		ClientOptions: policy.ClientOptions{
			Cloud:                           o.cloud(),
			Transport:                       o.client(),
			Retry:                           policy.RetryOptions{MaxRetries: -1, TryTimeout: tryTimeout},
			Telemetry:                       telemetry(),
			PerCallPolicies:                 []policy.Policy{onlyHost(u.Host), renewOnRefusal{}, gate},
			InsecureAllowCredentialWithHTTP: u.Scheme == "http", // a loopback host: withDefaults saw to it
		},
	}
	factory, err := armcompute.NewClientFactory(o.Subscription, cred, options)
	if err != nil {
		return nil, fmt.Errorf("make a Resource Manager client: %w", err)
	}
	return factory, nil
}

// onlyHost refuses to follow a page or operation link away from Resource Manager: the token would go along.
type onlyHost string

func (h onlyHost) Do(req *policy.Request) (*http.Response, error) {
	if got := req.Raw().URL.Host; !strings.EqualFold(got, string(h)) {
		return nil, fmt.Errorf("Azure's answer links to host %q instead of %q, and is not followed", got, string(h))
	}
	return req.Next()
}

// telemetry is "sluice/<version>"; the SDK allows it 24 characters.
func telemetry() policy.TelemetryOptions {
	version := "devel"
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" && b.Main.Version != "(devel)" {
		version = b.Main.Version
	}
	id := "sluice/" + version
	return policy.TelemetryOptions{ApplicationID: id[:min(len(id), 24)]}
}
