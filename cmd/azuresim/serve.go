package main

import (
	"bytes"
	"context"
	"crypto/tls"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"sluice.dev/sluice/internal/azuresim"
)

//go:embed example.yaml
var example []byte

// identityHeader is the secret of every endpoint of --identity.
const identityHeader = "simulated"

// options are the flags of a server.
type options struct {
	world    string
	listen   string
	plain    bool
	dir      string
	metadata []string
	identity []string
	run      string
	control  string
	seed     uint64
	speed    float64
}

func exampleCommand() *cobra.Command {
	return &cobra.Command{
		Use: "example", Short: "Print the built-in world, to start a file of your own from", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(example)
			return err
		},
	}
}

// load reads the world and puts it into a server.
func (o options) load(c *clock) (*azuresim.Server, *azuresim.World, error) {
	var w *azuresim.World
	var err error
	if o.world == "" {
		w, err = azuresim.ParseWorld(example, c.now())
	} else {
		w, err = azuresim.LoadWorld(o.world, c.now())
	}
	if err != nil {
		return nil, nil, err
	}
	if o.seed != 0 {
		w.Seed = o.seed
	}
	w.AnyToken = w.AnyToken || o.speed > 1
	s := &azuresim.Server{Now: c.now, Sleep: c.sleep}
	if err := w.Populate(s); err != nil {
		return nil, nil, fmt.Errorf("build the world: %w", err)
	}
	return s, w, nil
}

// serve runs a server until the context ends.
func serve(ctx context.Context, o options, out io.Writer) error {
	if o.speed <= 0 {
		return fmt.Errorf("--speed=%v is not above 0: 1 is real time, 60 makes a minute of a second", o.speed)
	}
	c := newClock(o.speed)
	azure, world, err := o.load(c)
	if err != nil {
		return err
	}
	if o.run != "" {
		azure.Run = agent(ctx, o.run)
	}
	dir := o.dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "azuresim-"); err != nil {
			return fmt.Errorf("make a directory for the certificate: %w", err)
		}
		defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory that stays is no harm
	} else if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the directory of --dir: %w", err)
	}

	f := &front{ctx: ctx}
	defer f.close()
	arm, err := f.open("--listen", o.listen)
	if err != nil {
		return err
	}
	p := place{dir: dir, scheme: "https", address: arm.Addr().String(), world: world}
	if o.plain {
		p.scheme = "http"
	} else {
		host, _, _ := net.SplitHostPort(p.address)
		pair, err := certificate(dir, host)
		if err != nil {
			return err
		}
		arm = tls.NewListener(arm, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	}
	f.serve(arm, azure)
	attestor, err := azure.Attestor()
	if err != nil {
		return err
	}
	if err := writeAttestation(dir, attestor.Certificates()); err != nil {
		return err
	}

	for _, given := range o.metadata {
		url, machine, err := f.machine("--metadata", given, azure.Metadata)
		if err != nil {
			return err
		}
		p.metadata = append(p.metadata, url+" = "+machine)
	}
	for _, given := range o.identity {
		url, machine, err := f.machine("--identity", given, func(vm string) http.Handler { return azure.AppServiceIdentity(vm, identityHeader) })
		if err != nil {
			return err
		}
		p.identity = append(p.identity, "IDENTITY_ENDPOINT="+url+"/msi/token IDENTITY_HEADER="+identityHeader+" = "+machine)
	}

	if err := loopback(o.control); err != nil {
		return err
	}
	l, err := f.open("--control", o.control)
	if err != nil {
		return err
	}
	p.control = l.Addr().String()
	f.serve(l, withSpeed(azure.Control(), c))

	if err := p.writeFiles(); err != nil {
		return err
	}
	p.describe(out)
	<-ctx.Done()
	fmt.Fprintf(out, "azuresim: stopped after %d requests\n", requests(azure))
	return nil
}

// agent is a program in the place of the agents of all machines. It ends with the server.
func agent(serving context.Context, program string) func(context.Context, string, []string) (string, string, error) {
	return func(ctx context.Context, machine string, script []string) (string, string, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(serving, cancel)()
		var stdout, stderr bytes.Buffer
		cmd := exec.CommandContext(ctx, program, machine) //nolint:gosec // whoever starts the simulator names it
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(strings.Join(script, "\n")+"\n"), &stdout, &stderr
		cmd.WaitDelay = time.Second // what the script started may hold its output open
		err := cmd.Run()
		return stdout.String(), stderr.String(), err
	}
}

func requests(s *azuresim.Server) (n int) {
	for _, k := range s.Counters() {
		n += k
	}
	return n
}

// loopback refuses a control address that others could reach.
func loopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("--control=%s is not a loopback address: it has no authentication; write 127.0.0.1:8444", address)
	}
	return nil
}

// front holds the listeners. What hangs ends with the context.
type front struct {
	ctx     context.Context
	servers []*http.Server
	running sync.WaitGroup
}

func (f *front) open(flag, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; choose another address, or port 0 for a free one", flag, err)
	}
	return l, nil
}

// machine serves what a machine reaches at the address that ADDRESS=MACHINE gives, and says where and of which.
func (f *front) machine(flag, given string, handler func(machine string) http.Handler) (url, machine string, err error) {
	address, machine, ok := strings.Cut(given, "=")
	if !ok {
		return "", "", fmt.Errorf("%s=%s names no machine: write 127.0.0.1:9000=agents_0", flag, given)
	}
	l, err := f.open(flag, address)
	if err != nil {
		return "", "", err
	}
	f.serve(l, handler(machine))
	return "http://" + l.Addr().String(), machine, nil
}

func (f *front) serve(l net.Listener, h http.Handler) {
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: 30 * time.Second,
		BaseContext: func(net.Listener) context.Context { return f.ctx },
	}
	f.servers = append(f.servers, s)
	f.running.Go(func() { _ = s.Serve(l) }) // ends with close, and says so
}

// close lets requests that are being answered end, within two seconds.
func (f *front) close() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.ctx), 2*time.Second)
	defer cancel()
	for _, s := range f.servers {
		if err := s.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
			_ = s.Close() // they had their time
		}
	}
	f.running.Wait()
}
