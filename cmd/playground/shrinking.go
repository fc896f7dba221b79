package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"sluice.dev/sluice/internal/azuresim"
)

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
		return fmt.Sprintf("%d of %d older machines are still there; %s", max(left-1, 0), s.older, s.standing()), left <= 1 || s.jobOver()
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
