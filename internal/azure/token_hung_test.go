package azure_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azuresim"
)

// twenty are so many groups, with their flags.
func twenty() (sets []azuresim.ScaleSet, flags []string) {
	for i := range 20 {
		name := fmt.Sprintf("g%02d", i)
		sets, flags = append(sets, set(name, 1)), append(flags, "0:9:"+name)
	}
	return sets, flags
}

// TestWhoeverGivesNoTokensHoldsUpTheLoopOnce has what gives tokens accept requests and never answer, at the start or when the token has ended: one look is
// slow, all say who does not answer, and when it does everything goes on.
func TestWhoeverGivesNoTokensHoldsUpTheLoopOnce(t *testing.T) {
	principal := azure.Identity{Tenant: "00000000-0000-0000-0000-00000000000a", Client: "app", Secret: "open sesame"}
	sets, flags := twenty()
	for name, tc := range map[string]struct {
		identity azure.Identity
		kind     string
		life     time.Duration // of a token
		at       time.Duration // after the first look that the trouble begins; 0: before it
		slow     time.Duration // the first look
		source   string
		sentence string // once the request is given up
	}{
		"instance metadata at the start": {azure.Identity{}, "GET metadata/identity", 24 * time.Hour, 0, 5 * time.Second, "169.254.169.254, which gives tokens, has not answered yet", "instance metadata at http://169.254.169.254 does not answer"},
		"instance metadata at the end of a token": {azure.Identity{}, "GET metadata/identity", 24 * time.Hour, 25 * time.Hour, 2 * time.Second,
			"169.254.169.254, which gives tokens, has not answered yet", "instance metadata at http://169.254.169.254 does not answer"},
		"an authority at the start": {principal, "POST token", time.Hour, 0, 5 * time.Second, "login.microsoftonline.com, which gives tokens, has not answered yet", "app of tenant"},
		"an authority at the end of a token": {principal, "POST token", time.Hour, 2 * time.Hour, 2 * time.Second,
			"login.microsoftonline.com, which gives tokens, has not answered yet", "app of tenant"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w waiting) {
				o := w.options(flags...)
				o.Subscription, o.ResourceGroup, o.Identity = subscription, resourceGroup, tc.identity
				w.must(w.sim.AddServicePrincipal(azuresim.ServicePrincipal{TenantID: principal.Tenant, ClientID: "app", Secret: string(principal.Secret)}))
				w.begin(o)
				if tc.at > 0 {
					w.groups()
					time.Sleep(tc.at)
				}
				asked := w.sim.Counters()[tc.kind]
				w.sim.Inject(azuresim.Fault{Kind: tc.kind, Hang: true})
				for look := range 30 {
					groups, took := w.look()
					if want := map[bool]time.Duration{true: tc.slow}[look == 0]; took != want {
						t.Errorf("look %d took %s, want %s", look, took, want)
					}
					said := map[string]bool{}
					for id, g := range groups {
						switch {
						case g.Problem == "":
							t.Errorf("look %d: %s has no problem", look, id)
						case strings.HasSuffix(g.Problem, tc.source):
							said[tc.source] = true
						case strings.Contains(g.Problem, tc.sentence):
							said[tc.sentence] = true
						default:
							t.Errorf("look %d: of %s it is said %q", look, id, g.Problem)
						}
					}
					if look == 0 && !said[tc.source] || look == 10 && !said[tc.sentence] {
						t.Errorf("look %d says %v", look, said)
					}
					time.Sleep(10 * time.Second)
					synctest.Wait()
				}
				if n := w.sim.Counters()[tc.kind] - asked; n < 5 || n > 30 {
					t.Errorf("%d tokens were asked for in five minutes, want one at a time, again and again", n)
				}
				w.sim.ClearFaults()
				for range 6 {
					w.look()
					time.Sleep(10 * time.Second)
					synctest.Wait()
				}
				groups, took := w.look()
				w.wantTook(took, 0)
				w.wantProblems(groups)
			}, sets...)
		})
	}
}

// TestATokenServesWhileItIsBeingRenewed has the renewal hang that half of a token's life is the time for.
func TestATokenServesWhileItIsBeingRenewed(t *testing.T) {
	sets, flags := twenty()
	inBubble(t, func(w waiting) {
		w.begin(w.options(flags...))
		w.groups()
		time.Sleep(12*time.Hour + time.Minute)
		w.sim.Inject(azuresim.Fault{Kind: "GET metadata/identity", Hang: true})
		var all time.Duration
		for range 30 {
			groups, took := w.look()
			w.wantProblems(groups)
			all += took
			if took > 2*time.Second {
				t.Errorf("a look took %s", took)
			}
			time.Sleep(10 * time.Second)
			synctest.Wait()
		}
		if all > 15*time.Second {
			t.Errorf("looks took %s in five minutes, want a second now and then", all)
		}
		w.sim.ClearFaults()
		time.Sleep(time.Minute)
		w.look()
		time.Sleep(time.Minute)
		renewed := w.sim.Counters()["GET metadata/identity"]
		for range 10 {
			groups, took := w.look()
			w.wantProblems(groups)
			w.wantTook(took, 0)
			time.Sleep(time.Minute)
		}
		if n := w.sim.Counters()["GET metadata/identity"] - renewed; n > 1 {
			t.Errorf("%d more tokens were asked for once one was given", n)
		}
	}, sets...)
}

// TestAStartWithoutAnswersEndsWithASentence begins where the service, or a Resource Manager that is to describe its cloud, accepts and never answers.
func TestAStartWithoutAnswersEndsWithASentence(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*azure.Options)
		kind   string
		within time.Duration
		want   string
	}{
		"instance metadata": {func(*azure.Options) {}, "GET metadata/instance", 10 * time.Second, "ARM_SUBSCRIPTION_ID"},
		"the cloud's description": {func(o *azure.Options) {
			o.Subscription, o.ResourceGroup, o.Config.EndpointsFrom = subscription, resourceGroup, "https://management.azure.com"
		}, "*endpoints*", 30 * time.Second, "resourceManagerEndpoint=https://management.azure.com: management.azure.com gave no answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w waiting) {
				o := w.options("0:9:agents")
				tc.change(&o)
				w.sim.Inject(azuresim.Fault{Kind: tc.kind, Hang: true})
				began := time.Now()
				_, err := azure.New(w.life, o)
				if took := time.Since(began); err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") || took != tc.within {
					t.Errorf("after %s: %v, want one sentence with %q after %s", took, err, tc.want, tc.within)
				}
			}, set("agents", 1))
		})
	}
}
