package lifecycle

import (
	"context"
	"errors"
	"fmt"

	"sluice.dev/sluice/cloud"
)

// mostSent is how often a deployment is sent that Azure gives no answer about.
const mostSent = 4

// send has Azure accept the deployment, with the door's fingerprint of an earlier one. Without an answer it looks whether Azure works at it,
// and sends it again where it does not: what is there by then is no more new.
func (c *Cluster) send(ctx context.Context, fresh Door, before string) (Door, error) {
	for n := 1; ; n++ {
		now, err := c.look(ctx)
		if err != nil {
			return Door{}, err
		}
		door, err := keeper{c}.door(ctx, &now, fresh, before)
		if err != nil {
			return Door{}, err
		}
		if err := (keeper{c}).tagServer(ctx, &now, door); err != nil {
			return Door{}, err
		}
		body, err := c.body(parameters(door.Fingerprint, door.PEM, now.missing))
		if err != nil {
			return Door{}, err
		}
		err = c.Cloud.Put(ctx, c.deployment(), deploymentsVersion, body)
		switch {
		case err == nil:
			return door, nil
		case ctx.Err() != nil:
			return Door{}, err
		case isBusy(err):
			return Door{}, fmt.Errorf("another deployment of %s is under way: %w", c.File.Name, ErrBusy)
		case !Unanswered(err):
			return Door{}, fmt.Errorf("deployment %s is refused: %w", c.File.Name, err)
		case n == mostSent:
			return Door{}, fmt.Errorf("deployment %s was sent %d times, and Azure does not say that it has it: %w", c.File.Name, n, err)
		}
		if err := c.Wait(ctx, pause); err != nil {
			return Door{}, err
		}
		if was, found, err := c.recorded(ctx); err == nil && found && !was.ended() {
			return door, nil
		}
		c.Say("Azure gives no answer about deployment " + c.File.Name + ", which is sent again")
	}
}

// ErrBusy is that somebody else deploys the cluster.
var ErrBusy = errors.New("wait for it, and run the command again")

// isBusy says whether Azure refuses a deployment since another one of its name is under way.
func isBusy(err error) bool {
	var e *cloud.Error
	return errors.As(err, &e) && e.Code == "DeploymentActiveAndUneditable"
}

// Unanswered says whether Azure gave no answer of which something could be corrected: the same may do a moment later.
func Unanswered(err error) bool {
	var e *cloud.Error
	return errors.As(err, &e) && (e.Kind == cloud.Transient || e.Kind == cloud.Throttled || e.Kind == cloud.Unanswered)
}

// Made says whether an up has made the cluster, or part of it, and ended well the last time.
func (c *Cluster) Made(ctx context.Context) (there, well bool, err error) {
	was, found, err := c.recorded(ctx)
	return found, found && was.Properties.State == "Succeeded", err
}
