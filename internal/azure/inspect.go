package azure

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/internal/imds"
)

// Inspection is what Azure tells of this installation when it is asked on purpose, beside the groups. An error in it is one sentence, and wraps
// what failed: an [*imds.Error], a refusal with its [Status], an [*AnotherAnswer], or an error of the net and tls packages.
type Inspection struct {
	Identity string // who asks, in words
	ClientID string // of the identity, as its token says; "" when it does not
	Token    error  // why there is no token

	ResourceManager string // its host
	Authority       string // the host of the token authority; "" when tokens come from the machine
	Manager         error  // why Resource Manager gave no answer of its own, or one that it fails
	Signer          error  // the same of the authority

	Skew      time.Duration // Azure's clock minus this machine's, to the second
	SkewKnown bool

	Rights      []Right // what the identity may do in the resource group
	RightsError error   // why that is not known

	Discovered bool // groups are found by their tags
}

// AnotherAnswer is an answer in the place of Azure's: a proxy's page, for example.
type AnotherAnswer struct {
	Host   string
	Status int
	Type   string // of the content; "" when it has none
}

// Error is one sentence.
func (e *AnotherAnswer) Error() string {
	return fmt.Sprintf("%s answers %d %s as %s, where Azure answers as JSON: something between answers in its place", e.Host, e.Status, http.StatusText(e.Status), cmp.Or(e.Type, "no known type"))
}

// anotherAnswer is the error of an answer that is not JSON, nil for one that is or that is empty.
func anotherAnswer(resp *http.Response) error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if strings.HasSuffix(kind, "json") || kind == "" && resp.ContentLength == 0 {
		return nil
	}
	return &AnotherAnswer{Host: resp.Request.URL.Host, Status: resp.StatusCode, Type: kind}
}

// Right is one of the permissions of an identity: these actions less those. Both may have wildcards.
type Right struct {
	Actions    []string `json:"actions"`
	NotActions []string `json:"notActions"`
}

// LeftOut is a scale set that bears the tags of discovery and is no node group.
type LeftOut struct{ Name, Why string }

// Inspect asks for a token, for the time, and for what the identity may do. It is for a person who waits: it goes past the caches, and
// spends two requests. Without a token it asks whether Resource Manager and the authority answer at all.
func (p *Provider) Inspect(ctx context.Context) Inspection {
	o := p.options
	in := Inspection{
		Identity: o.Identity.String(), ResourceManager: hostOf(o.ResourceManagerEndpoint), Discovered: len(o.Discovery) > 0,
	}
	if o.Identity.Application() {
		in.Authority = hostOf(o.AuthorityHost)
	}
	if in.Identity == (Identity{}).String() {
		in.Identity = "the machine's identity" // its own, or the only one that is assigned to it
	}
	token, err := p.tokens.from.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{strings.TrimSuffix(o.where.Audience, "/") + "/.default"}})
	if err != nil {
		e := p.wrap("", "get a token", err)
		in.Token = plainly(e, err, in.ResourceManager)
		in.Manager = p.answers(ctx, o.ResourceManagerEndpoint+"/metadata/endpoints?api-version=2019-05-01")
		if in.Authority != "" {
			in.Signer = p.answers(ctx, o.AuthorityHost+"/"+url.PathEscape(o.Identity.Tenant)+"/v2.0/.well-known/openid-configuration")
		}
		return in
	}
	in.ClientID = applicationOf(token)
	p.askRights(ctx, &in)
	return in
}

// Place is where the provider works. The location is "" when nothing says it.
type Place struct{ Cloud, Subscription, ResourceGroup, Location string }

// Place is known from the start.
func (p *Provider) Place() Place {
	o := p.options
	return Place{o.where.Name, o.Subscription, o.ResourceGroup, o.Location}
}

