package app

import (
	"context"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/doctor"
)

// logsAsked bounds how many machines' boot logs are read for one answer.
const logsAsked = 3

// examineJoins gathers what is judged of how machines become nodes. Azure may not have been asked, and then the nodes are judged alone.
func examineJoins(ctx context.Context, o Options, x Examination, provider *azure.Provider, objects *cluster.Objects, groups []*cluster.Group) *doctor.Joining {
	j := &doctor.Joining{VMType: o.Azure.VMType, Mixed: o.Azure.AdmitFlexible, Region: o.Azure.Location}
	switch {
	case objects == nil:
		return j
	case provider == nil:
		j.Unread = "Azure could not be asked"
	case len(groups) == 0:
		j.Unread = "no group could be read"
	}
	if provider != nil {
		j.Region = provider.Place().Location
	}
	for _, g := range groups {
		if g.Problem != "" && len(g.Instances) == 0 {
			j.Unread = "group " + string(g.ID) + " is not read, and sluice doctor says why"
		}
	}
	j.Passwords = passwords(ctx, o.Kube)
	j.Snapshot = cluster.New(time.Now(), *objects, groups)
	if provider != nil {
		askLogs(ctx, provider, j.Snapshot, x.Joins)
	}
	return j
}

// askLogs asks machines that run and are no node what they say of themselves.
func askLogs(ctx context.Context, provider *azure.Provider, s *cluster.Snapshot, only string) {
	asked := 0
	for _, g := range s.Groups {
		for _, in := range g.Instances {
			named := only == "" || strings.EqualFold(only, in.ComputerName) || strings.EqualFold(only, string(g.ID)+"/"+string(in.ID))
			if in.Node != "" || in.State != cluster.StateRunning || !named || asked == logsAsked {
				continue
			}
			asked++
			in.Diagnosis = provider.Ask(ctx, in.Machine())
		}
	}
}

// passwords are the nodes of which K3s or RKE2 keeps a password, nil when that cannot be known. It asks for the names of Secrets, and for nothing
// that is in them.
func passwords(ctx context.Context, config *rest.Config) map[string]bool {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil
	}
	secrets := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace(metav1.NamespaceSystem)
	known, o := map[string]bool{}, metav1.ListOptions{Limit: 500}
	for {
		page, err := secrets.List(ctx, o)
		if err != nil {
			return nil
		}
		for _, s := range page.Items {
			for _, distribution := range []string{".node-password.k3s", ".node-password.rke2"} {
				if node, is := strings.CutSuffix(s.Name, distribution); is {
					known[node] = true
				}
			}
		}
		if o.Continue = page.Continue; o.Continue == "" {
			return known
		}
	}
}
