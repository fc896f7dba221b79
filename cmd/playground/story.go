package main

import (
	"context"
	"errors"
	"fmt"

	"sluice.dev/sluice/internal/azuresim"
)

// The workloads of the story.
const (
	daemonApp = "node-agent"
	webApp    = "web"
	apiApp    = "api"
	jobApp    = "encode"

	// webPods need twelve machines more than the minimum: one pod fits an agent and two a render machine, so that 1 + 2 have room at
	// once, 6 fill agents to its maximum and 12 take six render machines.
	webPods = 1 + 2 + 6 + 12
	// webRest is what is left of them when most of the load has gone.
	webRest = 2

	// apiPods ask for so much that one fits beside the two web pods on a render machine and another does not. When web leaves they
	// keep two machines of which one would do.
	apiPods = 2

	growthMachines = 12
)

// story is the play and what was noted of it.
type story struct {
	*playground
	n *narrator

	growth episode
	bursts []episode
	newest azuresim.MachineState // the machine on which the Job runs
	older  int                   // machines of its group that were up before it
	job    span                  // from the Job's pod running to its end
	calm   span                  // the quiet minute
	played bool                  // to the end
}

// episode is one burst of pods and the part of the story in which its capacity was asked for.
type episode struct {
	app    string
	groups []group // that have to grow
	span   span
}

// errStuck is a step of the story that did not come about. The checks tell what is wrong.
var errStuck = errors.New("the story got stuck")

// play plays all acts. The error is [errStuck], or something that has nothing to do with sluice.
func (s *story) play(ctx context.Context) error {
	for _, act := range []func(context.Context) error{s.begin, s.grow, s.measure, s.work, s.leave, s.rest} {
		if err := act(ctx); err != nil {
			if errors.Is(err, errPatience) {
				s.n.say("%v", err)
				return fmt.Errorf("%w: %w", errStuck, err)
			}
			return err
		}
	}
	s.played = true
	return nil
}

// until waits for a step and tells its progress.
func (s *story) until(ctx context.Context, what string, step func() (progress string, done bool)) error {
	err := poll(ctx, s.script.patience, func() (bool, error) {
		progress, done := step()
		s.n.progress(progress)
		if done {
			return true, nil
		}
		return false, errors.New(progress)
	})
	if err != nil {
		return fmt.Errorf("wait for %s: %w", what, err)
	}
	return nil
}

// begin waits for the cluster as the operator left it: every group at its minimum, a daemon on every node.
func (s *story) begin(ctx context.Context) error {
	s.n.act("Two node groups at their minimum, a third at zero")
	if err := s.createDaemons(ctx, daemonApp); err != nil {
		return err
	}
	nodes := 1 // the control plane
	for _, g := range groups {
		nodes += g.min
	}
	err := s.until(ctx, "the first nodes", func() (string, bool) {
		ready, daemons := s.readyNodes(), s.observer.running(daemonApp)
		return fmt.Sprintf("%d of %d nodes Ready, %d daemons running", ready, nodes, daemons), ready == nodes && daemons == nodes
	})
	if err != nil {
		return err
	}
	for _, g := range groups {
		s.n.say("%-7s %-16s min %d, max %2d: %s", g.name, g.size.name, g.min, g.max, counted(s.machinesOf(g), "machine"))
	}
	return nil
}
