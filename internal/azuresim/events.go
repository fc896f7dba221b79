package azuresim

import (
	"net/http"
	"time"
)

// event is a notice to a machine about itself.
type event struct {
	id, kind, description string
	announced, notBefore  time.Time
	acknowledged          bool // the machine agreed: it starts at once
}

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

// scheduledEvents shows the machine its own events, and takes its consent to
// them. The real service shows a placement group's events to all its machines;
// here a machine sees its own.
func (q *request) scheduledEvents(c computer) answer {
	var e *event
	if c.instance != nil {
		e = c.instance.preempted
	}
	if q.http.Method == http.MethodPost {
		return q.acknowledge(c, e)
	}
	body := eventsBody{Events: []eventBody{}}
	if e != nil {
		b := eventBody{
			EventID: e.id, EventType: e.kind, ResourceType: "VirtualMachine", Resources: []string{c.name},
			EventStatus: "Scheduled", NotBefore: e.notBefore.Format(http.TimeFormat),
			Description: e.description, EventSource: "Platform", DurationInSeconds: -1,
		}
		body.DocumentIncarnation = 1
		if e.acknowledged || reached(e.notBefore, q.now) {
			b.EventStatus, b.NotBefore = "Started", ""
			body.DocumentIncarnation = 2
		}
		body.Events = append(body.Events, b)
	}
	return answer{status: http.StatusOK, body: body}
}

// acknowledge starts an event before its time.
func (q *request) acknowledge(c computer, e *event) answer {
	var w struct {
		StartRequests []struct {
			EventID string `json:"EventId"`
		} `json:"StartRequests"`
	}
	if p := q.decode(&w); p != nil || len(w.StartRequests) == 0 {
		return metadataFailed(http.StatusBadRequest, "Bad request. StartRequests is required", "")
	}
	for _, r := range w.StartRequests {
		if e == nil || e.id != r.EventID {
			return metadataFailed(http.StatusBadRequest, "Bad request. Event "+r.EventID+" does not exist", "")
		}
	}
	if !e.acknowledged && !reached(e.notBefore, q.now) {
		e.acknowledged = true
		q.server.carryOut(c.instance, q.now)
	}
	return answer{status: http.StatusOK}
}
