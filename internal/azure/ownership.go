package azure

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
)

// ownership finds node groups as its source does, and makes those unfit that somebody else scales already: a platform autoscale
// setting, which shrinks by number and so chooses victims of its own (S-10), or AKS, which takes back what others do to its pools.
type ownership struct {
	source
	options  Options
	pipeline runtime.Pipeline
	life     context.Context // of what nobody waits for
	wrap     func(group cluster.GroupID, doing string, err error) *cloud.Error

	mu       sync.Mutex
	next     time.Time         // the settings are not asked for before
	answered chan struct{}     // closed when they have been; nil before the first question
	known    bool              // they have been asked for once
	timedOut bool              // the last question had no answer in time
	drivers  map[string]string // the name of the enabled setting that drives a scale set, by its resource id in lower case
	warned   string            // what was last said about settings that cannot be read
}

const (
	// settingsEvery is how often autoscale settings are read: people make them by hand.
	settingsEvery = 10 * time.Minute
	// settingsAgain is how soon they are read again after an answer that will be another one soon.
	settingsAgain = time.Minute
	// settingsWithin bounds the question, which groups and evidence for writes wait for.
	settingsWithin = 10 * time.Second
)

func (o *ownership) models(ctx context.Context) ([]*model, error) {
	found, err := o.source.models(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range found {
		o.judge(ctx, m)
	}
	return found, nil
}

func (o *ownership) model(ctx context.Context, name string) (*model, error) {
	m, err := o.source.model(ctx, name)
	if err == nil {
		o.judge(ctx, m)
	}
	return m, err
}

// judge says in a model that nobody else has seen yet who else scales it.
func (o *ownership) judge(ctx context.Context, m *model) {
	if m.unfit != "" {
		return
	}
	if why := ofAKS(o.options.ResourceGroup, m.tags); why != "" && !o.options.ManageAKS {
		m.unfit = fmt.Sprintf("%s %q belongs to AKS (%s), which scales it itself: use the cluster autoscaler of AKS, or give --manage-aks-scale-sets", o.noun(), m.name, why)
		return
	}
	if o.options.ManageAutoscaled || m.resource == "" {
		return
	}
	if setting, driven := o.settings(ctx)[strings.ToLower(m.resource)]; driven {
		m.unfit = fmt.Sprintf("%s %q is scaled by the autoscale setting %q, which removes machines by number: disable or delete the setting, or give --manage-autoscaled-scale-sets", o.noun(), m.name, setting)
	}
}

// ofAKS says by what a group is known to be one of AKS; "" when it is none.
func ofAKS(resourceGroup string, tags map[string]string) string {
	if len(resourceGroup) > 3 && strings.EqualFold(resourceGroup[:3], "MC_") {
		return fmt.Sprintf("resource group %q", resourceGroup)
	}
	var names []string
	for name := range tags {
		if strings.HasPrefix(strings.ToLower(name), "aks-managed-") {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "tag " + slices.Min(names)
}

// settings are the scale sets that autoscale settings of the resource group drive. They are asked for at the first call and then rarely. The first
// answer is waited for, later ones for a moment: until they come, what was known serves.
func (o *ownership) settings(ctx context.Context) map[string]string {
	o.mu.Lock()
	now := o.options.Now()
	asks := !now.Before(o.next)
	if asks {
		o.next, o.answered = now.Add(settingsEvery), make(chan struct{})
	}
	answered, wait := o.answered, leastWait
	switch {
	case !o.known:
		wait = settingsWithin
	case o.timedOut || !asks:
		wait = 0
	}
	o.mu.Unlock()
	if asks {
		o.options.Runner.Go(o.life, func(ctx context.Context) { o.ask(ctx, now, answered) })
	}
	o.options.Runner.Await(ctx, answered, wait)
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.drivers
}

// ask asks for the settings. What cannot be read stays as it was known: an operator who withholds the right to read it has one warning, and
// no check.
func (o *ownership) ask(ctx context.Context, now time.Time, answered chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, settingsWithin)
	defer cancel()
	drivers, err := o.listSettings(ctx)
	var fault *cloud.Error
	if err != nil {
		fault = o.wrap("", "list autoscale settings", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	defer close(answered)
	o.known, o.timedOut = true, fault != nil && fault.Code == noAnswer
	var refused *azcore.ResponseError
	switch {
	case err == nil:
		o.drivers, o.warned = drivers, ""
	case errors.As(err, &refused) && (refused.StatusCode == http.StatusNotFound || refused.ErrorCode == "MissingSubscriptionRegistration" || refused.ErrorCode == "NoRegisteredProviderFound"):
		o.drivers = nil // a cloud or a subscription without Microsoft.Insights has no settings
	default:
		if fault.Kind != cloud.Unauthorized {
			o.next = now.Add(max(settingsAgain, fault.RetryAfter))
		}
		if said := fault.Error(); said != o.warned && fault.Code != shareSpent {
			o.warned = said
			o.options.Log.Warn("autoscale settings cannot be read, so that scale sets which they drive go unnoticed: allow Microsoft.Insights/autoscaleSettings/read", "err", said)
		}
	}
}

// settingsVersion is the api-version of Microsoft.Insights/autoscaleSettings.
const settingsVersion = "2022-10-01"

// autoscaleSetting is one of them.
type autoscaleSetting struct {
	Name       string `json:"name"`
	Properties struct {
		Enabled *bool  `json:"enabled"` // absent is true
		Target  string `json:"targetResourceUri"`
	} `json:"properties"`
}

func (o *ownership) listSettings(ctx context.Context) (map[string]string, error) {
	all, err := collect[autoscaleSetting](ctx, o.pipeline, fmt.Sprintf("%s/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Insights/autoscaleSettings?api-version=%s",
		o.options.ResourceManagerEndpoint, url.PathEscape(o.options.Subscription), url.PathEscape(o.options.ResourceGroup), settingsVersion))
	if err != nil {
		return nil, err
	}
	drivers := map[string]string{}
	for _, s := range all {
		if s.Properties.Target != "" && (s.Properties.Enabled == nil || *s.Properties.Enabled) {
			drivers[strings.ToLower(s.Properties.Target)] = s.Name
		}
	}
	return drivers, nil
}
