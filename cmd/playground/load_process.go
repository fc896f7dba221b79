package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
)

// start runs sluice as a process of its own, behind a proxy that has the rights of deploy/rbac.yaml and counts.
func (l load) start(ctx context.Context, p *playground, fail context.CancelCauseFunc) (*meter, error) {
	config, err := account(ctx, p.plane.Config(), p.client, p.denied)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	front, err := newProxy(config.Host, transport)
	if err != nil {
		return nil, err
	}
	p.atEnd(front.close)
	kubeconfig := p.path("sluice.kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: load, cluster: {server: %q}}]\nusers: [{name: sluice, user: {}}]\ncontexts: [{name: load, context: {cluster: load, user: sluice}}]\ncurrent-context: load\n", front.url)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		return nil, err
	}
	free, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		return nil, err
	}
	log, err := p.create("sluice-process.log")
	if err != nil {
		return nil, err
	}
	binary, err := filepath.Abs(l.binary)
	if err != nil {
		return nil, err
	}
	args := []string{
		"run", "--kubeconfig=" + kubeconfig, "--address=" + address, "--azure-resource-manager-endpoint=" + p.managerURL, "--azure-authority-host=" + p.managerURL,
		"--azure-metadata-endpoint=" + p.metadataURL, "--scale-down-unneeded-time=30s", "--scale-down-delay-after-add=30s",
		"--max-scale-down-parallelism=100", // else most of the time goes by waiting for ten machines after the other to leave
	}
	if l.profiles {
		args = append(args, "--profiling")
	}
	for _, g := range groups {
		args = append(args, "--nodes="+g.flag())
	}
	m := &meter{proxy: front, address: "http://" + address}
	begin := func() (*exec.Cmd, error) {
		command := exec.Command(binary, args...)
		command.Stdout, command.Stderr, command.Env = log, log, []string{"HOME=" + p.dir}
		if err := command.Start(); err != nil {
			return nil, fmt.Errorf("start %s: %w; build it with make build", l.binary, err)
		}
		m.process.Store(command.Process)
		return command, nil
	}
	command, err := begin()
	if err != nil {
		return nil, err
	}
	p.inBackground("sluice", fail, func(ctx context.Context) error { return m.keep(ctx, command, begin) })
	return m, nil
}

// keep starts sluice again when it ends, as a kubelet does: one that has lost its lease ends by itself.
func (m *meter) keep(ctx context.Context, command *exec.Cmd, begin func() (*exec.Cmd, error)) error {
	for {
		ended := make(chan error, 1)
		go func() { ended <- command.Wait() }()
		var how error
		select {
		case how = <-ended:
		case <-ctx.Done():
			return errors.Join(command.Process.Signal(os.Interrupt), <-ended)
		}
		var status *exec.ExitError
		if how != nil && !errors.As(how, &status) {
			return fmt.Errorf("wait for sluice: %w", how)
		}
		if state := command.ProcessState; state != nil {
			m.before.Add(int64(state.UserTime() + state.SystemTime()))
		}
		m.starts.Add(1)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil
		}
		var err error
		if command, err = begin(); err != nil {
			return err
		}
	}
}

// profiled is a part of the story that also writes what sluice's memory holds before it, and where its CPU time goes in its first half minute.
func (m *meter) profiled(path string, do func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := m.profile(ctx, "heap?gc=1", path+".heap"); err != nil {
			return err
		}
		written := make(chan error, 1)
		go func() { written <- m.profile(ctx, "profile?seconds=30", path+".cpu") }()
		return errors.Join(do(ctx), <-written)
	}
}

// profile writes what sluice answers under /debug/pprof/ into a file.
func (m *meter) profile(ctx context.Context, what, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.address+"/debug/pprof/"+what, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, resp.Body)
	return errors.Join(err, file.Close())
}
