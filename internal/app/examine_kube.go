package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/deploy"
	"sluice.dev/sluice/internal/doctor"
	"sluice.dev/sluice/internal/kube"
	"sluice.dev/sluice/internal/report"
)

// examineKube asks the API server for everything that decisions read, for its time, and for what an account may do. It is nil when the objects
// are not known. Lessons are what a running sluice has put down, nil when that is not known.
func examineKube(ctx context.Context, o Options, x Examination, l *lesson) (objects *cluster.Objects, lessons cluster.Lessons) {
	if x.Unnamed != nil {
		l.learn(nil, "kubernetes")
		return nil, nil
	}
	config := rest.CopyConfig(o.Kube)
	config.Impersonate.UserName = x.As
	facts := doctor.Kube{As: x.As, Service: "system:serviceaccount:" + cmp.Or(o.Namespace, deploy.Namespace) + ":" + deploy.ServiceAccount}
	client, err := kubernetes.NewForConfig(config)
	if err == nil {
		facts.Account, err = whoAsks(ctx, client)
	}
	if fault := answerless(err, x.As != ""); fault {
		facts.Err = failedAt(err, config.Host)
	} else {
		var all sync.WaitGroup
		all.Go(func() { left, _ := report.ReadLegacy(ctx, client, o.Namespace, o.StatusName); lessons = left.Lessons }) // else nodes that are there teach
		objects = examineCluster(ctx, client, config, o, &facts)
		all.Wait()
	}
	l.learn(func(f *doctor.Facts) { f.Kube = facts }, "kubernetes")
	return objects, lessons
}

// whoAsks is who the API server says is asking.
func whoAsks(ctx context.Context, client kubernetes.Interface) (string, error) {
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return review.Status.UserInfo.Username, nil
}

// answerless says whether nothing else need be asked after such an answer to who is asking. An API server of before 1.28 does not know the question,
// and a role may keep an account from asking it.
func answerless(err error, impersonates bool) bool {
	return err != nil && !apierrors.IsNotFound(err) && (impersonates || !apierrors.IsForbidden(err))
}

// examineCluster asks what is independent side by side.
func examineCluster(ctx context.Context, client kubernetes.Interface, config *rest.Config, o Options, facts *doctor.Kube) *cluster.Objects {
	var objects cluster.Objects
	var listed, rightsErr error
	var all sync.WaitGroup
	all.Go(func() { objects, listed = kube.List(ctx, client, besides(o.Policy, o.Namespace)) })
	all.Go(func() { facts.Denied, facts.Lacks, facts.Checked, rightsErr = examineRights(ctx, client, o.Election) })
	all.Go(func() { facts.Skew, facts.SkewKnown = skew(ctx, config) })
	all.Go(func() { facts.Server = kube.AskServer(ctx, client) })
	all.Go(func() {
		holder, err := kube.Holder(ctx, client, o.Election.Namespace, o.Election.Name, time.Now())
		if err == nil && holder != "" {
			facts.Leader = fmt.Sprintf("%s, by lease %s/%s,", holder, o.Election.Namespace, o.Election.Name)
		}
	})
	all.Wait()
	facts.RightsErr = failedAt(rightsErr, config.Host)
	switch denied := new(kube.AccessError); {
	case errors.As(listed, &denied):
		facts.Unread = denied
	case listed != nil:
		facts.Err = failedAt(listed, config.Host)
	default:
		return &objects
	}
	return nil
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

// rightsAtOnce bounds how many rights are asked about side by side.
const rightsAtOnce = 8

// byUpdate is how nodes are changed where patching them is denied.
var byUpdate = authorizationv1.ResourceAttributes{Verb: "update", Resource: "nodes"}

// examineRights asks of every right in deploy/rbac.yaml whether the account has it. What sluice does without is told apart from what it cannot work without.
func examineRights(ctx context.Context, client kubernetes.Interface, election Election) (denied []doctor.Right, without cluster.Lacks, checked int, err error) {
	needed := append(neededRights(election), byUpdate)
	lacks, errs := make([]bool, len(needed)), make([]error, len(needed))
	slots := make(chan struct{}, rightsAtOnce)
	var all sync.WaitGroup
	for i, a := range needed {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			if ctx.Err() != nil {
				errs[i] = ctx.Err()
				return
			}
			granted, err := kube.Granted(ctx, client, a)
			lacks[i], errs[i] = err == nil && !granted, err
		})
	}
	all.Wait()
	var missing cluster.Lacks
	for i, a := range needed {
		if lacks[i] {
			missing = append(missing, rightOf(a))
		}
	}
	effective := missing.Effective()
	for i, a := range needed[:len(needed)-1] {
		switch {
		case errs[i] != nil && err == nil:
			err = errs[i]
		case errs[i] == nil:
			checked++
		}
		right := rightOf(a)
		switch {
		case !lacks[i] || !effective.Has(right):
		case right.Loss().Sentence != "":
			without = append(without, right)
		default:
			denied = append(denied, doctor.Right{Right: right, Name: a.Name, Namespace: a.Namespace})
		}
	}
	return denied, without.Sorted(), checked, err
}

func rightOf(a authorizationv1.ResourceAttributes) cluster.Right {
	if a.Subresource != "" {
		a.Resource += "/" + a.Subresource
	}
	return cluster.Right{Verb: a.Verb, Resource: a.Resource, Group: a.Group}
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
