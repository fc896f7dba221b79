package azure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/imds"
)

func selector(i Identity) imds.Selector {
	if i.ResourceID() {
		return imds.Selector{ResourceID: i.UserAssigned}
	}
	return imds.Selector{ClientID: i.UserAssigned}
}

// check refuses half an application.
func check(i Identity) error {
	if !i.Application() {
		return nil
	}
	if i.UserAssigned != "" {
		return fmt.Errorf("identity: both a user-assigned identity and a service principal are given: give one of them")
	}
	unproven := i.Secret == "" && i.CertificateFile == "" && i.TokenFile == ""
	for _, f := range []struct {
		field   string
		missing bool
	}{{"tenant", i.Tenant == ""}, {"client id", i.Client == ""}, {"client secret", unproven}} {
		if f.missing {
			return fmt.Errorf("identity: the service principal has no %s: give tenant, client id and client secret, or none of them", f.field)
		}
	}
	return nil
}

// credential is the identity's source of tokens: of several proofs the first of federated token, secret and certificate. No request of
// it goes anywhere but to the authority: MSAL asks for no description of other authorities, and an answer that links elsewhere is
// not followed.
func (o Options) credential() (azcore.TokenCredential, error) {
	i := o.Identity
	if i.CLI {
		c, err := azidentity.NewAzureCLICredential(&azidentity.AzureCLICredentialOptions{Subscription: o.Subscription}) // az takes no tenant beside it
		if err != nil {
			return nil, fmt.Errorf("sign in by az: %w", err)
		}
		return c, nil
	}
	if !i.Application() {
		return &managedIdentity{client: o.metadata(), who: selector(i), log: o.Log}, nil
	}
	const noDiscovery = true // the authority is the operator's word, or a known cloud's: nobody else has to vouch for it
	options := azcore.ClientOptions{
		Cloud: o.cloud(), Transport: o.client(), Retry: policy.RetryOptions{MaxRetries: -1, TryTimeout: tryTimeout}, Telemetry: o.telemetry(),
		PerCallPolicies: []policy.Policy{onlyHost(hostOf(o.AuthorityHost))}, PerRetryPolicies: []policy.Policy{keepsLoss{}},
	}
	var c azcore.TokenCredential
	var err error
	switch {
	case i.TokenFile != "":
		c, err = azidentity.NewClientAssertionCredential(i.Tenant, i.Client, tokenIn(i.TokenFile),
			&azidentity.ClientAssertionCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: noDiscovery})
	case i.Secret != "":
		c, err = azidentity.NewClientSecretCredential(i.Tenant, i.Client, string(i.Secret),
			&azidentity.ClientSecretCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: noDiscovery})
	default:
		c, err = byCertificate(i, options, noDiscovery)
	}
	if err != nil {
		return nil, fmt.Errorf("identity %s: %w", i, err)
	}
	return application{c}, nil
}

// application is a service principal's source of tokens. The error of azidentity is a text alone, whose first line names no cause where the
// authority gave no answer: so the cause is kept beside.
type application struct{ azcore.TokenCredential }

// GetToken gives an [unansweredSignIn] where the request got no answer.
func (a application) GetToken(ctx context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	var lost error
	t, err := a.TokenCredential.GetToken(context.WithValue(ctx, lossKey{}, &lost), o)
	if login := new(azidentity.AuthenticationFailedError); lost != nil && errors.As(err, &login) && login.RawResponse == nil {
		return t, &unansweredSignIn{login, lost}
	}
	return t, err
}

// unansweredSignIn is a failed sign-in and why there was no answer.
type unansweredSignIn struct {
	*azidentity.AuthenticationFailedError
	lost error
}

func (e *unansweredSignIn) Unwrap() []error { return []error{e.AuthenticationFailedError, e.lost} }

// lossKey is of the error of the last request that a sign-in has made, in its context.
type lossKey struct{}

// keepsLoss keeps the error of a request that got no answer for who signs in.
type keepsLoss struct{}

