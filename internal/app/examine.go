package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/deploy"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/doctor"
	"sluice.dev/sluice/internal/imds"
	"sluice.dev/sluice/internal/kube"
	"sluice.dev/sluice/internal/report"
)

// Examine gathers what sluice doctor judges. It writes nothing, and what cannot be learned is a fact of its own. Of the options it reads
// how to connect, the policy, the namespace and name of the lease, and the log.
func Examine(ctx context.Context, o Options) doctor.Facts {
	report.BridgeKlog(o.Log)
	var f doctor.Facts
	objects, known := examineKube(ctx, o, &f.Kube)
	f.Groups = examineAzure(ctx, o.Azure, &f.Azure)
	if o.Policy != nil && f.Groups != nil {
		f.Strangers = o.Policy.Strangers(f.Groups)
	}
	if known && f.Groups != nil {
		f.Snapshot = cluster.New(time.Now(), objects, f.Groups)
	}
	return f
}

func examineAzure(ctx context.Context, o azure.Options, facts *doctor.Azure) []*cluster.Group {
	facts.Notes = o.Notes
	o.ReadOnly, o.Whole = true, true
	provider, err := azure.New(ctx, o)
	var machine *imds.Error
	switch {
	case errors.As(err, &machine):
		facts.Metadata = err
		return nil
	case err != nil:
		facts.Config = err
		return nil
	}
	groups, listed := provider.Groups(ctx)
	in := provider.Inspect(ctx)
	facts.Place = doctor.Place{Cloud: in.Cloud, Subscription: in.Subscription, ResourceGroup: in.ResourceGroup, Location: in.Location}
	facts.Identity, facts.ClientID, facts.Token = in.Identity, in.ClientID, in.Token
	if in.Authority != "" {
		facts.Reached = append(facts.Reached, doctor.Reached{Name: "token authority", Host: in.Authority, Err: in.Signer})
	}
	if in.Token == nil {
		facts.Reached = append(facts.Reached, doctor.Reached{Name: "Resource Manager", Host: in.ResourceManager, Err: in.Manager})
	}
	facts.Skew, facts.SkewKnown = in.Skew, in.SkewKnown
	facts.RightsError, facts.Needed, facts.List, facts.Discovered = in.RightsError, provider.Needs(), listed, in.Discovered
	for _, r := range in.Rights {
		facts.Rights = append(facts.Rights, doctor.Permission{Actions: r.Actions, NotActions: r.NotActions})
	}
	for _, l := range in.LeftOut {
		facts.LeftOut = append(facts.LeftOut, doctor.LeftOut{Name: l.Name, Why: l.Why})
	}
	for _, n := range provider.Notices() {
		facts.Notices = append(facts.Notices, doctor.Notice{Group: string(n.Group), Sentence: n.Sentence})
	}
	for _, sentence := range provider.Remains() {
		facts.Notices = append(facts.Notices, doctor.Notice{Sentence: sentence})
	}
	unpriced := map[string]bool{}
	for _, g := range groups {
		if g.Size != "" && g.PriceUSDPerHour == 0 && !unpriced[g.Size] {
			unpriced[g.Size] = true
			facts.Unpriced = append(facts.Unpriced, g.Size)
		}
	}
	return groups
}

// examineKube asks the API server for everything that decisions read, for its time, and for what this account may do. It says whether the
// objects are known.
func examineKube(ctx context.Context, o Options, facts *doctor.Kube) (cluster.Objects, bool) {
	client, err := kubernetes.NewForConfig(o.Kube)
	if err != nil {
		facts.Err = err
		return cluster.Objects{}, false
	}
	objects, err := kube.List(ctx, client, besides(o.Policy, ""))
	var denied *kube.AccessError
	if err != nil && !errors.As(err, &denied) {
		facts.Err = err
		return cluster.Objects{}, false
	}
	facts.Skew, facts.SkewKnown = skew(ctx, o.Kube)
	facts.Denied, facts.Checked, facts.RightsErr = examineRights(ctx, client, o.Election)
	if l, err := client.CoordinationV1().Leases(o.Election.Namespace).Get(ctx, o.Election.Name, metav1.GetOptions{}); err == nil {
		s := l.Spec
		if s.HolderIdentity != nil && *s.HolderIdentity != "" && s.RenewTime != nil && s.LeaseDurationSeconds != nil &&
			time.Since(s.RenewTime.Time) < time.Duration(*s.LeaseDurationSeconds)*time.Second {
			facts.Leader = fmt.Sprintf("%s, by lease %s/%s,", *s.HolderIdentity, l.Namespace, l.Name)
		}
	}
	return objects, err == nil
}

// skew is the API server's clock minus this machine's, by the date of an answer, to the second.
func skew(ctx context.Context, config *rest.Config) (time.Duration, bool) {
	h, err := rest.HTTPClientFor(config)
	if err != nil {
		return 0, false
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(config.Host, "/")+"/version", nil)
	if err != nil {
		return 0, false
	}
	began := time.Now()
	resp, err := h.Do(req)
	if err != nil {
		return 0, false
	}
	defer resp.Body.Close()
	date, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return 0, false
	}
	return date.Sub(began.Add(time.Since(began) / 2)).Round(time.Second), true
}

// examineRights asks of every right in deploy/rbac.yaml whether this account has it.
func examineRights(ctx context.Context, client kubernetes.Interface, election Election) (denied []doctor.Right, checked int, err error) {
	for _, a := range neededRights(election) {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &a}}
		answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return nil, checked, err
		}
		checked++
		if answer.Status.Allowed {
			continue
		}
		resource := a.Resource
		if a.Group != "" {
			resource += "." + a.Group
		}
		if a.Subresource != "" {
			resource += "/" + a.Subresource
		}
		denied = append(denied, doctor.Right{Verb: a.Verb, Resource: resource, Name: a.Name, Namespace: a.Namespace})
	}
	return denied, checked, nil
}

// neededRights are the rights in deploy/rbac.yaml, one by one, in the namespace and for the lease that the operator has chosen. A
// defect of that file is a panic, which any test shows.
func neededRights(election Election) []authorizationv1.ResourceAttributes {
	var all []authorizationv1.ResourceAttributes
	for _, doc := range strings.Split(string(deploy.RBAC), "\n---\n") {
		var role rbacv1.ClusterRole // a Role has the same fields
		if err := yaml.Unmarshal([]byte(doc), &role); err != nil {
			panic("app: deploy/rbac.yaml: " + err.Error())
		}
		if role.Kind != "ClusterRole" && role.Kind != "Role" {
			continue
		}
		if role.Kind == "Role" {
			role.Namespace = cmp.Or(election.Namespace, role.Namespace)
		}
		for _, rule := range role.Rules {
			if election.Name != "" && slices.Contains(rule.Resources, "leases") && len(rule.ResourceNames) > 0 {
				rule.ResourceNames = []string{election.Name}
			}
			all = append(all, attributes(rule, role.Namespace)...)
		}
	}
	return all
}

func attributes(rule rbacv1.PolicyRule, namespace string) []authorizationv1.ResourceAttributes {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	var all []authorizationv1.ResourceAttributes
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			resource, sub, _ := strings.Cut(resource, "/")
			for _, verb := range rule.Verbs {
				for _, name := range names {
					all = append(all, authorizationv1.ResourceAttributes{
						Namespace: namespace, Verb: verb, Group: group, Resource: resource, Subresource: sub, Name: name,
					})
				}
			}
		}
	}
	return all
}
