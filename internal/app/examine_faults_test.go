package app

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/doctor"
	"sluice.dev/sluice/internal/kubesim"
	"sluice.dev/sluice/policy"
)

const (
	inSubscription = "00000000-0000-0000-0000-000000000001"
	ofTenant       = "00000000-0000-0000-0000-000000000002"
	asClient       = "00000000-0000-0000-0000-000000000003"
	asIdentity     = "/subscriptions/" + inSubscription + "/resourceGroups/farm/providers/Microsoft.ManagedIdentity/userAssignedIdentities/sluice"
)

// A wire answers requests in the place of a service, or leaves them to it.
type wire struct {
	http.RoundTripper
	before func(*http.Request) (*http.Response, error) // nil, nil: the service answers
}

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.before != nil {
		if resp, err := w.before(r); resp != nil || err != nil {
			return resp, err
		}
	}
	return w.RoundTripper.RoundTrip(r)
}

func respond(r *http.Request, status int, kind, body string) (*http.Response, error) {
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}, nil
}

// The ways in which a wire goes wrong.
var (
	noName = func(r *http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: r.URL.Hostname(), IsNotFound: true}}
	}
	noWay = func(*http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	}
	hangs = func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	proxied = func(r *http.Request) (*http.Response, error) {
		return respond(r, http.StatusBadGateway, "text/html", "<html><h1>Bad gateway</h1></html>")
	}
)

// toMetadata has a fault strike instance metadata alone, and toManager all else of Azure.
func toMetadata(fault func(*http.Request) (*http.Response, error)) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		if r.URL.Hostname() == azuresim.MetadataHost {
			return fault(r)
		}
		return nil, nil
	}
}

func toManager(fault func(*http.Request) (*http.Response, error)) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		if r.URL.Hostname() != azuresim.MetadataHost {
			return fault(r)
		}
		return nil, nil
	}
}

// A clinic is a healthy installation in a bubble of synctest: one scale set with one machine, which is a node.
type clinic struct {
	t       *testing.T
	azure   *azuresim.Server
	cluster *kubesim.Cluster

	toAzure, toCluster func(*http.Request) (*http.Response, error) // what goes wrong between; nil for nothing
	options            Options
	examination        Examination
}

func newClinic(t *testing.T) *clinic {
	c := &clinic{t: t, azure: &azuresim.Server{Now: time.Now}, cluster: &kubesim.Cluster{}}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(c.azure.AddIdentity(azuresim.Identity{ID: asIdentity, TenantID: ofTenant, ClientID: asClient}))
	must(c.azure.AddMachine(azuresim.Machine{Subscription: inSubscription, ResourceGroup: "farm", Name: "server-0", Location: "westeurope", Identities: []string{asIdentity}}))
	must(c.azure.AddScaleSet(azuresim.ScaleSet{
		Subscription: inSubscription, ResourceGroup: "farm", Name: "agents", Location: "westeurope",
		Size: "Standard_D4s_v5", VCPUs: 4, Family: "standardDSv5Family", Capacity: 1,
	}))
	time.Sleep(10 * time.Minute) // by the bubble's clock: the machine runs
	for _, m := range c.azure.Machines() {
		if m.ScaleSet != "" {
			must(c.cluster.Join(kubesim.Machine{
				Name: m.ComputerName, ProviderID: "azure://" + m.ID, SystemUUID: m.VMID, InternalIP: m.PrivateIP,
				Labels:   map[string]string{corev1.LabelInstanceTypeStable: m.Size, corev1.LabelTopologyRegion: m.Location, corev1.LabelTopologyZone: "0"},
				Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi")},
			}))
		}
	}
	group, err := azure.ParseGroup("0:3:agents")
	must(err)
	c.options = Options{
		Azure:     azure.Options{Groups: []azure.GroupSpec{group}, Now: time.Now},
		Policy:    policy.Default(),
		Log:       slog.New(slog.DiscardHandler),
		Election:  Election{Namespace: "kube-system", Name: "cluster-autoscaler"},
		Namespace: "kube-system",
	}
	c.examination = Examination{Within: 30 * time.Second}
	return c
}

// reviewer answers who asks, that the account may do everything, and when: kubesim has no authorizer and no clock.
func reviewer(r *http.Request) (*http.Response, error) {
	var review any
	switch {
	case r.URL.Path == "/version":
		resp, err := respond(r, http.StatusOK, "application/json", "{}")
		resp.Header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
		return resp, err
	case strings.HasSuffix(r.URL.Path, "/selfsubjectreviews"):
		who := &authenticationv1.SelfSubjectReview{}
		who.APIVersion, who.Kind, who.Status.UserInfo.Username = "authentication.k8s.io/v1", "SelfSubjectReview", "jane"
		if as := r.Header.Get("Impersonate-User"); as != "" {
			who.Status.UserInfo.Username = as
		}
		review = who
	case strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews"):
		may := &authorizationv1.SelfSubjectAccessReview{}
		may.APIVersion, may.Kind, may.Status.Allowed = "authorization.k8s.io/v1", "SelfSubjectAccessReview", true
		review = may
	default:
		return nil, nil
	}
	text, err := json.Marshal(review)
	if err != nil {
		return nil, err
	}
	return respond(r, http.StatusCreated, "application/json", string(text))
}