func (keepsLoss) Do(req *policy.Request) (*http.Response, error) {
	resp, err := req.Next()
	if lost, is := req.Raw().Context().Value(lossKey{}).(*error); is {
		*lost = err
	}
	return resp, err
}

// tokenSource is who gives tokens, in a sentence.
func (o Options) tokenSource() string {
	if o.Identity.CLI {
		return "az, which gives tokens,"
	}
	at := o.AuthorityHost
	if !o.Identity.Application() {
		at = cmp.Or(o.IdentityEndpoint, o.MetadataEndpoint)
	}
	return hostOf(at) + ", which gives tokens,"
}

// tokenIn reads the federated token each time it is wanted: the kubelet renews it in place.
func tokenIn(file string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		token, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("AZURE_FEDERATED_TOKEN_FILE=%s: it cannot be read (%w): mount the service account's token there", file, innermost(err))
		}
		return strings.TrimSpace(string(token)), nil
	}
}

// byCertificate sends the whole chain along, so that an application may trust an issuer instead of one certificate.
func byCertificate(i Identity, options azcore.ClientOptions, noDiscovery bool) (azcore.TokenCredential, error) {
	data, err := os.ReadFile(i.CertificateFile)
	if err != nil {
		return nil, fmt.Errorf("aadClientCertPath=%s: it cannot be read (%w): give the path of a PKCS#12 or PEM file", i.CertificateFile, innermost(err))
	}
	certificates, key, err := azidentity.ParseCertificates(data, []byte(i.CertificatePassword))
	if err != nil {
		return nil, fmt.Errorf("aadClientCertPath=%s: it is no certificate with its key (%w): give PKCS#12 with aadClientCertPassword, as openssl pkcs12 -export -legacy makes it, or PEM with an unencrypted key", i.CertificateFile, err)
	}
	return azidentity.NewClientCertificateCredential(i.Tenant, i.Client, certificates, key, &azidentity.ClientCertificateCredentialOptions{
		ClientOptions: options, SendCertificateChain: true, DisableInstanceDiscovery: noDiscovery,
	})
}

// managedIdentity gets tokens from instance metadata. The SDK's own credential keeps one cache of tokens for the whole process, judges
// their age by the wall clock alone and sleeps between retries; here the pipeline's cache is the only one and nothing sleeps.
type managedIdentity struct {
	client   *imds.Client
	who      imds.Selector
	log      *slog.Logger
	reported sync.Once // who the identity turned out to be
	id       atomic.Pointer[string]
}

// names are what the identity is called, in lower case, as far as anybody knows: its client id and its resource id.
func (m *managedIdentity) names() []string {
	all := []string{strings.ToLower(m.who.ClientID), strings.ToLower(m.who.ResourceID)}
	if id := m.id.Load(); id != nil {
		all = append(all, strings.ToLower(*id))
	}
	return slices.DeleteFunc(all, func(name string) bool { return name == "" })
}

// recognize marks what the group has of sluice's own: the machine that it runs on, and its identity.
func (p *Provider) recognize(g *group, out *cluster.Group) {
	if self := p.options.self; self != "" && slices.ContainsFunc(out.Instances, func(in *cluster.Instance) bool { return in.UID == self }) {
		out.Own = self
	}
	if p.identity != nil && g.reading != nil {
		names := p.identity.names()
		out.SignsIn = slices.ContainsFunc(g.reading.model.identities, func(id string) bool { return slices.Contains(names, id) })
	}
}

// GetToken asks once. Half of a token's life is the time to ask for the next, as Azure recommends.
func (m *managedIdentity) GetToken(ctx context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	resource := strings.TrimSuffix(o.Scopes[0], "/.default")
	t, err := m.client.Token(ctx, resource, m.who)
	if err != nil {
		return azcore.AccessToken{}, err
	}
	m.reported.Do(func() {
		m.id.Store(&t.ClientID)
		m.log.Info("signed in with a managed identity", "identity", m.who.String(), "client", t.ClientID)
	})
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
