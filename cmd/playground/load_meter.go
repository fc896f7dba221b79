package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"k8s.io/client-go/rest"
)

// meter watches the process of sluice from outside.
type meter struct {
	out     io.Writer
	proxy   *proxy
	process atomic.Pointer[os.Process]
	before  atomic.Int64 // nanoseconds of CPU that processes before this one took
	starts  atomic.Int64 // how often it was started again
	address string       // of its own pages
	begun   time.Time
	parts   []taken
}

// taken is what one part of the story took.
type taken struct {
	name     string
	lasted   time.Duration
	cpu      time.Duration
	resident int64 // bytes, at most
	requests int64
}

// sample is the process as it is.
type sample struct {
	at       time.Time
	cpu      time.Duration // user and system, since its start
	resident int64         // bytes
	requests int64         // to the API server, since its start
}

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
	free.Close()
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
		"--azure-metadata-endpoint=" + p.metadataURL, "--scale-down-unneeded-time=1m", "--scale-down-delay-after-add=1m",
	}
	for _, g := range groups {
		args = append(args, "--nodes="+g.flag())
	}
	m := &meter{proxy: front, address: "http://" + address, begun: time.Now()}
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

// look samples the process, as proc(5) has it.
func (m *meter) look() (sample, error) {
	before := time.Duration(m.before.Load())
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", m.process.Load().Pid))
	if errors.Is(err, os.ErrNotExist) { // between two processes
		return sample{time.Now(), before, 0, m.proxy.requests.Load()}, nil
	}
	if err != nil {
		return sample{}, err
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var ticks, pages int64
	for _, i := range []int{11, 12} { // utime and stime, in hundredths of a second
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return sample{}, err
		}
		ticks += n
	}
	if pages, err = strconv.ParseInt(fields[21], 10, 64); err != nil {
		return sample{}, err
	}
	return sample{time.Now(), before + time.Duration(ticks)*10*time.Millisecond, pages * int64(os.Getpagesize()), m.proxy.requests.Load()}, nil
}

// part does one part of the story and tells, every ten seconds and at its end, what it takes.
func (m *meter) part(ctx context.Context, name string, do func(context.Context) error) error {
	first, err := m.look()
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- do(ctx) }()
	told, most := first, first.resident
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		var result error
		ended := false
		select {
		case result = <-done:
			ended = true
		case <-every.C:
		}
		now, err := m.look()
		if err != nil {
			return errors.Join(result, err)
		}
		most = max(most, now.resident)
		if ended || now.at.Sub(told.at) >= 10*time.Second {
			span := now.at.Sub(told.at)
			_, _ = fmt.Fprintf(m.out, "%7s  %-16s cpu %6.2f %%  resident %4d MB  requests %5d\n",
				now.at.Sub(m.begun).Round(time.Second), name, 100*float64(now.cpu-told.cpu)/float64(max(span, time.Millisecond)), now.resident>>20, now.requests-told.requests)
			told = now
		}
		if ended {
			m.parts = append(m.parts, taken{name, now.at.Sub(first.at), now.cpu - first.cpu, most, now.requests - first.requests})
			return result
		}
	}
}

// summary is one line for each part.
func (m *meter) summary() {
	w := tabwriter.NewWriter(m.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "\npart\tlasted\tCPU of one core\tresident at most\trequests\ta minute")
	for _, p := range m.parts {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%.2f %%\t%d MB\t%d\t%.0f\n", p.name, p.lasted.Round(time.Second), 100*float64(p.cpu)/float64(p.lasted), p.resident>>20, p.requests,
			float64(p.requests)/p.lasted.Minutes())
	}
	w.Flush()
	_, _ = fmt.Fprintf(m.out, "sluice was started again %d times\n", m.starts.Load())
}
