package k3sim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"sluice.dev/sluice/internal/k3sim/trial"
)

// pretended are machines on which the stand-in runs in the place of K3s: they understand the few commands that a trial gives.
type pretended struct {
	t      *testing.T
	api    *rest.Config
	client kubernetes.Interface
	server *Server

	mu  sync.Mutex
	all map[string]*pretence
}

type pretence struct {
	agent *Agent
	log   strings.Builder
	stop  context.CancelFunc // nil while it is off
	ended chan struct{}
}

// field is what a line of a K3s configuration says.
func field(text, key string) string {
	_, rest, _ := strings.Cut(text, "\n"+key+": ")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

func (p *pretended) PowerOn(_ context.Context, name string, userData []byte) (err error) {
	text := string(userData)
	if name == "server" {
		p.server, err = Start(Options{API: p.api, Token: field(text, "token"), AgentToken: field(text, "agent-token")})
		if err == nil {
			p.t.Cleanup(p.server.Stop)
		}
		return err
	}
	p.mu.Lock()
	m := p.all[name]
	if m == nil {
		m = &pretence{agent: &Agent{Server: field(text, "server"), Token: field(text, "token"), Host: field(text, "node-name"), IP: "10.10.0.9", UUID: random(4), Disk: &Disk{}}}
		p.all[name] = m
	}
	p.mu.Unlock()
	p.run(m)
	return nil
}

// run is the agent's process.
func (p *pretended) run(m *pretence) {
	ctx, cancel := context.WithCancel(p.t.Context())
	m.stop, m.ended = cancel, make(chan struct{})
	go func() {
		defer close(m.ended)
		for turn := time.NewTicker(50 * time.Millisecond); ctx.Err() == nil; <-turn.C {
			p.mu.Lock()
			agent := *m.agent
			p.mu.Unlock()
			if err := agent.Join(ctx); err != nil {
				p.mu.Lock()
				fmt.Fprintln(&m.log, err)
				p.mu.Unlock()
				continue
			}
			<-ctx.Done()
		}
	}()
}

func (p *pretended) Run(ctx context.Context, name, command string) (string, error) {
	if command == "cat "+trial.Kubeconfig {
		if p.server == nil {
			return "", errors.New("no such file")
		}
		text, err := p.server.Kubeconfig()
		return string(text), err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.all[name]
	switch {
	case m == nil:
		return "", errors.New("there is no such machine")
	case command == "cat "+trial.Log:
		return m.log.String(), nil
	case command == trial.Starter: // it starts by itself
		return "", nil
	case command == "rm -f "+trial.ClientCert:
		m.agent.Disk.ClientCert = nil
		return "", nil
	case strings.HasPrefix(command, "sed -i 's/^token: "):
		_, rest, _ := strings.Cut(command, "/token: ")
		m.agent.Token, _, _ = strings.Cut(rest, "/")
		return "", nil
	}
	return "", fmt.Errorf("%s is not understood", command)
}

// PowerOff ends the agent; and its node is silent at once, where a real one's is after some time.
func (p *pretended) PowerOff(ctx context.Context, name string) error {
	p.mu.Lock()
	m := p.all[name]
	p.mu.Unlock()
	m.stop()
	<-m.ended
	body := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":"Unknown","reason":"NodeStatusUnknown","lastHeartbeatTime":%q}]}}`, time.Now().UTC().Format(time.RFC3339))
	_, err := p.client.CoreV1().Nodes().Patch(ctx, name, "application/strategic-merge-patch+json", []byte(body), metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (p *pretended) Discard(_ context.Context, name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, name)
	return nil
}

func (p *pretended) Address(string) string { return "127.0.0.1" }

func (p *pretended) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, address)
}

// testTrial has the stand-in pass what an official K3s is tried by.
func testTrial(t *testing.T, api *rest.Config) {
	client, err := kubernetes.NewForConfig(api)
	if err != nil {
		t.Fatal(err)
	}
	trial.Try(t, trial.Trial{Machines: &pretended{t: t, api: api, client: client, all: map[string]*pretence{}}, Patience: time.Minute})
}
