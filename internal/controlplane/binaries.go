package controlplane

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// drainOfProcess is how long a program that is told to stop may take before it is killed. An API server waits a minute for watches that are open; what it
// has answered is in etcd.
const drainOfProcess = time.Second

// programs are the files that [Options.Binaries] has to have.
var programs = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// lackOf says which of the programs a folder lacks.
func lackOf(folder string) error {
	for _, name := range programs {
		if _, err := exec.LookPath(filepath.Join(folder, name)); err != nil {
			return fmt.Errorf("%s has no program %s: build it with make skew, or name another folder", folder, name)
		}
	}
	return nil
}

// runProgram runs a program of the folder until its component is stopped. Its lines go to the log, each under its name.
func runProgram(folder, name string, args []string) *component {
	return run(name, func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, filepath.Join(folder, name), args...)
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		cmd.WaitDelay = drainOfProcess
		end(cmd)
		var last lines
		last.prefix = name + ": "
		cmd.Stdout, cmd.Stderr = &last, &last
		err := cmd.Run()
		last.flush()
		return cmp.Or(err, errors.New("it ended by itself"))
	})
}

// lines hands what a program writes on to the log, line by line. One goroutine writes to it.
type lines struct {
	prefix string
	rest   []byte // of a line that has no end yet
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, ended := bytes.Cut(l.rest, []byte("\n"))
		if !ended {
			return len(p), nil
		}
		l.say(line)
		l.rest = rest
	}
}

func (l *lines) flush() {
	if len(l.rest) > 0 {
		l.say(l.rest)
	}
	l.rest = nil
}

func (l *lines) say(line []byte) {
	_, _ = active.Write(append(append([]byte(l.prefix), line...), '\n'))
}

// readyAt asks a program of this machine whether it is ready. It is served with kube-apiserver's certificate, whose authority it knows.
func readyAt(port int, ca []byte) (func(context.Context) error, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("the authority's certificate cannot be read")
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}}
	url := "https://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) + "/readyz"
	return func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(r)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("/readyz answers %s", answer.Status)
		}
		return nil
	}, nil
}

// onlyKnown takes from the list of controllers that are left out those that the program does not have: it refuses names that it does not know. Those of
// 1.37 and later know no controller that talks to a cloud.
func onlyKnown(arguments []string, help string) []string {
	known := slices.Clone(arguments)
	for i, a := range known {
		list, is := strings.CutPrefix(a, "--controllers=")
		if !is {
			continue
		}
		names := slices.DeleteFunc(strings.Split(list, ","), func(name string) bool {
			left, without := strings.CutPrefix(name, "-")
			return without && !strings.Contains(help, left)
		})
		known[i] = "--controllers=" + strings.Join(names, ",")
	}
	return known
}

// freePort is one on which nobody listens. The program that gets it listens on it moments later; no listener can be handed to it.
func freePort() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// parts start the components that are Kubernetes' own.
type parts struct {
	apiServer   func(listener net.Listener, arguments []string) (*component, error) // which owns the listener from a nil error on
	controllers func(arguments []string) (*component, error)
	scheduler   func(arguments []string) (*component, func(context.Context) error, error) // the second says whether it is ready
}

// linked are those that are part of this program.
var linked = parts{apiServer: startAPIServer, controllers: startControllers, scheduler: startScheduler}

// programsIn are those of a folder, each a process of its own.
func programsIn(folder string, keys *credentials) parts {
	return parts{
		apiServer: func(listener net.Listener, arguments []string) (*component, error) {
			port := listener.Addr().(*net.TCPAddr).Port
			if err := listener.Close(); err != nil { // it cannot be handed over; until now it has kept the port free
				return nil, err
			}
			return runProgram(folder, "kube-apiserver", append(arguments, "--secure-port="+strconv.Itoa(port))), nil
		},
		controllers: func(arguments []string) (*component, error) {
			help, err := exec.CommandContext(context.Background(), filepath.Join(folder, "kube-controller-manager"), "--help").Output()
			if err != nil {
				return nil, err
			}
			return runProgram(folder, "kube-controller-manager", onlyKnown(arguments, string(help))), nil
		},
		scheduler: func(arguments []string) (*component, func(context.Context) error, error) {
			port, err := freePort()
			if err != nil {
				return nil, nil, err
			}
			ready, err := readyAt(port, keys.ca.certificate)
			if err != nil {
				return nil, nil, err
			}
			return runProgram(folder, "kube-scheduler", append(arguments, "--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(port),
				"--tls-cert-file="+keys.apiserver.certificateFile, "--tls-private-key-file="+keys.apiserver.keyFile)), ready, nil
		},
	}
}
