package azure

import (
	"fmt"
	"mime"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"sluice.dev/sluice/cluster"
)

// client is what all that asks Azure has in common: as whom and where it asks, the way there, and what an error of it is called.
type client struct {
	options  Options
	gate     *gate
	tokens   *tokens
	pipeline runtime.Pipeline              // for requests that the SDK's clients for Microsoft.Compute do not know
	about    func(cluster.GroupID) subject // of a group, as far as it was read
}

// connect makes a client of complete options, and says by which credential it signs in. It asks nobody.
func (o Options) connect() (*client, azcore.TokenCredential, error) {
	gate := newGate(o.Now, o.APIShare, o.Location)
	gate.rates = o.RateLimit
	cred, err := o.credential()
	if err != nil {
		return nil, nil, err
	}
	tokens := &tokens{from: cred, source: o.tokenSource(), runner: o.Runner, now: o.Now}
	pipeline, err := o.pipeline(gate, tokens)
	if err != nil {
		return nil, nil, err
	}
	return &client{options: o, gate: gate, tokens: tokens, pipeline: pipeline}, cred, nil
}

func (c *client) now() time.Time { return c.options.Now() }

// tryTimeout bounds one request, so that one that hangs costs one cycle.
const tryTimeout = 30 * time.Second

func (o Options) cloud() cloud.Configuration {
	return cloud.Configuration{
		ActiveDirectoryAuthorityHost: o.AuthorityHost + "/",
		Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
			cloud.ResourceManager: {Endpoint: o.ResourceManagerEndpoint, Audience: o.where.Audience},
		},
	}
}

// client is the HTTP client of the SDK. It follows no redirect, and reads no answer without end.
func (o Options) client() *http.Client {
	t := o.Transport
	if t == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.MaxIdleConnsPerHost = parallelReads
		t = own
	}
	return &http.Client{Transport: bounded{t}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// clients makes the SDK's clients for Microsoft.Compute. Nothing in them retries or waits, but for one repetition of a request whose
// token had ended.
func (o Options) clients(gate *gate, tokens *tokens) (*armcompute.ClientFactory, error) {
	options := o.clientOptions(gate)
	options.APIVersion = o.computeVersion()
	factory, err := armcompute.NewClientFactory(o.Subscription, &pipelineTokens{tokens: tokens}, options)
	if err != nil {
		return nil, fmt.Errorf("make a Resource Manager client: %w", err)
	}
	return factory, nil
}

// pipeline is for requests that the SDK's clients for Microsoft.Compute do not know. Without a gate nothing holds them back.
func (o Options) pipeline(gate *gate, tokens *tokens) (runtime.Pipeline, error) {
	c, err := arm.NewClient("sluice", "v0.0.0", &pipelineTokens{tokens: tokens}, o.clientOptions(gate))
	if err != nil {
		return runtime.Pipeline{}, fmt.Errorf("make a Resource Manager client: %w", err)
	}
	return c.Pipeline(), nil
}

func (o Options) clientOptions(gate *gate) *arm.ClientOptions {
	perCall := []policy.Policy{hears{}, noPages{}, onlyHost(hostOf(o.ResourceManagerEndpoint)), renewOnRefusal{}}
	if gate != nil {
		perCall = append(perCall, gate)
	}
	return &arm.ClientOptions{
		DisableRPRegistration: true,
		ClientOptions: policy.ClientOptions{
			Cloud:                           o.cloud(),
			Transport:                       o.client(),
			Retry:                           policy.RetryOptions{MaxRetries: -1, TryTimeout: tryTimeout},
			Telemetry:                       o.telemetry(),
			PerCallPolicies:                 perCall,
			InsecureAllowCredentialWithHTTP: strings.HasPrefix(o.ResourceManagerEndpoint, "http://"), // a loopback host: checkEndpoint saw to it
		},
	}
}

// onlyHost refuses to follow a page or operation link away from Resource Manager, or a token endpoint away from the authority: the
// token or the secret would go along.
type onlyHost string

func (h onlyHost) Do(req *policy.Request) (*http.Response, error) {
	if got := req.Raw().URL.Host; !strings.EqualFold(got, string(h)) {
		return nil, fmt.Errorf("Azure's answer links to host %q instead of %q, and is not followed", got, string(h))
	}
	return req.Next()
}

// noPages takes an answer that is a page for people, and not JSON, for one of somebody who stands between here and Azure: it says nothing of what was asked for.
// A wait that it asks for holds all the same.
type noPages struct{}

func (noPages) Do(req *policy.Request) (*http.Response, error) {
	resp, err := req.Next()
	if err != nil || resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusUnauthorized {
		return resp, err
	}
	if kind := pageKind(resp); kind != "" {
		resp.Body.Close() // nothing of it is wanted
		return nil, &AnotherAnswer{Host: req.Raw().URL.Host, Status: resp.StatusCode, Type: kind}
	}
	return resp, nil
}

// pageKind is the media type of an answer that is a page for people; "" for any other.
func pageKind(resp *http.Response) string {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || kind != "text/html" && kind != "application/xhtml+xml" {
		return ""
	}
	return kind
}

// telemetry is "sluice/<version><suffix>"; the SDK allows it 24 characters.
func (o Options) telemetry() policy.TelemetryOptions {
	version := "devel"
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" && b.Main.Version != "(devel)" {
		version = b.Main.Version
	}
	id := "sluice/" + version + o.UserAgentSuffix
	return policy.TelemetryOptions{ApplicationID: id[:min(len(id), 24)]}
}
