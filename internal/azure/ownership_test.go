package azure_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azuresim"
)

// insights answers for autoscale settings, and lets everything else through.
type insights struct {
	http.RoundTripper
	status int    // of the answer; 0 is 200
	body   string // of the answer
	asked  int
}

func (i *insights) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.Contains(strings.ToLower(r.URL.Path), "/providers/microsoft.insights/autoscalesettings") {
		return i.RoundTripper.RoundTrip(r)
	}
	i.asked++
	status := i.status
	if status == 0 {
		status = http.StatusOK
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(i.body)), Request: r}, nil
}

// driving is the list with one setting for a scale set.
func driving(set, enabled string) string {
	return fmt.Sprintf(`{"value":[{"name":"night","properties":{%s"targetResourceUri":"/SUBSCRIPTIONS/%s/resourcegroups/farm/providers/Microsoft.Compute/virtualMachineScaleSets/%s"}}]}`, enabled, subscription, set)
}

func TestAScaleSetThatSomebodyElseScalesIsRefused(t *testing.T) {
	const driven = `scale set "agents" is scaled by the autoscale setting "night", which removes machines by number: disable or delete the setting, or give --manage-autoscaled-scale-sets`
	const ofAKS = `scale set "agents" belongs to AKS (tag aks-managed-poolName), which scales it itself: use the cluster autoscaler of AKS, or give --manage-aks-scale-sets`
	aks := tagged("agents", 2, "aks-managed-poolName=x", "cluster-autoscaler-enabled=true", "min=0", "max=5")
	plain := tagged("agents", 2, "cluster-autoscaler-enabled=true", "min=0", "max=5")
	for name, tc := range map[string]struct {
		set     azuresim.ScaleSet
		list    string
		flags   func(*azure.Options)
		problem string
	}{
		"nobody":                            {plain, `{"value":[]}`, nil, ""},
		"an enabled setting":                {plain, driving("Agents", `"enabled":true,`), nil, driven},
		"a setting that says nothing of it": {plain, driving("agents", ""), nil, driven},
		"a setting that is switched off":    {plain, driving("agents", `"enabled":false,`), nil, ""},
		"a setting for another":             {plain, driving("other", `"enabled":true,`), nil, ""},
		"told to manage it anyway":          {plain, driving("agents", `"enabled":true,`), func(o *azure.Options) { o.ManageAutoscaled = true }, ""},
		"AKS":                               {aks, `{"value":[]}`, nil, ofAKS},
		"AKS, told to manage it":            {aks, `{"value":[]}`, func(o *azure.Options) { o.ManageAKS = true }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, named := range []bool{true, false} {
				w := newWorld(t, tc.set)
				o := w.options()
				if named {
					o = w.options("0:5:agents")
				}
				o.Transport = &insights{RoundTripper: o.Transport, body: tc.list}
				if tc.flags != nil {
					tc.flags(&o)
				}
				w.open(o)
				g := w.groups()["agents"]
				if g == nil || g.Problem != tc.problem || g.Usable() != (tc.problem == "") {
					t.Errorf("named %t: agents is %+v, want problem %q", named, g, tc.problem)
				}
				_, err := w.Group(context.Background(), "agents")
				if (cloud.KindOf(err) == cloud.Invalid) != (tc.problem != "") {
					t.Errorf("named %t: a read for a write gives %v", named, err)
				}
			}
		})
	}
}

func TestAllOfAnAKSResourceGroupIsRefused(t *testing.T) {
	s := set("agents", 1)
	s.ResourceGroup = "mc_farm_aks_westeurope"
	w := newWorld(t, s)
	o := w.options("0:5:agents")
	o.Subscription, o.ResourceGroup = subscription, s.ResourceGroup
	w.open(o)
	if got := w.groups()["agents"].Problem; !strings.Contains(got, `belongs to AKS (resource group "mc_farm_aks_westeurope")`) {
		t.Errorf("problem %q", got)
	}
}

