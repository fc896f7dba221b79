package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/controlplane"
	"sluice.dev/sluice/internal/controlplane/kubelets"
	"sluice.dev/sluice/internal/report"
)

// Files in the playground's directory.
const (
	planeDir    = "controlplane" // of etcd, certificates and kubeconfigs
	planeLog    = "controlplane.log"
	sluiceLog   = "sluice.log"
	journalFile = "journal.jsonl"
)

// playground is everything that runs. Its fields are set by open and not changed after.
type playground struct {
	options
	dir       string // absolute
	temporary bool   // dir was made by open

	plane    *controlplane.ControlPlane
	client   kubernetes.Interface // an administrator's
	azure    *azuresim.Server
	kubelets *kubelets.Kubelets
	observer *observer
	denied   *denials
	log      *slog.Logger // of everything but the control plane

	managerURL, metadataURL, sluiceURL string

	ends []func() error // what close does, in reverse order
}

// open starts everything and returns when sluice has begun. The returned context ends with ctx, and when a part that should go on
// has ended, which is then its cause. Whatever happens, close must be called.
func open(ctx context.Context, o options, n *narrator) (*playground, context.Context, error) {
	p := &playground{options: o, denied: &denials{}}
	ctx, fail := context.WithCancelCause(ctx)
	p.atEnd(func() error { fail(nil); return nil })
	for _, step := range []struct {
		what string
		do   func(context.Context, context.CancelCauseFunc) error
	}{
		{"directory", p.makeDirectory},
		{"control plane", p.startControlPlane},
		{"simulated Azure", p.startAzure},
		{"simulated kubelets", p.startKubelets},
		{"watch", p.startObserver},
		{"sluice", p.startSluice},
	} {
		n.progress("starting: " + step.what)
		if err := step.do(ctx, fail); err != nil {
			return p, ctx, fmt.Errorf("start the %s: %w", step.what, err)
		}
	}
	return p, ctx, nil
}

func (p *playground) atEnd(end func() error) { p.ends = append(p.ends, end) }

// close ends everything, the last started first. Files in a temporary directory are removed unless keepFiles, and then only what
// explains the story is left of them.
func (p *playground) close(keepFiles bool) error {
	var errs []error
	for i := len(p.ends) - 1; i >= 0; i-- {
		errs = append(errs, p.ends[i]())
	}
	switch {
	case p.dir == "" || !p.temporary:
	case keepFiles:
		errs = append(errs, os.RemoveAll(filepath.Join(p.dir, planeDir)))
	default:
		errs = append(errs, os.RemoveAll(p.dir))
	}
	return errors.Join(errs...)
}

// inBackground runs f with a context that ends with the playground, which waits for f. What f returns before then ends the playground.
func (p *playground) inBackground(name string, fail context.CancelCauseFunc, f func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		err := f(ctx)
		if ctx.Err() == nil {
			fail(fmt.Errorf("%s ended by itself: %w", name, cmp.Or(err, errors.New("without an error"))))
		}
	})
	p.atEnd(func() error {
		cancel()
		running.Wait()
		return nil
	})
}

func (p *playground) makeDirectory(context.Context, context.CancelCauseFunc) error {
	if p.options.dir == "" {
		dir, err := os.MkdirTemp("", "playground-")
		if err != nil {
			return err
		}
		p.dir, p.temporary = dir, true
	} else {
		dir, err := filepath.Abs(p.options.dir)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("--dir=%s: %w", p.options.dir, err)
		}
		if there, err := os.ReadDir(dir); err != nil || len(there) > 0 {
			return fmt.Errorf("--dir=%s: it is not empty; name a new or an empty directory", p.options.dir)
		}
		p.dir = dir
	}
	file, err := p.create(sluiceLog)
	if err != nil {
		return err
	}
	level := slog.LevelInfo
	if p.verbosity >= 4 {
		level = slog.LevelDebug
	}
	p.log = slog.New(slog.NewTextHandler(file, &slog.HandlerOptions{Level: level}))
	report.BridgeKlog(p.log)
	return nil
}

// create makes a file in the directory that is closed at the end.
func (p *playground) create(name string) (io.Writer, error) {
	file, err := os.Create(p.path(name))
	if err != nil {
		return nil, err
	}
	p.atEnd(file.Close)
	return file, nil
}

func (p *playground) path(name string) string { return filepath.Join(p.dir, name) }

func (p *playground) startControlPlane(ctx context.Context, _ context.CancelCauseFunc) error {
	file, err := p.create(planeLog)
	if err != nil {
		return err
	}
	p.plane, err = controlplane.Start(ctx, controlplane.Options{
		Dir: p.path(planeDir), Log: file, Binaries: p.options.kubernetes, SchedulerQPS: p.script.schedulerQPS, ControllersQPS: p.script.controllersQPS,
	})
	if err != nil {
		return err
	}
	p.atEnd(p.plane.Stop)
	p.client, err = kubernetes.NewForConfig(p.plane.Config())
	return err
}

// startAzure serves Resource Manager and the token authority at one address, the metadata of the control plane's machine at another.
func (p *playground) startAzure(context.Context, context.CancelCauseFunc) error {
	var err error
	if p.azure, err = newAzure(p.script); err != nil {
		return err
	}
	manager, url, err := listen(p.azure, p.log)
	if err != nil {
		return err
	}
	p.managerURL = url
	p.atEnd(manager.Close)
	metadata, url, err := listen(p.azure.Metadata(controlPlane), p.log)
	if err != nil {
		return err
	}
	p.metadataURL = url
	p.atEnd(metadata.Close)
	return nil
}

func (p *playground) startKubelets(_ context.Context, fail context.CancelCauseFunc) error {
	p.kubelets = &kubelets.Kubelets{
		Client: p.client, NodeReady: 500 * time.Millisecond, PodStart: 300 * time.Millisecond, PodStop: 500 * time.Millisecond,
	}
	p.inBackground("the simulated kubelets", fail, p.kubelets.Run)
	m := &machines{azure: p.azure, kubelets: p.kubelets, delay: p.script.join, log: p.log}
	p.inBackground("the machines", fail, func(ctx context.Context) error { m.run(ctx); return nil })
	return nil
}

func (p *playground) startObserver(ctx context.Context, fail context.CancelCauseFunc) error {
	p.observer = newObserver(p.client)
	p.inBackground("the watch", fail, func(ctx context.Context) error { p.observer.run(ctx); return nil })
	return p.observer.wait(ctx)
}

// startSluice starts it and waits until it answers.
func (p *playground) startSluice(ctx context.Context, fail context.CancelCauseFunc) error {
	config, err := account(ctx, p.plane.Config(), p.client, p.denied)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p.sluiceURL = "http://" + listener.Addr().String()
	p.inBackground("sluice", fail, func(ctx context.Context) error { return p.runSluice(ctx, config, listener) })
	return poll(ctx, 30*time.Second, func() (bool, error) { return answers(ctx, p.sluiceURL+"/readyz") })
}
