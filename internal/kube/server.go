package kube

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/kubernetes"
	ours "k8s.io/component-base/version"

	"sluice.dev/sluice/cluster"
)

// family is an API that an API server may lack, in the versions in which sluice knows it, and what is done without.
type family struct {
	apis []api
	loss string // "" for what comes of it when the right to read it is missing
	read bool   // objects in other versions would be missed
}

// families are all that sluice can do without.
var families = []family{
	{apis: []api{deviceAPI}, read: true},
	{apis: []api{podGroupAPI}, read: true},
	{apis: coschedulingAPI, read: true},
	{apis: bufferAPI, read: true},
	{apis: requestAPI, read: true},
	{apis: []api{{"admissionregistration.k8s.io/v1", "mutatingadmissionpolicies"}}, loss: "no capacity gate can be applied"},
}

// AskServer has the API server say its version, and which of the APIs that sluice can do without it serves. What it does not say is not in the answer.
func AskServer(ctx context.Context, client kubernetes.Interface) cluster.Server {
	s := cluster.Server{Rules: ours.DefaultKubeBinaryVersion}
	d := client.Discovery()
	if said, err := d.ServerVersion(); err == nil {
		s.Version, s.Newer = versionOf(said.GitVersion)
	}
	groups, err := d.ServerGroups()
	if err != nil {
		return s
	}
	served := map[string][]string{} // versions by group
	for _, g := range groups.Groups {
		for _, v := range g.Versions {
			served[g.Name] = append(served[g.Name], v.GroupVersion)
		}
	}
	for _, f := range families {
		if ctx.Err() != nil {
			return s
		}
		group, _, _ := strings.Cut(f.apis[0].groupVersion, "/")
		var others []string
		present, known := false, true
		for _, gv := range served[group] {
			resources := resourcesServed(d, gv)
			known = known && resources != nil
			switch ours := slices.ContainsFunc(f.apis, func(a api) bool { return a.groupVersion == gv }); {
			case !resources[f.apis[0].resource]:
			case ours:
				present = true
			case f.read:
				_, v, _ := strings.Cut(gv, "/")
				others = append(others, v)
			}
		}
		if !present && known {
			s.Without = append(s.Without, f.without(others))
		}
	}
	return s
}

// without is what is said of it where it is not served.
func (f family) without(others []string) cluster.Without {
	group, v, _ := strings.Cut(f.apis[0].groupVersion, "/")
	w := cluster.Without{API: f.apis[0].resource + "." + v + "." + group, Others: others, Loss: f.loss}
	if w.Loss == "" {
		w.Loss = Right{Verb: "list", Resource: f.apis[0].resource, Group: group}.Loss().Sentence
	}
	return w
}

// versionOf is the version as it is said, and whether its minor is newer than that of the scheduler's code here. A build without a version says v0.0.0.
func versionOf(said string) (known string, newer bool) {
	theirs, err := version.ParseGeneric(said)
	if err != nil || theirs.Major() == 0 {
		return "", false
	}
	rules := version.MustParseGeneric(ours.DefaultKubeBinaryVersion)
	return said, theirs.Major() > rules.Major() || theirs.Major() == rules.Major() && theirs.Minor() > rules.Minor()
}
