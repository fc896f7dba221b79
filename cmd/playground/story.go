package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

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

// grow creates a Deployment that needs twelve machines more over two groups.
func (s *story) grow(ctx context.Context) error {
	s.n.act(fmt.Sprintf("A Deployment of %d pods that needs %d more machines over two groups", webPods, growthMachines))
	s.growth = episode{app: webApp, groups: []group{agents, render}, span: span{from: time.Now()}}
	if err := s.createDeployment(ctx, pod(webApp, "3", "6Gi"), webPods); err != nil {
		return err
	}
	err := s.until(ctx, "its pods", func() (string, bool) {
		running := s.observer.running(webApp)
		return fmt.Sprintf("%d of %d pods running; %s", running, webPods, s.standing()), running == webPods
	})
	if err != nil {
		return err
	}
	s.n.say("all %d pods run; %s", webPods, s.standing())
	// The growth is over for Azure when sluice has seen all machines up: what it asks for that belongs to the bill.
	err = s.until(ctx, "sluice to see the new machines", func() (string, bool) {
		return "sluice looks at the new machines", s.listed(agents) && s.listed(render)
	})
	s.growth.span.to = time.Now()
	if err != nil {
		return err
	}
	return s.fill(ctx)
}

// fill puts a service with a disruption budget into the gaps that the Deployment leaves.
func (s *story) fill(ctx context.Context) error {
	if err := s.createBudget(ctx, apiApp); err != nil {
		return err
	}
	if err := s.createDeployment(ctx, onPool(pod(apiApp, "1", "1Gi"), render), apiPods); err != nil {
		return err
	}
	err := s.until(ctx, "the pods of "+apiApp, func() (string, bool) {
		running := s.observer.running(apiApp)
		return fmt.Sprintf("%d of %d pods of %s running", running, apiPods, apiApp), running == apiPods
	})
	if err == nil {
		s.n.say("%s: %d small pods of a service with a disruption budget run beside them", apiApp, apiPods)
	}
	return err
}

// listed says whether a group's machines were listed after the last of them was up.
func (s *story) listed(g group) bool {
	var up time.Time
	for _, m := range s.azure.Machines() {
		if m.ScaleSet == g.name && m.BootedAt.After(up) {
			up = m.BootedAt
		}
	}
	for _, r := range s.azure.Requests() {
		if r.Kind == "LIST virtualMachineScaleSets/virtualMachines" && r.ScaleSet == g.name && r.Time.After(up) {
			return true
		}
	}
	return false
}

// measure makes small bursts, each as soon as capacity for the one before it was accepted.
func (s *story) measure(ctx context.Context) error {
	s.n.act(fmt.Sprintf("%d bursts in a row, each a Deployment that needs one more %s machine", s.script.bursts, burst.name))
	for i := range s.script.bursts {
		app := burstApp(i)
		now := time.Now()
		if i > 0 {
			s.bursts[i-1].span.to = now
		}
		s.bursts = append(s.bursts, episode{app: app, groups: []group{burst}, span: span{from: now}})
		if err := s.createDeployment(ctx, onPool(pod(app, "1200m", "2Gi"), burst), 1); err != nil {
			return err
		}
		err := s.until(ctx, "capacity for "+app, func() (string, bool) {
			for _, r := range growths(s.azure.Requests(), burst.name, span{now, time.Now()}) {
				if accepted(r) {
					return "", true
				}
			}
			return fmt.Sprintf("burst %d of %d: waiting for its capacity request", i+1, s.script.bursts), false
		})
		if err != nil {
			return err
		}
	}
	err := s.until(ctx, "the pods of the bursts", func() (string, bool) {
		running := s.observer.running(s.burstApps()...)
		return fmt.Sprintf("%d of %d pods running; %s", running, s.script.bursts, s.standing()), running == s.script.bursts
	})
	s.bursts[len(s.bursts)-1].span.to = time.Now()
	if err == nil {
		s.n.say("all %d pods run; %s", s.script.bursts, s.standing())
	}
	return err
}

func burstApp(i int) string { return fmt.Sprintf("burst-%02d", i+1) }

func (s *story) burstApps() []string {
	var apps []string
	for _, e := range s.bursts {
		apps = append(apps, e.app)
	}
	return apps
}

