// Command boot plays a cluster's life in minutes, as its operator sees it: sluice cluster init and up on a simulated Azure whose machines really boot, by
// systemd and the rendered cloud-init; a control plane of kubeadm, agents that join by proof, sluice as a pod that grows and shrinks the pool; and sluice
// cluster down. It prints every step with its time. It needs root, and says loudly what it left out where it cannot.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/internal/azuresim/host"
)

func main() {
	if host.Stage() { // a machine begins here
		os.Exit(1)
	}
	var o options
	flag.StringVar(&o.binaries, "binaries", "bin/boot/bin", "`folder` with sluice, kubelet, kubeadm, kubectl, the control plane, etcd, CoreDNS and pause")
	flag.StringVar(&o.dir, "dir", "bin/boot", "`folder` for the machines and their image")
	flag.StringVar(&o.cache, "cache", "", "`folder` for the root file system; empty: sluice/boot in the user's cache")
	flag.StringVar(&o.version, "version", "", "Kubernetes' `version`, as the binaries tell it")
	flag.StringVar(&o.cloudProvider, "cloud-provider", "", "`version` of the cloud-provider-azure that was built; empty: without it")
	flag.BoolVar(&o.able, "able", false, "only say why machines cannot boot here, if they cannot")
	flag.BoolVar(&o.prepare, "prepare", false, "only make the root file system")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(code(o.run(ctx)))
}

// code is the exit code: 3 where machines cannot boot, which hack/boot/run makes a success where the caller allows that nothing is tried.
func code(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errors.ErrUnsupported) && os.Getenv("ALLOW_SKIP") != "":
		fmt.Fprintf(os.Stderr, "\nup: LEFT OUT, as ALLOW_SKIP allows: no machine booted, no kubelet ran, nothing was tried.\nup: %v\n", err)
		return 3
	case errors.Is(err, errors.ErrUnsupported):
		fmt.Fprintf(os.Stderr, "\nup: NOTHING WAS TRIED: %v\nup: ALLOW_SKIP=1 lets this pass\n", err)
		return 3
	}
	fmt.Fprintln(os.Stderr, "\nup:", err)
	return 1
}

type options struct {
	binaries, dir, cache, version string
	cloudProvider                 string
	able, prepare                 bool
}

func (o options) run(ctx context.Context) (err error) {
	if err := host.Able(); err != nil || o.able {
		return err
	}
	s := &story{start: time.Now(), last: time.Now()}
	for _, folder := range []*string{&o.dir, &o.binaries} { // the operator is in another folder
		absolute, err := filepath.Abs(*folder)
		if err != nil {
			return err
		}
		*folder = absolute
	}
	if o.cache == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		o.cache = filepath.Join(cache, "sluice", "boot")
	}
	log, err := os.Create(filepath.Join(o.dir, "root.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	if o.prepare {
		fmt.Fprintln(os.Stderr, "up: the root file system is in", o.cache, "or is made now, from Debian's packages, which takes minutes")
	}
	root, err := host.Root(ctx, o.cache, log)
	if err != nil {
		return fmt.Errorf("%w; see %s", err, log.Name())
	}
	if o.prepare {
		return nil
	}
	image := filepath.Join(o.dir, "image")
	t, err := trust(filepath.Join(o.dir, "azure"))
	if err != nil {
		return err
	}
	m := maker{image: image, root: root, binaries: o.binaries, work: o.dir, version: o.version, cloudProvider: o.cloudProvider, trusted: t}
	if err := m.make(ctx); err != nil {
		return err
	}
	s.pause = m.names["pause"]
	s.step("the machine image is there")

	if s.world, err = open([]string{image, root}, o.dir, t, s.say); err != nil {
		return err
	}
	defer func() {
		if err != nil && ctx.Err() == nil { // nobody waits for it who has pressed Ctrl-C
			s.evidence(o.dir)
		}
		err = errors.Join(err, s.close())
		s.step("all machines are gone")
	}()
	if s.operator, err = newOperator(s.world, filepath.Join(o.dir, "operator"), o.binaries, t, s.say); err != nil {
		return err
	}
	if err := s.play(ctx, o); err != nil {
		return err
	}
	fmt.Printf("\nup: the whole life of a cluster in %.0f s\n", time.Since(s.start).Seconds())
	return nil
}

// story is what is played, and when its last step was.
type story struct {
	*world
	operator *operator
	pause    string // an image that every machine has
	kube     *kubernetes.Clientset

	first, second map[string]machine // of each pool: its first machine, and the one that sluice adds

	start, last time.Time
}

// step says what has happened, at what time, and how long it took.
func (s *story) step(format string, args ...any) {
	now := time.Now()
	fmt.Printf("%6.1f s  %+5.1f  %s\n", now.Sub(s.start).Seconds(), now.Sub(s.last).Seconds(), fmt.Sprintf(format, args...))
	s.last = now
}

func (s *story) say(format string, args ...any) {
	fmt.Printf("%6.1f s         · %s\n", time.Since(s.start).Seconds(), fmt.Sprintf(format, args...))
}

// evidence keeps what the machines wrote, for whoever looks for what went wrong.
func (s *story) evidence(dir string) {
	for _, m := range s.azure.Machines() {
		text, _ := s.host.Console(m.ID)
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		out, also, err := s.host.Run(ctx, m.ID, []string{
			"journalctl --no-pager -o short-monotonic", "ctr -n k8s.io containers ls", "tail -n 60 /var/log/containers/*.log",
		})
		cancel()
		file := filepath.Join(dir, m.Name+".log")
		if os.WriteFile(file, fmt.Appendf(nil, "%s\n\n%v\n%s\n%s\n", text, err, out, also), 0o600) == nil {
			fmt.Fprintln(os.Stderr, "up: the serial console and the journal of", m.Name, "are in", file)
		}
	}
}

// until waits until something holds, which is asked for again and again.
func until(ctx context.Context, what string, holds func() (bool, error)) error {
	const most = 5 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for {
		ok, err := holds()
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited for %s: %w", what, errors.Join(ctx.Err(), err))
		case <-time.After(100 * time.Millisecond):
		}
	}
}
