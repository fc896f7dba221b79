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

// agents are those of all machines, and what Azure has announced to these.
type agents struct {
	clock    *simClock
	azure    *azuresim.Server
	machines *machines
	api      *apiServer
	config   *configuration

	all     map[string]*hearing  // by vmId; nil when the machines have none
	stops   map[string]time.Time // when machines to which something was announced are affected, by computer name
	notices map[string]string    // the last event that a script announced, by what it calls the machine
}

func doAgents(w *world, _ *statement) error {
	w.agents.all, w.agents.stops = map[string]*hearing{}, map[string]time.Time{}
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
			w.agents.notices[s.names[0]] = event
		}
		return err
	})
}

func doWithdraw(w *world, s *statement) error {
	event, known := w.agents.notices[s.names[0]]
	if !known {
		return fmt.Errorf("withdraw %s: nothing was announced to it with notice", s.names[0])
	}
	return w.azure.Withdraw(event)
}

// turn lets the agents look whose time has come. While Azure announces nothing to anybody and no node bears a notice, a look would find nothing
// and change nothing, and is left out.
func (as *agents) turn(ctx context.Context) error {
	if as.all == nil {
		return nil
	}
	announced := as.azure.Announcements()
	for _, a := range announced {
		as.stops[a.ComputerName] = a.Starts
	}
	for _, id := range sortedKeys(as.machines.all) {
		m := as.machines.all[id]
		if !m.joined || m.silent {
			delete(as.all, id) // it lives with its machine
			continue
		}
		h := as.all[id]
		if h == nil {
			made, err := as.begin(m)
			if err != nil {
				return err
			}
			h = made
			as.all[id] = h
		}
		switch {
		case len(announced) == 0 && h.Quiet():
			h.next = time.Time{}
		case !as.clock.now().Before(h.next):
			h.next = as.clock.now().Add(h.Cycle(ctx))
			if as.config.whims != nil {
				as.config.whims.injectBeside(ctx, h)
			}
		}
	}
	return nil
}

func (as *agents) begin(m *machine) (*hearing, error) {
	config := as.machines.cluster.RESTConfig()
	config.UserAgent = agentName + "/" + m.ComputerName
	config.Transport = as.api.carried(config.Transport)
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("start an agent: %w", err)
	}
	metadata := &imds.Client{Transport: &azuresim.Transport{Server: as.azure, Machine: m.ID}}
	return &hearing{kube: kube.Writer{Client: api}, metadata: metadata, Agent: &agent.Agent{
		Metadata: metadata, Client: api, Node: m.ComputerName,
		Heeds: agent.DefaultHeeds, DryRun: as.config.dryRun, Now: as.clock.now, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}}, nil
}

// next is when the next agent looks that has something to look for; zero when none has.
func (as *agents) next() time.Time {
	var next time.Time
	for _, h := range as.all {
		if !h.next.IsZero() && (next.IsZero() || h.next.Before(next)) {
			next = h.next
		}
	}
	return next
}