// examine is what is found, when each check was told, and how long the whole took.
func (c *clinic) examine() (all []doctor.Finding, told map[string]time.Duration, took time.Duration) {
	c.t.Helper()
	c.options.Azure.Transport = wire{&azuresim.Transport{Server: c.azure, Machine: "server-0"}, c.toAzure}
	if c.examination.Unnamed == nil {
		c.options.Kube = c.cluster.RESTConfig()
		c.options.Kube.Transport = wire{wire{c.options.Kube.Transport, reviewer}, c.toCluster}
	}
	var d doctor.Diagnosis
	began := time.Now()
	told = map[string]time.Duration{}
	c.examination.Learned = func(f doctor.Facts, known func(string) bool) {
		for _, finding := range d.Next(f, known) {
			all = append(all, finding)
			told[finding.Check] = time.Since(began)
		}
	}
	Examine(context.Background(), c.options, c.examination)
	if check, _ := d.Awaits(); check != "" {
		c.t.Errorf("nothing is told of %s", check)
	}
	return all, told, time.Since(began)
}

// TestDoctorNamesOneCauseAndWhatMendsIt has an installation fail in one way, and holds that this is the one finding, that all else is ok or said to
// depend on it, and that the whole ends within its bound while checks that are not struck are told at once.
func TestDoctorNamesOneCauseAndWhatMendsIt(t *testing.T) {
	for name, tc := range map[string]struct {
		breaks  func(*clinic)
		code    string // "": nothing is wrong
		says    string
		remedy  string
		depends string        // on the cause, in order
		atOnce  string        // a check that is told before anything is waited for
		took    time.Duration // by the bubble's clock
	}{
		"nothing": {func(*clinic) {}, "", "", "", "", "nodes", 0},
		"the name of Resource Manager is not resolved": {func(c *clinic) { c.toAzure = toManager(noName) },
			doctor.EndpointUnreachable, "the name management.azure.com cannot be resolved", "DNS", "rights clock groups tags nodes", "identity", 0},
		"no way to Resource Manager": {func(c *clinic) { c.toAzure = toManager(noWay) },
			doctor.EndpointUnreachable, "cannot be reached (connection refused)", "firewall", "rights clock groups tags nodes", "identity", 0},
		"a proxy's page in the place of Azure": {func(c *clinic) { c.toAzure = toManager(proxied) },
			doctor.EndpointUnreachable, "answers 502 Bad Gateway as text/html", "proxy", "rights clock groups tags nodes", "identity", 0},
		"Resource Manager never answers": {func(c *clinic) { c.toAzure = toManager(hangs) },
			doctor.EndpointUnreachable, "gave no answer in time", "--timeout", "rights clock groups tags nodes", "metadata", 30 * time.Second},
		"a scale set that is not there": {func(c *clinic) { c.options.Azure.Groups[0].Name = "agnts" },
			doctor.GroupUnreadable, "agnts", "correct the name in --nodes", "tags nodes", "clock", 0},
		"Azure refuses every read": {func(c *clinic) {
			c.azure.Inject(azuresim.Fault{Kind: "*virtualMachineScaleSets*", Status: http.StatusForbidden, Code: "AuthorizationFailed"})
			c.azure.Inject(azuresim.Fault{Kind: "*permissions*", Status: http.StatusForbidden, Code: "AuthorizationFailed"})
		}, doctor.RightMissing, "AuthorizationFailed", "deploy/azure-role.json", "groups tags nodes", "kubernetes", 0},
		"Azure refuses the groups": {func(c *clinic) {
			if err := c.azure.Deny(asClient, "Microsoft.Compute/virtualMachineScaleSets/read"); err != nil {
				c.t.Fatal(err)
			}
		}, doctor.RightMissing, "virtualMachineScaleSets/read", "deploy/azure-role.json", "groups tags nodes", "kubernetes", 0},
		"instance metadata never answers": {func(c *clinic) { c.toAzure = toMetadata(hangs) },
			doctor.MetadataSilent, "does not answer (nothing came in time)", "hostNetwork", "endpoints identity rights clock groups tags nodes", "configuration", 10 * time.Second},
		"instance metadata is being updated": {func(c *clinic) {
			c.toAzure = toMetadata(func(r *http.Request) (*http.Response, error) {
				return respond(r, http.StatusGone, "application/json", `{"error":"gone"}`)
			})
		}, doctor.MetadataSilent, "refused with 410", "two minutes", "endpoints identity rights clock groups tags nodes", "configuration", placeWithin},
		"no cluster and no Azure": {func(c *clinic) { c.toAzure, c.examination.Unnamed = toMetadata(noWay), ErrNoCluster },
			doctor.NothingNamed, "nothing names a cluster or an Azure", "sluice simulate testdata/", "metadata endpoints identity rights kubernetes clock groups tags nodes", "", 0},
		"no API server is named": {func(c *clinic) { c.examination.Unnamed = ErrNoCluster },
			doctor.ClusterUnnamed, "no API server is named", "kubeconfig", "kubernetes clock nodes", "identity", 0},
		"a kubeconfig that is not there": {func(c *clinic) { c.examination.Unnamed = errors.New("--kubeconfig=/nowhere: no such file") },
			doctor.ClusterUnnamed, "/nowhere", "kubeconfig", "kubernetes clock nodes", "identity", 0},
		"the API server never answers": {func(c *clinic) { c.toCluster = hangs },
			doctor.ClusterUnreachable, "kubesim.invalid gave no answer in time", "--timeout", "clock nodes", "rights", 30 * time.Second},
		"no way to the API server": {func(c *clinic) { c.toCluster = noWay },
			doctor.ClusterUnreachable, "kubesim.invalid cannot be reached (connection refused)", "firewall", "clock nodes", "rights", 0},
		"the name of the API server is not resolved": {func(c *clinic) { c.toCluster = noName },
			doctor.ClusterUnreachable, "cannot be resolved", "DNS", "clock nodes", "rights", 0},
		"a proxy's page in the place of the API server": {func(c *clinic) { c.toCluster = proxied },
			doctor.ClusterUnreachable, "kubesim.invalid answers 502 as no API server does", "proxy", "clock nodes", "rights", 0},
		"the API server does not know who asks": {func(c *clinic) {
			c.toCluster = func(r *http.Request) (*http.Response, error) {
				return respond(r, http.StatusUnauthorized, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}`)
			}
		}, doctor.ClusterUnreachable, "Unauthorized", "token or certificate", "clock nodes", "rights", 0},
		"an account that may not be impersonated": {func(c *clinic) {
			c.examination.As = "robot"
			c.toCluster = func(r *http.Request) (*http.Response, error) {
				return respond(r, http.StatusForbidden, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"User \"jane\" cannot impersonate robot","reason":"Forbidden","code":403}`)
			}
		}, doctor.AccountNotAssumed, "cannot impersonate robot", "kubeconfig that may impersonate", "clock nodes", "rights", 0},
		"an API server of before the question who asks": {func(c *clinic) {
			c.toCluster = func(r *http.Request) (*http.Response, error) {
				if strings.HasSuffix(r.URL.Path, "/selfsubjectreviews") {
					return respond(r, http.StatusNotFound, "text/plain", "404 page not found\n")
				}
				return nil, nil
			}
		}, "", "", "", "", "nodes", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClinic(t)
				tc.breaks(c)
				all, told, took := c.examine()
				cause, depends := 0, []string{}
				for _, f := range all {
					switch {
					case f.Cause != "":
						depends = append(depends, f.Check)
					case f.Code == tc.code && f.Code != "":
						cause++
						if !strings.Contains(f.Message, tc.says) || !strings.Contains(f.Remedy, tc.remedy) {
							t.Errorf("%s; %s: want it to say %q, and what mends it %q", f.Message, f.Remedy, tc.says, tc.remedy)
						}
					case f.Status != doctor.OK:
						t.Errorf("found %+v", f)
					}
				}
				if want := map[bool]int{true: 1}[tc.code != ""]; cause != want {
					t.Errorf("the cause is told %d times, want %d: %+v", cause, want, all)
				}
				if got := strings.Join(depends, " "); got != tc.depends {
					t.Errorf("depend on it: %s, want %s", got, tc.depends)
				}
				if took != tc.took {
					t.Errorf("it took %s, want %s", took, tc.took)
				}
				if tc.atOnce != "" && told[tc.atOnce] != 0 {
					t.Errorf("%s is told after %s", tc.atOnce, told[tc.atOnce])
				}
			})
		})
	}
}

// TestAnotherAccountIsAskedAsThatAccount holds that every request says on whose behalf it is made.
func TestAnotherAccountIsAskedAsThatAccount(t *testing.T) {
	const account = "system:serviceaccount:kube-system:sluice"
	synctest.Test(t, func(t *testing.T) {
		c := newClinic(t)
		c.examination.As = account
		var asked atomic.Bool
		c.toCluster = func(r *http.Request) (*http.Response, error) {
			if asked.Store(true); r.Header.Get("Impersonate-User") != account {
				t.Errorf("%s is asked as %q", r.URL.Path, r.Header.Get("Impersonate-User"))
			}
			return nil, nil
		}
		all, _, _ := c.examine()
		if !asked.Load() {
			t.Error("nothing was asked")
		}
		if !slices.ContainsFunc(all, func(f doctor.Finding) bool {
			return f.Check == "kubernetes" && strings.Contains(f.Message, "grants "+account+" the")
		}) {
			t.Errorf("does not say whose rights they are: %+v", all)
		}
	})
}