// work puts a Job on the newest machine and takes the load from the older ones.
func (s *story) work(ctx context.Context) error {
	s.n.act("A Job runs on the newest machine while older ones go idle")
	s.newest, s.older = newestOf(s.azure.Machines(), burst)
	node := s.newest.ComputerName
	if err := s.createJob(ctx, onPool(pod(jobApp, "250m", "512Mi"), burst), node, s.script.job); err != nil {
		return err
	}
	if err := s.until(ctx, "the Job's pod", func() (string, bool) {
		return "the Job's pod starts on " + node, s.observer.running(jobApp) == 1
	}); err != nil {
		return err
	}
	s.job.from = time.Now()
	s.n.say("Job %s runs on %s for %s", jobApp, node, s.script.job)
	if err := s.scaleDeployment(ctx, webApp, webRest); err != nil {
		return err
	}
	for _, app := range s.burstApps() {
		if err := s.deleteDeployment(ctx, app); err != nil {
			return err
		}
	}
	s.n.say("%s scaled from %d to %d, all bursts deleted", webApp, webPods, webRest)
	err := s.until(ctx, "the older machines to leave", func() (string, bool) {
		left := s.machinesOf(burst)
		return fmt.Sprintf("%d of %d older machines left; %s", max(left-1, 0), s.older, s.standing()), left <= 1 || s.jobOver()
	})
	if err == nil {
		s.n.say("%d of %d older %s machines are gone; %s", s.older-max(s.machinesOf(burst)-1, 0), s.older, burst.name, s.standing())
	}
	return err
}

// newestOf is the machine of a group that was created last, and how many came before it.
func newestOf(all []azuresim.MachineState, g group) (newest azuresim.MachineState, older int) {
	n := -1
	number := func(m azuresim.MachineState) int { i, _ := strconv.Atoi(m.InstanceID); return i }
	for _, m := range all {
		if m.ScaleSet != g.name {
			continue
		}
		n++
		if m.TimeCreated.After(newest.TimeCreated) || m.TimeCreated.Equal(newest.TimeCreated) && number(m) > number(newest) {
			newest = m
		}
	}
	return newest, max(n, 0)
}

// jobOver says whether the Job's pod has ended, or was made to.
func (s *story) jobOver() bool {
	for _, p := range s.observer.podsOf(jobApp) {
		if !p.finished.IsZero() || !p.deleting.IsZero() || !p.gone.IsZero() {
			return true
		}
	}
	return false
}

// leave takes the rest of the load away and waits for the minimum.
func (s *story) leave(ctx context.Context) error {
	s.n.act("The load leaves")
	if err := s.deleteDeployment(ctx, webApp); err != nil {
		return err
	}
	err := s.until(ctx, "the Job's end", func() (string, bool) {
		return fmt.Sprintf("Job %s still runs; %s", jobApp, s.standing()), s.jobOver()
	})
	if err != nil {
		return err
	}
	s.job.to = time.Now()
	s.n.say("Job %s has ended; %s", jobApp, s.standing())
	err = s.until(ctx, "every group at its minimum", func() (string, bool) {
		settled := s.atMinimum() && len(s.observer.nodesNow()) == len(s.azure.Machines()) && s.observer.running(apiApp) == apiPods
		return s.standing(), settled
	})
	if err == nil {
		s.n.say("every group is at its minimum; %s", s.standing())
	}
	return err
}

// settled is longer than sluice waits between two looks at an operation: when Azure was not asked for so long, nothing is under way.
const settled = 11 * time.Second

// rest counts what a quiet time costs.
func (s *story) rest(ctx context.Context) error {
	s.n.act("A quiet " + s.quietWords())
	err := s.until(ctx, "the last operation to be over", func() (string, bool) {
		requests := s.azure.Requests()
		return "sluice looks at the end of the last removal", time.Since(requests[len(requests)-1].Time) > settled
	})
	if err != nil {
		return err
	}
	s.calm.from = time.Now()
	err = poll(ctx, s.script.quiet+s.script.patience, func() (bool, error) {
		left := s.script.quiet - time.Since(s.calm.from)
		s.n.progress(fmt.Sprintf("quiet for another %s", max(left, 0).Round(time.Second)))
		return left <= 0, nil
	})
	s.calm.to = s.calm.from.Add(s.script.quiet)
	return err
}

func (s *story) quietWords() string {
	if s.script.quiet == time.Minute {
		return "minute"
	}
	return s.script.quiet.String()
}
