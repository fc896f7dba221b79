package world

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/internal/agent"
	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/imds"
	"sluice.dev/sluice/internal/kube"
)

// agentName is what the agents call themselves to the API server.
const agentName = "sluice-agent"

// hearing is the agent of one machine.
type hearing struct {
	*agent.Agent
	kube     kube.Writer  // by which it writes
	metadata *imds.Client // which it asks
	next     time.Time    // its next look
}

func doAgents(w *world, _ *statement) error {
	w.agents, w.stops = map[string]*hearing{}, map[string]time.Time{}
	return nil
}

func doNotice(w *world, s *statement) error {
	kind := azuresim.EventKind(strings.ToUpper(s.names[1][:1]) + s.names[1][1:])
	notice, err := s.duration("notice", -1)
	if err != nil {
		return err
	}
	return w.machines.onMachine(s, func(id string) error {
		event, err := w.azure.Schedule(id, kind, notice)
		if err == nil {
			w.notices[s.names[0]] = event
		}
		return err
	})
}

func doWithdraw(w *world, s *statement) error {
	event, known := w.notices[s.names[0]]
	if !known {
		return fmt.Errorf("withdraw %s: nothing was announced to it with notice", s.names[0])
	}
	return w.azure.Withdraw(event)
}

// turnAgents lets the agents look whose time has come. While Azure announces nothing to anybody and no node bears a notice, a look would find nothing
// and change nothing, and is left out.
func (w *world) turnAgents(ctx context.Context) error {
	if w.agents == nil {
		return nil
	}
	announced := w.azure.Announcements()
	for _, a := range announced {
		w.stops[a.ComputerName] = a.Starts
	}
	for _, id := range sortedKeys(w.machines.all) {
		m := w.machines.all[id]
		if !m.joined || m.silent {
			delete(w.agents, id) // it lives with its machine
			continue
		}
		h := w.agents[id]
		if h == nil {
			made, err := w.newAgent(m)
			if err != nil {
				return err
			}
			h = made
			w.agents[id] = h
		}
		switch {
		case len(announced) == 0 && h.Quiet():
			h.next = time.Time{}
		case !w.now().Before(h.next):
			h.next = w.now().Add(h.Cycle(ctx))
			if w.whims != nil {
				w.injectBeside(ctx, h)
			}
		}
	}
	return nil
}

func (w *world) newAgent(m *machine) (*hearing, error) {
	config := w.cluster.RESTConfig()
	config.UserAgent = agentName + "/" + m.ComputerName
	config.Transport = w.carried(config.Transport)
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("start an agent: %w", err)
	}
	metadata := &imds.Client{Transport: &azuresim.Transport{Server: w.azure, Machine: m.ID}}
	return &hearing{kube: kube.Writer{Client: api}, metadata: metadata, Agent: &agent.Agent{
		Metadata: metadata, Client: api, Node: m.ComputerName,
		Heeds: agent.DefaultHeeds, DryRun: w.dryRun, Now: w.now, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}}, nil
}

// nextHearing is when the next agent looks that has something to look for; zero when none has.
func (w *world) nextHearing() time.Time {
	var next time.Time
	for _, h := range w.agents {
		if !h.next.IsZero() && (next.IsZero() || h.next.Before(next)) {
			next = h.next
		}
	}
	return next
}
