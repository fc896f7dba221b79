package world

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/kubesim"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/policy"
)

// followed are the resources that sluice follows.
var followed = []string{
	"nodes", "pods", "daemonsets", "poddisruptionbudgets", "namespaces", "persistentvolumeclaims", "persistentvolumes", "storageclasses", "csinodes",
	"csidrivers", "csistoragecapacities", "volumeattachments", "deviceclasses", "resourceclaims", "resourceslices",
}

// followedControllers are the resources that sluice follows besides where pods of custom controllers keep their nodes.
var followedControllers = []string{"replicasets", "replicationcontrollers", "statefulsets"}

// followedIf are the resources that sluice follows where the cluster serves an API.
var followedIf = map[string][]kubesim.API{
	"podgroups":                          {kubesim.Gangs},
	string(kubesim.Coscheduling):         {kubesim.Coscheduling},
	string(kubesim.CapacityBuffers):      {kubesim.CapacityBuffers},
	string(kubesim.ProvisioningRequests): {kubesim.ProvisioningRequests},
	"podtemplates":                       {kubesim.CapacityBuffers, kubesim.ProvisioningRequests},
}

// rankingNamespace is where sluice looks for the ConfigMap that ranks groups.
const rankingNamespace = "kube-system"

// patience bounds, in real time, how long sluice may take to hear what Kubernetes has said inside of one process.
const patience = 2 * time.Minute

// hear waits until sluice has seen all that the cluster has to show. Real time passes nowhere else but in hearOf.
func (w *world) hear(ctx context.Context) error { return w.hearBy(ctx, w.procs.main.sluice) }

func (w *world) hearBy(ctx context.Context, sluice *app.Autoscaler) error {
	if w.api.silent != nil {
		return nil
	}
	resources := followed
	for _, resource := range sortedKeys(followedIf) {
		if slices.ContainsFunc(followedIf[resource], w.cluster.Installed) {
			resources = append(slices.Clip(resources), resource)
		}
	}
	if w.config.policy.Removal.Skip.CustomControllerPods {
		resources = append(slices.Clip(resources), followedControllers...)
	}
	due := map[string]uint64{}
	for _, resource := range resources {
		due[resource] = w.cluster.ResourceVersion(resource)
	}
	if w.config.policy.Growth.Expands(policy.Priority) { // of ConfigMaps sluice follows the ranking alone
		if c, there := kubesim.Find[*corev1.ConfigMap](w.cluster, rankingNamespace, cluster.RankingName); there {
			due["configmaps"], _ = strconv.ParseUint(c.ResourceVersion, 10, 64)
		}
	}
	for _, resource := range sortedKeys(due) {
		if err := hearOf(ctx, w.clock, sluice, resource, due[resource]); err != nil {
			return err
		}
	}
	return nil
}

// hearOf waits until a process has seen a resource up to a version.
func hearOf(ctx context.Context, on *simClock, sluice *app.Autoscaler, resource string, version uint64) error {
	for begun := time.Now(); sluice.Seen(resource) < version; time.Sleep(20 * time.Microsecond) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if time.Since(begun) > patience {
			return fmt.Errorf("at %s sluice has seen %s up to version %d after %s, and the cluster is at %d",
				clock(on.elapsed()), resource, sluice.Seen(resource), patience, version)
		}
	}
	return nil
}

// listen has every process hear of pods before time goes on: when it heard of one it notes by the world's clock.
func (w *world) listen(ctx context.Context) error {
	if w.api.silent != nil || !w.procs.started() || w.procs.main.held {
		return nil
	}
	version := w.cluster.ResourceVersion("pods")
	if w.procs.rival != nil {
		if err := hearOf(ctx, w.clock, w.procs.rival.sluice, "pods", version); err != nil {
			return err
		}
	}
	return hearOf(ctx, w.clock, w.procs.main.sluice, "pods", version)
}

// cycle turns sluice's loop once and says when it is due again, by the rules of app.Autoscaler.Run.
func (w *world) cycle(ctx context.Context) error {
	if err := w.hear(ctx); err != nil {
		return err
	}
	main := &w.procs.main
	w.recording.cycles++
	w.judges.sound.due = true
	entry, err := w.step(main.life, main.sluice)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.judges.observer.Turn()
	if main.killed != "" {
		return w.inherit(ctx)
	}
	if err == nil {
		main.breakers = entry.After.Breakers(main.reading(), w.config.policy)
	}
	w.procs.saved = w.procs.legacy(w.now())
	main.due = w.now().Add(main.pace.Wait(main.reading(), entry, err, main.provider.NextPoll()))
	if err != nil {
		main.told.fault(w.out, w.elapsed(), err)
		return nil
	}
	w.tally.count(entry)
	if err := w.recording.keep(entry); err != nil {
		return err
	}
	main.told.plan(w.out, w.elapsed(), entry)
	return nil
}

// step turns the loop of a process once. Nothing that happens meanwhile is heard, not even what the process itself does: in a world, too, an
// API server takes a moment to tell, and it must not be luck whether that moment is over.
func (w *world) step(ctx context.Context, sluice *app.Autoscaler) (journal.Entry, error) {
	defer w.cluster.Inject(kubesim.Fault{Stall: true})()
	entry, err := sluice.Step(ctx)
	if err != nil || ctx.Err() != nil {
		return entry, err
	}
	return entry, measure(ctx, w.clock, w.cluster, sluice)
}
