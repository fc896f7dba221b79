package azuresim

import (
	"net/http"
	"strings"
	"time"
)

// eventsBody is the scheduled events document.
type eventsBody struct {
	DocumentIncarnation int         `json:"DocumentIncarnation"`
	Events              []eventBody `json:"Events"`
}

type eventBody struct {
	EventID           string   `json:"EventId"`
	EventType         string   `json:"EventType"`
	ResourceType      string   `json:"ResourceType"`
	Resources         []string `json:"Resources"`
	EventStatus       string   `json:"EventStatus"`
	NotBefore         string   `json:"NotBefore"`
	Description       string   `json:"Description"`
	EventSource       string   `json:"EventSource"`
	DurationInSeconds int      `json:"DurationInSeconds"`
}

// listening is a machine's use of scheduled events, which its first call
// enables.
type listening struct {
	since, last time.Time
}

// idleEvents is how long a machine may be silent before the service forgets it.
const idleEvents = 24 * time.Hour

// warm reports whether a machine has listened for as long as it takes to be
// served.
func (m metadataRequest) warm() bool {
	s := m.server
	if s.store.listening == nil {
		s.store.listening = map[string]listening{}
	}
	l, known := s.store.listening[m.from.vmID]
	if !known || m.now.Sub(l.last) > idleEvents {
		l.since = m.now
	}
	l.last = m.now
	s.store.listening[m.from.vmID] = l
	return m.now.Sub(l.since) >= s.EventWarmUp
}

// scheduledEvents shows a machine the events of its group, and takes its consent
// to them. The incarnation counts how often the document changed.
func (m metadataRequest) scheduledEvents() answer {
	warm := m.warm()
	if m.http.Method == http.MethodPost {
		return m.acknowledge()
	}
	body := eventsBody{Events: []eventBody{}}
	if !warm {
		return answer{status: http.StatusOK, body: body}
	}
	for _, e := range m.store.events {
		if !m.from.instance.sees(e.machine) {
			continue
		}
		for _, t := range []time.Time{e.announced, e.start(), e.end()} {
			if reached(t, m.now) && (e.withdrawn.IsZero() || !t.After(e.withdrawn)) {
				body.DocumentIncarnation++
			}
		}
		if !reached(e.end(), m.now) {
			body.Events = append(body.Events, e.wire(m.now))
		}
	}
	return answer{status: http.StatusOK, body: body}
}

func (e *event) wire(now time.Time) eventBody {
	kind := eventKinds[e.kind]
	b := eventBody{
		EventID: e.id, EventType: string(e.kind), ResourceType: "VirtualMachine", Resources: []string{e.machine.name()},
		EventStatus: "Scheduled", NotBefore: e.notBefore.Format(http.TimeFormat),
		Description: kind.description, EventSource: e.source, DurationInSeconds: kind.seconds,
	}
	if reached(e.start(), now) {
		b.EventStatus, b.NotBefore = "Started", ""
	}
	return b
}

// acknowledge starts events before their time, for all their machines, whichever
// of them agrees.
func (m metadataRequest) acknowledge() answer {
	var w struct {
		StartRequests []struct {
			EventID string `json:"EventId"`
		} `json:"StartRequests"`
	}
	if p := m.decode(&w); p != nil || len(w.StartRequests) == 0 {
		return metadataFailed(http.StatusBadRequest, "Bad request. StartRequests is required", "")
	}
	var agreed []*event
	for _, r := range w.StartRequests {
		before := len(agreed)
		for _, e := range m.store.events {
			if strings.EqualFold(e.id, r.EventID) && m.from.instance.sees(e.machine) && !reached(e.end(), m.now) {
				agreed = append(agreed, e)
			}
		}
		if len(agreed) == before {
			return metadataFailed(http.StatusBadRequest, "Bad request. Event "+r.EventID+" does not exist", "")
		}
	}
	for _, e := range agreed {
		if !reached(e.start(), m.now) {
			m.server.compute().events.agree(e, m.now)
		}
	}
	return answer{status: http.StatusOK}
}
