package azure

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"sluice.dev/sluice/internal/azure/config"
	"sluice.dev/sluice/internal/imds"
)

func selector(i Identity) imds.Selector {
	if i.ResourceID() {
		return imds.Selector{ResourceID: i.UserAssigned}
	}
	return imds.Selector{ClientID: i.UserAssigned}
}

func check(i Identity) error {
	if !i.Application() {
		return nil
	}
	if i.UserAssigned != "" {
		return fmt.Errorf("identity: both a user-assigned identity and a service principal are given: give one of them")
	}
	for _, f := range []struct{ field, value string }{{"tenant", i.Tenant}, {"client id", i.Client}, {"client secret", string(i.Secret)}} {
		if f.value == "" {
			return fmt.Errorf("identity: the service principal has no %s: give tenant, client id and client secret, or none of them", f.field)
		}
	}
	return nil
}

// FromEnvironment reads the part of Options that the environment may set, with the variables and the precedence of
// cluster-autoscaler: managed identity before client secret, AZURE_TENANT_ID and AZURE_CLIENT_ID before their ARM_ siblings. Values
// are trimmed and blank ones are absent. A set that is half given is an error that names the variable.
func FromEnvironment(getenv func(string) string) (Options, error) {
	get := func(names ...string) string { // the last one that is set wins
		value := ""
		for _, n := range names {
			if v := strings.TrimSpace(getenv(n)); v != "" {
				value = v
			}
		}
		return value
	}
	o := Options{Config: config.Config{Subscription: get("ARM_SUBSCRIPTION_ID"), ResourceGroup: get("ARM_RESOURCE_GROUP")}}
	managed := false
	if v := get("ARM_USE_MANAGED_IDENTITY_EXTENSION"); v != "" {
		var err error
		if managed, err = strconv.ParseBool(v); err != nil {
			return Options{}, fmt.Errorf("ARM_USE_MANAGED_IDENTITY_EXTENSION=%s: it must be true or false", v)
		}
	}
	tenant, client, secret := get("ARM_TENANT_ID", "AZURE_TENANT_ID"), get("ARM_CLIENT_ID", "AZURE_CLIENT_ID"), get("ARM_CLIENT_SECRET")
	user := get("ARM_USER_ASSIGNED_IDENTITY_ID")
	if managed || secret == "" && client == "" {
		o.Identity.UserAssigned = user
		return o, nil
	}
	for _, v := range []struct{ name, value string }{{"ARM_TENANT_ID", tenant}, {"ARM_CLIENT_ID", client}, {"ARM_CLIENT_SECRET", secret}} {
		if v.value == "" {
			return Options{}, fmt.Errorf("%s is not set: a service principal needs ARM_TENANT_ID, ARM_CLIENT_ID and ARM_CLIENT_SECRET; for a managed identity set ARM_USE_MANAGED_IDENTITY_EXTENSION=true", v.name)
		}
	}
	o.Identity = Identity{Tenant: tenant, Client: client, Secret: config.Secret(secret)}
	return o, nil
}

// credential is the identity's source of tokens.
func (o Options) credential() (azcore.TokenCredential, error) {
	if !o.Identity.Application() {
		return &managedIdentity{client: &imds.Client{Endpoint: o.MetadataEndpoint, Transport: o.Transport}, who: selector(o.Identity)}, nil
	}
	c, err := azidentity.NewClientSecretCredential(o.Identity.Tenant, o.Identity.Client, string(o.Identity.Secret), &azidentity.ClientSecretCredentialOptions{
		ClientOptions: azcore.ClientOptions{
			Cloud: o.cloud(), Transport: o.client(), Retry: policy.RetryOptions{MaxRetries: -1, TryTimeout: tryTimeout}, Telemetry: telemetry(),
		},
		DisableInstanceDiscovery: o.AuthorityHost != publicAuthority,
	})
	if err != nil {
		return nil, fmt.Errorf("identity %s: %w", o.Identity, err)
	}
	return c, nil
}

// managedIdentity gets tokens from instance metadata. The SDK's own credential keeps one cache of tokens for the whole process, judges
// their age by the wall clock alone and sleeps between retries; here the pipeline's cache is the only one and nothing sleeps.
type managedIdentity struct {
	client *imds.Client
	who    imds.Selector
}

// GetToken asks once. Half of a token's life is the time to ask for the next, as Azure recommends.
func (m *managedIdentity) GetToken(ctx context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	resource := strings.TrimSuffix(o.Scopes[0], "/.default")
	t, err := m.client.Token(ctx, resource, m.who)
	if err != nil {
		return azcore.AccessToken{}, err
	}
	now := time.Now() // the pipeline compares with the wall clock
	return azcore.AccessToken{Token: t.Value, ExpiresOn: now.Add(t.Life).UTC(), RefreshOn: now.Add(t.Life / 2).UTC()}, nil
}

// renewOnRefusal repeats a request that was answered 401 once, with a new token: the pipeline has dropped the old one.
type renewOnRefusal struct{}

func (renewOnRefusal) Do(req *policy.Request) (*http.Response, error) {
	resp, err := req.Next()
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	if err := req.RewindBody(); err != nil {
		return resp, nil // the refusal stands
	}
	resp.Body.Close()
	return req.Next()
}
