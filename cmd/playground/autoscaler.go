package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/client-go/rest"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/deploy"
	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/history"
	"sluice.dev/sluice/policy"
)

// runSluice is "sluice run" with the story's timers: everything else has its default.
func (p *playground) runSluice(ctx context.Context, config *rest.Config, listener net.Listener) error {
	return app.Run(ctx, app.Options{
		Kube: config, Azure: p.azureOptions(), Policy: p.script.policy(), Log: p.log, Version: version,
		Election: app.Election{
			Enabled: true, Namespace: deploy.Namespace, Name: "cluster-autoscaler", Identity: controlPlane,
			Lease: 15 * time.Second, Renew: 10 * time.Second, Retry: 2 * time.Second,
		},
		Instance: controlPlane, Namespace: deploy.Namespace, WriteStatus: true, StatusName: cluster.StatusName,
		Listener: listener, MaxInactivity: time.Minute,
		Journal: p.path(journalFile), JournalLimits: history.Limits{File: 1 << 30, Total: 1 << 30, Age: 24 * time.Hour},
	})
}

// policy is the default with delays that fit a story of a few minutes. Bursts of the story are not gathered: they follow each other so closely
// that they would be one, and each is to be answered at once.
func (s script) policy() *policy.Policy {
	allowed := policy.Default()
	allowed.Removal.UnneededTime = s.unneeded
	allowed.Removal.Emptied.Window = cmp.Or(s.window, s.unneeded) // by default they are equally long
	allowed.Removal.Lost = s.lost
	allowed.Growth.Node.ProvisionTime = cmp.Or(s.provision, allowed.Growth.Node.ProvisionTime)
	allowed.Removal.Delay.AfterAdd = s.afterAdd
	allowed.Removal.Delay.AfterTaint = s.afterTaint
	allowed.Removal.Work.Daemons = s.work
	allowed.Growth.BurstWindow = s.gather
	return allowed
}

// answers says whether a GET of the address is answered 200.
func answers(ctx context.Context, address string) (bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false, err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return false, fmt.Errorf("%s answers %s", address, resp.Status)
	}
	return true, nil
}
