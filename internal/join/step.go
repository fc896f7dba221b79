package join

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cloud"
)

// goneAfter is how old a token is before Azure is asked whether its machine is still there, and how long between such questions.
const goneAfter = 2 * time.Minute

// Step is one pass over what the door has given: it decides on requests for certificates, and ends tokens whose machine is a node, whose time is over or whose machine is
// gone. It never waits. Busy says that there is a token to be watched or a certificate to come, or may be. Several replicas may do it at once.
func (d *Door) Step(ctx context.Context) (busy bool, err error) {
	records, err := d.cluster.records(ctx)
	if err != nil {
		return true, d.fault(ctx, err)
	}
	var faults []error
	served, err := d.decide(ctx, records)
	if err != nil {
		faults = append(faults, d.fault(ctx, err))
	}
	outstanding := 0
	for _, r := range records {
		if err := d.follow(ctx, r); err != nil {
			faults = append(faults, d.fault(ctx, err))
		}
		if r.token != "" {
			outstanding++
		}
		busy = busy || r.token != "" || d.unserved(r, served)
	}
	d.metrics.outstanding.Set(float64(outstanding))
	return busy, errors.Join(faults...)
}

// servingSoon is how long after its token a kubelet is expected to ask for its serving certificate. A cloud controller names a node's addresses first.
const servingSoon = 5 * time.Minute

// unserved says whether the request for a new node's serving certificate is still to come. Until it is approved nobody reads the logs of the node's pods.
func (d *Door) unserved(r *record, served map[string]bool) bool {
	return d.o.Distribution == Kubeadm && r.joined && !served[byNode+r.node] && d.o.Now().Sub(r.given) < servingSoon
}

// fault tells a person of rights that are missing.
func (d *Door) fault(ctx context.Context, err error) error {
	if apierrors.IsForbidden(err) {
		d.event(ctx, ClusterUnavailable, err.Error())
	}
	return err
}

// follow ends what is to be ended of a record.
func (d *Door) follow(ctx context.Context, r *record) error {
	now := d.o.Now()
	if r.token != "" {
		node, err := d.cluster.client.CoreV1().Nodes().Get(ctx, r.node, metav1.GetOptions{})
		switch {
		case err == nil && ownNode(node, r.machine, r.created):
			d.o.Log.Info("a machine has joined: its token ends", "node", r.node, "token", r.token)
			return d.cluster.joined(ctx, r)
		case err != nil && !apierrors.IsNotFound(err):
			return fmt.Errorf("read node %s: %w", r.node, err)
		case !now.Before(r.expires):
			d.o.Log.Warn("a machine has not joined in time: its token ends", "node", r.node, "token", r.token, "machine", r.machine)
			return d.cluster.ended(ctx, r)
		case now.Sub(r.given) >= goneAfter && d.gone(ctx, r):
			d.o.Log.Info("a machine is gone: its token ends", "node", r.node, "token", r.token, "machine", r.machine)
			return d.cluster.ended(ctx, r)
		}
		return nil
	}
	if now.Sub(r.created) > d.o.Age+challengeLife+time.Hour {
		return d.cluster.forget(ctx, r)
	}
	return nil
}

// gone says whether Azure says that a machine is not there. An answer that does not come says nothing.
func (d *Door) gone(ctx context.Context, r *record) bool {
	m, err := d.machines.find(ctx, r.machine, r.vmID, d.metrics)
	var said *cloud.Error
	if errors.As(err, &said) {
		return said.Kind == cloud.NotFound
	}
	return err == nil && !strings.EqualFold(m.UID, r.vmID)
}
