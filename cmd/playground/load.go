package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/internal/azuresim"
)

// load is a large cluster and how it is stirred.
type load struct {
	options
	nodes, podsEach, burst int
	steady                 time.Duration // how long nothing happens
	away                   time.Duration // how long the API server is out of sluice's reach, in the middle of everything
	binary                 string        // of sluice, which runs as a process of its own so that what it takes is its own
}

const (
	loadGroups = 10 // node groups
	loadPod    = "250m"
	creators   = 16 // requests at once while the cluster is filled
)

var d8s = size{"Standard_D8s_v5", "standardDSv5Family", 8, 32}

func loadCommand() *cobra.Command {
	l := load{}
	cmd := &cobra.Command{
		Use:   "load",
		Short: "Measure what sluice takes in a large cluster on the real control plane",
		Long: `Fill a real control plane with simulated nodes and pods, run sluice beside it as a process of its own, and print what it takes: its CPU as a share
of one core, its resident memory, and its requests to the API server. First nothing happens; then many pods come at once; then they leave, and
their machines after them; then, with nothing to do again, the API server is out of reach for a while and comes back.

A thousand nodes with thirty pods each take about ten CPU minutes to set up on two cores, and 4 GB of memory.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return l.perform(cmd.Context(), cmd.OutOrStdout()) },
	}
	f := cmd.Flags()
	f.IntVar(&l.nodes, "nodes", 1000, "nodes at the beginning")
	f.IntVar(&l.podsEach, "pods", 30, "pods on each of them, at most 31")
	f.IntVar(&l.burst, "burst", 5000, "pods that come at once")
	f.DurationVar(&l.steady, "steady", 2*time.Minute, "how long nothing happens before the burst, and before and after the API server is away")
	f.DurationVar(&l.away, "away", 20*time.Second, "how long the API server is out of reach")
	f.StringVar(&l.binary, "sluice", "bin/sluice", "the sluice that is measured")
	f.StringVar(&l.dir, "dir", "", "directory for the logs, new or empty; it stays. Empty: a temporary one")
	return cmd
}

// perform plays the load and prints one line every ten seconds, and one for each part at the end.
func (l load) perform(ctx context.Context, out io.Writer) (err error) {
	if l.nodes < loadGroups || l.podsEach < 0 || l.podsEach > 31 || l.burst < 1 {
		return fmt.Errorf("--nodes=%d --pods=%d --burst=%d: give at least %d nodes, 0 to 31 pods and one pod of a burst", l.nodes, l.podsEach, l.burst, loadGroups)
	}
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
	for _, start := range []func(context.Context, context.CancelCauseFunc) error{p.makeDirectory, p.startControlPlane, p.startAzure, p.startKubelets} {
		if err := start(ctx, fail); err != nil {
			return err
		}
	}
	config := p.plane.Config()
	config.QPS = -1
	if p.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	begun := time.Now()
	if err := l.fill(ctx, p); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "%d nodes and %d pods stand after %s\n", l.nodes, l.nodes*l.podsEach, time.Since(begun).Round(time.Second))
	m, err := l.start(ctx, p, fail)
	if err != nil {
		return err
	}
	m.out = out
	return l.stir(ctx, p, m)
}

// fill waits for the nodes and puts pods on each.
func (l load) fill(ctx context.Context, p *playground) error {
	var names []string
	err := poll(ctx, 20*time.Minute, func() (bool, error) {
		nodes, err := p.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return false, err // and asked again
		}
		names = names[:0]
		for _, n := range nodes.Items {
			if n.Labels[poolLabel] != "" {
				names = append(names, n.Name)
			}
		}
		return len(names) == l.nodes/loadGroups*loadGroups, nil
	})
	if err != nil {
		return fmt.Errorf("wait for %d nodes: %w", l.nodes, err)
	}
	work := make(chan *corev1.Pod)
	failed := make(chan error, creators)
	var running sync.WaitGroup
	for range creators {
		running.Go(func() {
			for t := range work {
				if err := create(ctx, p.client, t); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	err = func() error {
		defer running.Wait()
		defer close(work)
		for _, node := range names {
			for i := range l.podsEach {
				one := pod("base", loadPod, "256Mi")
				one.Spec.NodeName = node
				select {
				case work <- &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: fmt.Sprintf("base-%s-%d", node, i), Labels: one.Labels}, Spec: one.Spec}:
				case err := <-failed:
					return fmt.Errorf("create pods: %w", err)
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
		}
		return nil
	}()
	if err != nil {
		return err
	}
	return l.await(ctx, p, "the pods run", 20*time.Minute, "app=base", func(running, all int) bool { return running == all })
}

// create makes a pod. An API server that is busy may answer too late, and is asked again.
func create(ctx context.Context, client kubernetes.Interface, p *corev1.Pod) error {
	for tries := 0; ; tries++ {
		_, err := client.CoreV1().Pods(p.Namespace).Create(ctx, p, metav1.CreateOptions{})
		switch {
		case err == nil, apierrors.IsAlreadyExists(err):
			return nil
		case ctx.Err() != nil, tries == 20:
			return err
		}
	}
}

// await polls, gently, until so many pods with a label run of so many that exist.
func (l load) await(ctx context.Context, p *playground, what string, patience time.Duration, selector string, so func(running, all int) bool) error {
	begun := time.Now()
	for {
		all, err := p.client.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{LabelSelector: selector, ResourceVersion: "0"})
		running := 0
		if err == nil { // else it is asked again: it may be busy
			for i := range all.Items {
				if all.Items[i].Status.Phase == corev1.PodRunning {
					running++
				}
			}
			if so(running, len(all.Items)) {
				return nil
			}
		}
		if time.Since(begun) > patience {
			return errors.Join(fmt.Errorf("%s: %w: %d run", what, errPatience, running), err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(5 * time.Second):
		}
	}
}

// stir is the story: nothing, a burst, its end, nothing, an API server that is away, nothing.
func (l load) stir(ctx context.Context, p *playground, m *meter) error {
	quiet := func(ctx context.Context) error {
		select {
		case <-time.After(l.steady):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	for _, part := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"start", func(ctx context.Context) error {
			return poll(ctx, 2*time.Minute, func() (bool, error) { return answers(ctx, m.address+"/readyz") })
		}},
		{"settling", quiet},
		{"steady", quiet},
		{"burst", func(ctx context.Context) error {
			if err := p.createDeployment(ctx, pod("burst", loadPod, "256Mi"), l.burst); err != nil {
				return err
			}
			return l.await(ctx, p, "the burst runs", 20*time.Minute, "app=burst", func(running, all int) bool { return running == l.burst && all == l.burst })
		}},
		{"the load leaves", func(ctx context.Context) error {
			if err := p.deleteDeployment(ctx, "burst"); err != nil {
				return err
			}
			return poll(ctx, 15*time.Minute, func() (bool, error) { return p.machineCount() <= l.nodes/loadGroups*loadGroups, nil })
		}},
		{"steady again", quiet},
		{"no API server", func(ctx context.Context) error {
			m.proxy.away(true)
			select {
			case <-time.After(l.away):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			m.proxy.away(false)
			return poll(ctx, 2*time.Minute, func() (bool, error) { return answers(ctx, m.address+"/readyz") })
		}},
		{"steady after it", quiet},
	} {
		if err := m.part(ctx, part.name, part.do); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	m.summary()
	return nil
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
