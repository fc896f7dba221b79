package main

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azuresim"
)

// options are what the user chose, and the story to play.
type options struct {
	dir        string // as given; "" for a temporary one
	keep       bool
	idle       bool // play no story
	verbosity  int
	kubernetes string // folder with the programs of another version; "" for the one that is linked in
	script     script
}

// script is how long things take in the story.
type script struct {
	boot, remove azuresim.Distribution // of a machine
	retryAfter   time.Duration         // what Azure asks of those who follow an operation
	join         time.Duration         // from the end of the boot to the kubelet's registration

	unneeded, afterAdd, afterTaint time.Duration // sluice's delays, see policy.Removal
	window, provision, lost        time.Duration // of the same kind; 0: as usual
	schedulerQPS, controllersQPS   int           // see controlplane.Options
	gather                         time.Duration // see policy.Growth.BurstWindow

	work []cluster.PodSelector // pods of daemons that are work

	bursts   int           // small bursts to measure latency with, of one machine each
	job      time.Duration // how long the Job's pod runs
	quiet    time.Duration // how long nothing happens at the end
	patience time.Duration // for one step, before the story is given up
}

// fullStory takes three and a half minutes.
func fullStory() script {
	return script{
		boot: azuresim.Lognormal(6*time.Second, 0.2), remove: azuresim.Lognormal(4*time.Second, 0.2),
		retryAfter: 5 * time.Second, join: time.Second,
		unneeded: 15 * time.Second, afterAdd: 5 * time.Second, afterTaint: 2 * time.Second,
		// One more, and half of them would wait ten minutes after all are deleted together (S-45).
		bursts: 11, job: 75 * time.Second, quiet: time.Minute, patience: 2 * time.Minute,
	}
}

// at is the script at another speed. What is measured, such as a quiet minute, stays as it is.
func (s script) at(speed float64) script {
	if speed == 1 {
		return s
	}
	scaled := func(d time.Duration) time.Duration { return time.Duration(float64(d) / speed) }
	s.boot, s.remove = azuresim.Lognormal(scaled(6*time.Second), 0.2), azuresim.Lognormal(scaled(4*time.Second), 0.2)
	s.unneeded, s.afterAdd, s.afterTaint = scaled(s.unneeded), scaled(s.afterAdd), scaled(s.afterTaint)
	s.job, s.patience = scaled(s.job), scaled(s.patience)
	return s
}