func TestAutoscaleSettingsAreReadRarely(t *testing.T) {
	w := newWorld(t, set("agents", 2))
	o := w.options("0:5:agents")
	i := &insights{RoundTripper: o.Transport, body: `{"value":[]}`}
	o.Transport = i
	w.open(o)
	w.groups()
	if i.asked != 1 {
		t.Errorf("the first cycle asked %d times, want 1", i.asked)
	}
	i.body = driving("agents", "")
	w.pass(9 * time.Minute)
	if i.asked != 1 || w.groups()["agents"].Problem != "" {
		t.Errorf("after 9 minutes: asked %d times, agents %+v", i.asked, w.groups()["agents"])
	}
	w.pass(2 * time.Minute)
	if g := w.groups()["agents"]; i.asked != 2 || g.Problem == "" {
		t.Errorf("after 11 minutes: asked %d times, agents %+v, want a second question and the new setting seen", i.asked, g)
	}
}

func TestSettingsThatCouldNotBeReadForAMomentAreSoonKnown(t *testing.T) {
	w := newWorld(t, set("agents", 2))
	o := w.options("0:5:agents")
	i := &insights{RoundTripper: o.Transport, status: 503, body: `{"error":{"code":"ServiceUnavailable","message":"no"}}`}
	o.Transport = i
	w.open(o)
	w.groups()
	i.status, i.body = 0, driving("agents", "")
	w.pass(2 * time.Minute)
	if g := w.groups()["agents"]; g.Problem == "" {
		t.Errorf("two minutes after a start at which settings could not be read, agents is %+v: want the setting that drives it seen", g)
	}
}

func TestSettingsThatCannotBeReadStopNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		body   string
		warns  int
	}{
		"no right":             {403, `{"error":{"code":"AuthorizationFailed","message":"no"}}`, 1},
		"trouble":              {500, `{"error":{"code":"InternalServerError","message":"no"}}`, 1},
		"a page":               {200, `<html>`, 1},
		"no such provider":     {404, `{"error":{"code":"InvalidResourceType","message":"no"}}`, 0},
		"it is not registered": {409, `{"error":{"code":"MissingSubscriptionRegistration","message":"no"}}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, set("agents", 2))
			o := w.options("0:5:agents")
			o.Transport = &insights{RoundTripper: o.Transport, status: tc.status, body: tc.body}
			w.open(o)
			w.pass(25 * time.Minute)
			if g := w.groups()["agents"]; !g.Usable() {
				t.Errorf("agents is %+v", g)
			}
			if n := strings.Count(w.log.String(), "Microsoft.Insights/autoscaleSettings/read"); n != tc.warns {
				t.Errorf("%d warnings name the action in 25 minutes, want %d:\n%s", n, tc.warns, w.log.String())
			}
		})
	}
}

func TestWithoutAnySettingAMachineOfTheClusterFindsItsGroups(t *testing.T) {
	w := newWorld(t, tagged("agents", 2, "cluster-autoscaler-enabled=true", "min=1", "max=7"), tagged("other", 1, "min=1", "max=7"), tagged("sizeless", 1, "cluster-autoscaler-enabled=true"))
	w.sim.AnyToken = false
	o := w.options()
	o.Transport = &insights{RoundTripper: o.Transport, body: `{"value":[]}`}
	w.open(o)
	if g := w.groups()["agents"]; len(w.groups()) != 1 || g == nil || !g.Usable() || g.Min != 1 || g.Max != 7 {
		t.Errorf("groups are %+v, want agents from 1 to 7 alone", w.groups())
	}
	for _, want := range []string{
		"the scale sets with the tag cluster-autoscaler-enabled=true", "subscription=" + subscription, "resourceGroup=" + resourceGroup, "location=westeurope",
		"cloud=AzurePublicCloud", `identity="the machine's managed identity" client=`, "group=sizeless",
	} {
		if !strings.Contains(w.log.String(), want) {
			t.Errorf("the log does not say %s:\n%s", want, w.log.String())
		}
	}
}
