package azure

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"sluice.dev/sluice/cloud"
)

// Inspection is what Azure tells of this installation when it is asked on purpose, beside the groups. An error in it is one sentence.
type Inspection struct {
	Cloud, Subscription, ResourceGroup, Location string

	Identity string // who asks, in words
	ClientID string // of the identity, as its token says; "" when it does not
	Token    error  // why there is no token

	ResourceManager string // its host
	Authority       string // the host of the token authority; "" when tokens come from the machine
	Manager         error  // why Resource Manager gave no answer at all
	Signer          error  // why the authority gave none

	Skew      time.Duration // Azure's clock minus this machine's, to the second
	SkewKnown bool

	Rights      []Right // what the identity may do in the resource group
	RightsError error   // why that is not known

	Discovered bool      // groups are found by their tags
	LeftOut    []LeftOut // what bears the tags and is no group, sorted by name
}

// Right is one of the permissions of an identity: these actions less those. Both may have wildcards.
type Right struct {
	Actions    []string `json:"actions"`
	NotActions []string `json:"notActions"`
}

// LeftOut is a scale set that bears the tags of discovery and is no node group.
type LeftOut struct{ Name, Why string }

// Inspect asks for a token, for the time, and for what the identity may do. It is for a person who waits: it goes past the caches, and
// spends two requests. What groups are left out is known after a call of Groups.
func (p *Provider) Inspect(ctx context.Context) Inspection {
	o := p.options
	in := Inspection{
		Cloud: o.where.Name, Subscription: o.Subscription, ResourceGroup: o.ResourceGroup, Location: o.Location,
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
		in.Token = plainly(p.wrap("", "get a token", err))
		if e := p.wrap("", "get a token", err); in.Authority != "" && silent(e) {
			in.Signer = plainly(e)
		}
		return in
	}
	in.ClientID = applicationOf(token)
	p.askRights(ctx, &in)

	p.mu.Lock()
	defer p.mu.Unlock()
	for name, why := range p.warned {
		in.LeftOut = append(in.LeftOut, LeftOut{name, why})
	}
	slices.SortFunc(in.LeftOut, func(a, b LeftOut) int { return strings.Compare(a.Name, b.Name) })
	return in
}

// plainly is the sentence alone: its code stands in it where Azure gave one.
func plainly(e *cloud.Error) error { return errors.New(e.Error()) }

// silent says whether the other side gave no answer at all.
func silent(e *cloud.Error) bool {
	return e.Code == unreachable || e.Code == noAnswer || e.Code == connectionLost
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
func (p *Provider) askRights(ctx context.Context, in *Inspection) {
	next := fmt.Sprintf("%s/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Authorization/permissions?api-version=%s",
		p.options.ResourceManagerEndpoint, url.PathEscape(in.Subscription), url.PathEscape(in.ResourceGroup), permissionsVersion)
	for pages := 0; next != "" && pages < maxPages; pages++ {
		var page struct {
			Next  string  `json:"nextLink"`
			Value []Right `json:"value"`
		}
		req, err := runtime.NewRequest(ctx, http.MethodGet, next)
		if err != nil {
			in.RightsError = err
			return
		}
		began := p.now()
		resp, err := p.pipeline.Do(req) //nolint:bodyclose // the pipeline has read and closed it
		if err == nil {
			if date, e := http.ParseTime(resp.Header.Get("Date")); e == nil {
				middle := began.Add(p.now().Sub(began) / 2)
				in.Skew, in.SkewKnown = date.Sub(middle).Round(time.Second), true
			}
			if resp.StatusCode != http.StatusOK {
				err = runtime.NewResponseError(resp)
			} else {
				err = runtime.UnmarshalAsJSON(resp, &page)
			}
		}
		if err != nil {
			e := p.wrap("", "read the permissions of the identity", err)
			in.RightsError = plainly(e)
			if silent(e) {
				in.Manager = in.RightsError
			}
			return
		}
		in.Rights = append(in.Rights, page.Value...)
		next = page.Next
	}
}
