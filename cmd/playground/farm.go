package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/controlplane/kubelets"
	"sluice.dev/sluice/internal/economics"
	"sluice.dev/sluice/internal/traces"
	"sluice.dev/sluice/policy"
)

// frameApp is the label of the render farm's pods.
const frameApp = "frames"

// defaultSpeed plays twelve hours in less than five minutes.
const defaultSpeed = 150

// farm is the story for which sluice was begun, on the real control plane: the Jobs of [economics.FoundingStory] come to a group of at most twenty
// machines, everything that takes time shortened by one factor.
type farm struct {
	*story
	speed int // by what everything is shortened
	load  economics.Workload
	book  *census
	began time.Time // the first Job was created
}

// farmScript is the story's time, shortened: machines boot and are deleted within three minutes, and sluice has its default delays.
func farmScript(speed int) script {
	short := func(d time.Duration) time.Duration { return d / time.Duration(speed) }
	removal := policy.Default().Removal
	return script{
		boot: azuresim.Lognormal(short(150*time.Second), 0.25), remove: azuresim.Fixed(short(180 * time.Second)), join: short(30 * time.Second),
		retryAfter: time.Second, // the shortest that Azure can say
		unneeded:   short(removal.UnneededTime), afterAdd: short(removal.Delay.AfterAdd), afterTaint: short(removal.Delay.AfterTaint),
		patience: 10 * time.Minute,
	}
}

func farmCommand() *cobra.Command {
	o, speed := options{}, defaultSpeed
	cmd := &cobra.Command{
		Use:   "farm",
		Short: "Play a morning of a render farm: Jobs on at most 20 machines, the newest always the busiest",
		Long: `Play the story for which sluice was begun: sixty Jobs of ten minutes to nine hours come to a group of at most twenty machines, and the newest
machines get the longest Jobs. All times are shortened by one factor, sluice's default delays among them: twelve hours take about five minutes.

What is said at the end is measured from outside: by a watch on pods and nodes, by Azure's log of requests and by its list of machines. The
machine-hours are held against an oracle that knows when each Job ends, and has its own machines for the same Jobs.

Exit code 0: every check holds; 1: a check failed; 2: the story could not be played; 130: interrupted.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if speed < 1 {
				return fmt.Errorf("--speed=%d: give 1 for the time that it really takes, or more", speed)
			}
			o.script = farmScript(speed)
			return performFarm(cmd.Context(), o, speed, cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.IntVar(&speed, "speed", speed, "by what everything is shortened")
	f.StringVar(&o.dir, "dir", "", "directory for the journal and the logs, new or empty; it stays. Empty: a temporary one, kept only when the story fails")
	f.IntVarP(&o.verbosity, "v", "v", 0, "verbosity of sluice's log file; 4 and above: debug")
	return cmd
}

// performFarm starts everything, plays, judges and cleans up. The error is [errWrong] when a check failed.
func performFarm(ctx context.Context, o options, speed int, w io.Writer) (err error) {
	n := newNarrator(w)
	defer n.close()
	n.line("sluice playground %s: a morning of a render farm, %d times as fast, on a real control plane and a simulated Azure", version, speed)
	load := economics.FoundingStory()
	groups = []group{{name: "farm", size: d4s, max: load.Kinds[0].Max}}
	user := ctx
	p, ctx, err := open(user, o, n)
	defer func() {
		keep := err != nil && user.Err() == nil
		if closeErr := p.close(keep); closeErr != nil {
			err = errors.Join(err, fmt.Errorf("%w: %w", errCleanUp, closeErr))
		}
		if keep && p.dir != "" {
			n.line("\nLogs and journal: %s", p.dir)
		}
	}()
	if err != nil {
		return err
	}
	p.greet(n)
	s := &farm{story: &story{playground: p, n: n}, speed: speed, load: load, book: newCensus()}
	if err := s.play(ctx); err != nil && !errors.Is(err, errStuck) {
		return err
	}
	f, err := gather(ctx, s.story)
	n.close()
	if err != nil {
		return err
	}
	all := &farmFacts{facts: f, farm: s}
	all.summarize(w)
	if !judge(w, all.checks()) {
		n.line("\nThe story came out wrong, after %s.", n.stamp())
		return errWrong
	}
	n.line("\nThe story came out right, after %s.", n.stamp())
	return nil
}

// play has the Jobs come, and waits until all have ended and every machine has gone. The error is [errStuck], or something that has nothing to do
// with sluice.
func (s *farm) play(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go s.book.run(ctx, s.azure)
	if err := s.createDaemons(ctx, daemonApp); err != nil {
		return err
	}
	s.n.act(fmt.Sprintf("%d Jobs come to at most %d machines", len(s.load.Pods), groups[0].max))
	s.began = time.Now()
	created := 0
	err := s.until(ctx, "all Jobs to end and their machines to go", func() (string, bool) {
		for created < len(s.load.Pods) && time.Since(s.began) >= s.load.Pods[created].At/time.Duration(s.speed) {
			if err := s.createFrame(ctx, s.load.Pods[created]); err != nil {
				return err.Error(), false // and asked again
			}
			created++
		}
		ended := s.jobsEnded()
		progress := fmt.Sprintf("%d of %d Jobs came, %d ended; %s", created, len(s.load.Pods), ended, s.standing())
		return progress, ended == len(s.load.Pods) && s.atMinimum() && len(s.observer.nodesNow()) == len(s.azure.Machines())
	})
	switch {
	case errors.Is(err, errPatience):
		s.n.say("%v", err)
		return fmt.Errorf("%w: %w", errStuck, err)
	case err != nil:
		return err
	}
	s.book.look(s.azure.Machines(), time.Now())
	s.played = true
	s.n.say("all Jobs have ended; %s", s.standing())
	return nil
}

// createFrame makes one Job of the load, of one pod that is never made again.
func (s *farm) createFrame(ctx context.Context, of traces.Pod) error {
	t := pod(frameApp, fmt.Sprintf("%dm", of.Asks.Milli), fmt.Sprintf("%dMi", of.Asks.MiB))
	t.Annotations = map[string]string{kubelets.RunForAnnotation: (of.Run / time.Duration(s.speed)).String()}
	t.Spec.RestartPolicy = corev1.RestartPolicyNever
	_, err := s.client.BatchV1().Jobs(metav1.NamespaceDefault).Create(ctx, &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: of.Name, Namespace: metav1.NamespaceDefault, Labels: t.Labels},
		Spec:       batchv1.JobSpec{BackoffLimit: new(int32(0)), Template: t},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create Job %s: %w", of.Name, err)
	}
	return nil
}

// jobsEnded counts the Jobs' pods that have come to an end, whichever.
func (s *farm) jobsEnded() int {
	n := 0
	for _, p := range s.observer.podsOf(frameApp) {
		if !p.finished.IsZero() || !p.gone.IsZero() {
			n++
		}
	}
	return n
}
