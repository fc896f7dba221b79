package main

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/internal/azuresim"
)

// load is a large cluster and how it is stirred.
type load struct {
	options
	nodes, podsEach, burst int
	steady                 time.Duration // how long nothing happens
	away                   time.Duration // how long the API server is away when it is restarted
	binary                 string        // of sluice, which runs as a process of its own so that what it takes is its own
	profiles               bool          // written for the first burst and the first quiet time
}

// loadGroups is how many node groups there are.
const loadGroups = 10

var d8s = size{"Standard_D8s_v5", "standardDSv5Family", 8, 32}

func loadCommand() *cobra.Command {
	l := load{}
	cmd := &cobra.Command{
		Use:   "load",
		Short: "Measure what sluice takes in a large cluster on the real control plane",
		Long: `Fill a real control plane with simulated nodes and pods, run sluice beside it as a process of its own, and print what it takes: its CPU time as
a share of one core, its resident memory, and its requests to the API server. First nothing happens; then many pods come at once; then they leave,
and their machines after them. The same again, and in the middle of the burst the API server is restarted.

Nodes register by requests; the pods that stand from the beginning are copies of one that was admitted, bound and started by requests, and are put
into etcd. The pods of the bursts take the whole way. CPU times are the process's own, so that they mean the same on a busy machine. A thousand
nodes with thirty pods each take 4 GB of memory and less than 20 minutes on two cores.

Exit code 0: within the goals; 1: over one of them; 2: it could not be played; 130: interrupted.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return l.perform(cmd.Context(), cmd.OutOrStdout()) },
	}
	f := cmd.Flags()
	f.IntVar(&l.nodes, "nodes", 1000, "nodes at the beginning")
	f.IntVar(&l.podsEach, "pods", 30, "pods on each of them, at most 31")
	f.IntVar(&l.burst, "burst", 5000, "pods that come at once")
	f.DurationVar(&l.steady, "steady", 2*time.Minute, "how long nothing happens before the bursts and after them")
	f.DurationVar(&l.away, "away", 20*time.Second, "how long the API server is away when it is restarted")
	f.StringVar(&l.binary, "sluice", "bin/sluice", "the sluice that is measured")
	f.StringVar(&l.dir, "dir", "", "directory for the logs, new or empty; it stays. Empty: a temporary one")
	f.BoolVar(&l.profiles, "profiles", false, "also write profiles of sluice into the directory: what its memory holds, and where its CPU time goes in the quiet time and the burst")
	return cmd
}

// perform plays the load and prints a line every ten seconds, and one for each part at the end. The error is [errWrong] when a goal is not met.
func (l load) perform(ctx context.Context, out io.Writer) (err error) {
	if l.nodes < loadGroups || l.podsEach < 1 || l.podsEach > 31 || l.burst < 1 {
		return fmt.Errorf("--nodes=%d --pods=%d --burst=%d: give at least %d nodes, 1 to 31 pods and one pod of a burst", l.nodes, l.podsEach, l.burst, loadGroups)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(200)) // of the control plane, which has garbage in plenty
	l.nodes -= l.nodes % loadGroups
	groups = groups[:0]
	for i := range loadGroups {
		groups = append(groups, group{name: fmt.Sprintf("load%d", i), size: d8s, min: l.nodes / loadGroups, max: 2 * l.nodes / loadGroups})
	}
	l.script = script{boot: azuresim.Fixed(20 * time.Second), remove: azuresim.Fixed(10 * time.Second), retryAfter: time.Second, join: time.Second}
	p := &playground{options: l.options, denied: &denials{}}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	defer func() {
		if failed := p.close(err != nil); err == nil {
			err = failed
		}
	}()
	began := time.Now()
	tell := func(format string, args ...any) {
		_, _ = fmt.Fprintf(out, "%7s  %s\n", time.Since(began).Round(time.Second), fmt.Sprintf(format, args...))
	}
	for _, start := range []func(context.Context, context.CancelCauseFunc) error{p.makeDirectory, p.startControlPlane, p.startLoadClient, p.startAzure, p.startKubelets} {
		if err := start(ctx, fail); err != nil {
			return err
		}
	}
	tell("etcd, API server, scheduler, controllers and Azure run; files in %s", p.dir)
	if err := l.fill(ctx, p, tell); err != nil {
		return err
	}
	m, err := l.start(ctx, p, fail)
	if err != nil {
		return err
	}
	m.out, m.begun = out, began
	if err := l.stir(ctx, p, m); err != nil {
		return err
	}
	m.summary()
	return m.judge()
}

// startLoadClient has the administrator's client speak the shorter of the API server's languages.
func (p *playground) startLoadClient(context.Context, context.CancelCauseFunc) error {
	config := p.plane.Config()
	config.ContentType, config.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"
	var err error
	p.client, err = kubernetes.NewForConfig(config)
	return err
}

// stir is the story: nothing, a burst, its end, nothing; and the same while the API server is restarted.
func (l load) stir(ctx context.Context, p *playground, m *meter) error {
	quiet := func(ctx context.Context) error { return pause(ctx, l.steady) }
	burst := func(name string, during func(context.Context) error) func(context.Context) error {
		return func(ctx context.Context) error {
			if err := p.createDeployment(ctx, pod(name, loadPod, "256Mi"), l.burst); err != nil {
				return err
			}
			if err := during(ctx); err != nil {
				return err
			}
			return l.runs(ctx, p, name)
		}
	}
	leaves := func(name string) func(context.Context) error {
		return func(ctx context.Context) error {
			if err := p.deleteDeployment(ctx, name); err != nil {
				return err
			}
			return poll(ctx, 15*time.Minute, func() (bool, error) { return p.machineCount() <= l.nodes, nil })
		}
	}
	restart := func(ctx context.Context) error {
		if err := poll(ctx, 10*time.Minute, func() (bool, error) { return p.machineCount() > l.nodes, nil }); err != nil {
			return fmt.Errorf("wait for the first new machine: %w", err)
		}
		return p.plane.RestartAPIServer(ctx, l.away)
	}
	for _, part := range []struct {
		name    string
		profile string // name of the files, if profiles are written
		do      func(context.Context) error
	}{
		{name: "start", do: func(ctx context.Context) error {
			// Only a replica that leads and has turned a cycle has verdicts; /readyz is content with one that stands by.
			return poll(ctx, 10*time.Minute, func() (bool, error) { return answers(ctx, m.address+"/api/v1/verdicts?kind=request") })
		}},
		{name: "settling", do: func(ctx context.Context) error { return pause(ctx, min(l.steady, time.Minute)) }},
		{name: steadyPart, profile: "steady", do: quiet},
		{name: "burst", profile: "burst", do: burst("burst", func(context.Context) error { return nil })},
		{name: "the load leaves", do: leaves("burst")},
		{name: "steady again", do: quiet},
		{name: "burst, API server restarted", do: burst("again", restart)},
		{name: "the load leaves again", do: leaves("again")},
		{name: "steady after all", do: quiet},
	} {
		if l.profiles && part.profile != "" {
			part.do = m.profiled(p.path(part.profile), part.do)
		}
		if err := m.part(ctx, part.name, part.do); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

// runs waits until all pods of a burst run, as its Deployment has counted them: to list them again and again would be a load of its own.
func (l load) runs(ctx context.Context, p *playground, name string) error {
	deadline := time.Now().Add(20 * time.Minute)
	for {
		d, err := p.client.AppsV1().Deployments(metav1.NamespaceDefault).Get(ctx, name, metav1.GetOptions{})
		if err == nil && int(d.Status.ReadyReplicas) == l.burst {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w: %d of %d pods run: %w", errPatience, d.Status.ReadyReplicas, l.burst, err)
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

// pause ends early with ctx, whose cause it then returns.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// machineCount is how many machines of the groups there are.
func (p *playground) machineCount() int {
	n := 0
	for _, s := range p.azure.Machines() {
		if s.ScaleSet != "" {
			n++
		}
	}
	return n
}
