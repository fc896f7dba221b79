package main

import (
	"context"
	"fmt"
	"time"
)

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