// LeftOut is what bears the tags of discovery and is no group, sorted by name, as the last call of Groups found it.
func (p *Provider) LeftOut() (all []LeftOut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, why := range p.rounds.warned {
		all = append(all, LeftOut{name, why})
	}
	slices.SortFunc(all, func(a, b LeftOut) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// answers asks for a page that anybody may read. An answer that refuses is one, too.
func (c *client) answers(ctx context.Context, address string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := c.options.client().Do(req)
	if err != nil {
		return &inspectionError{NoAnswer(err, req.URL.Host), err}
	}
	defer resp.Body.Close()
	if err := anotherAnswer(resp); err != nil {
		return err
	}
	if resp.StatusCode >= 500 {
		return &inspectionError{fmt.Sprintf("%s answers %d %s", req.URL.Host, resp.StatusCode, http.StatusText(resp.StatusCode)), runtime.NewResponseError(resp)}
	}
	return nil
}

// inspectionError is a sentence with what failed.
type inspectionError struct {
	sentence string
	failed   error
}

func (e *inspectionError) Error() string { return e.sentence }
func (e *inspectionError) Unwrap() error { return e.failed }

// Status is the HTTP status of the refusal behind an error of Azure's, 0 when there is none. A sign-in that fails because nobody can sign in
// just now, or not so often, counts as well; one that is refused says nothing of rights at Azure.
func Status(err error) int {
	if answered := new(azcore.ResponseError); errors.As(err, &answered) {
		return answered.StatusCode
	}
	if login := new(azidentity.AuthenticationFailedError); errors.As(err, &login) && login.RawResponse != nil {
		if status := login.RawResponse.StatusCode; status == http.StatusTooManyRequests || status >= 500 {
			return status
		}
	}
	return 0
}

// plainly is the sentence, in which its code stands where Azure gave one, and what failed.
func plainly(e *cloud.Error, failed error, host string) error {
	if another := new(AnotherAnswer); errors.As(failed, &another) {
		return another
	}
	sentence := e.Error()
	switch machine := new(imds.Error); {
	case errors.As(failed, &machine):
		sentence = machine.Message
	case e.Code == unreachable, e.Code == noAnswer, e.Code == connectionLost, e.Code == unreadable:
		sentence = NoAnswer(failed, host)
	case e.Code == noToken:
		sentence = e.Message // the code is sluice's own
		if unasked := new(unansweredSignIn); errors.As(failed, &unasked) {
			if _, _, remedy := broken(unasked.lost, host); remedy != "" {
				sentence = strings.TrimSuffix(sentence, ": "+remedy) // whoever inspects has remedies of their own
			}
		}
	}
	return &inspectionError{sentence, failed}
}

// applicationOf reads the client id out of a token, "" when the token does not show it. Nothing is verified: it is for people to read.
func applicationOf(t azcore.AccessToken) string {
	parts := strings.Split(t.Token, ".")
	if len(parts) != 3 {
		return ""
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		AppID string `json:"appid"`
	}
	if err != nil || json.Unmarshal(raw, &claims) != nil {
		return ""
	}
	return claims.AppID
}

// permissionsVersion is the api-version of Microsoft.Authorization/permissions.
const permissionsVersion = "2022-04-01"

// askRights asks what the identity may do in the resource group. The answer's date is Azure's time.
func (c *client) askRights(ctx context.Context, in *Inspection) {
	next := fmt.Sprintf("%s/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Authorization/permissions?api-version=%s",
		c.options.ResourceManagerEndpoint, url.PathEscape(c.options.Subscription), url.PathEscape(c.options.ResourceGroup), permissionsVersion)
	links := links{}
	for next != "" {
		var page struct {
			Next  string  `json:"nextLink"`
			Value []Right `json:"value"`
		}
		req, err := runtime.NewRequest(ctx, http.MethodGet, next)
		if err != nil {
			in.RightsError = err
			return
		}
		if err := links.follow(next); err != nil {
			in.RightsError = plainly(c.wrap("", "read the permissions of the identity", err), err, in.ResourceManager)
			return
		}
		began := c.now()
		resp, err := c.pipeline.Do(req) //nolint:bodyclose // the pipeline has read and closed it
		if err == nil {
			if date, e := http.ParseTime(resp.Header.Get("Date")); e == nil {
				middle := began.Add(c.now().Sub(began) / 2)
				in.Skew, in.SkewKnown = date.Sub(middle).Round(time.Second), true
			}
			switch another := anotherAnswer(resp); {
			case another != nil:
				err = another
			case resp.StatusCode != http.StatusOK:
				err = runtime.NewResponseError(resp)
			default:
				err = runtime.UnmarshalAsJSON(resp, &page)
			}
		}
		if err != nil {
			e := c.wrap("", "read the permissions of the identity", err)
			in.RightsError = plainly(e, err, in.ResourceManager)
			if status := Status(err); status == 0 || status >= 500 {
				in.Manager = in.RightsError
			}
			return
		}
		in.Rights = append(in.Rights, page.Value...)
		next = page.Next
	}
}
