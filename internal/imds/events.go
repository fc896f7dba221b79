package imds

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

const eventsVersion = "2020-07-01" // the first that says how long an event lasts

// Event is what the platform announces of machines, as the scheduled events service says it.
type Event struct {
	ID          string
	Kind        string        // Freeze, Reboot, Redeploy, Preempt or Terminate
	Machines    []string      // that it happens to, by [Instance.Name]: not all are the machine that asks
	Begun       bool          // it is happening
	NotBefore   time.Time     // UTC; it does not begin earlier, unless a machine agrees; zero once it has begun
	Source      string        // Platform, or User for what somebody asked of Azure
	Lasts       time.Duration // how long machines are affected; negative when that is not known
	Description string
}

// eventsWire is the document; unlike the rest of the metadata it has numbers.
type eventsWire struct {
	Events []struct {
		ID          string   `json:"EventId"`
		Kind        string   `json:"EventType"`
		Resources   []string `json:"Resources"`
		Status      string   `json:"EventStatus"`
		NotBefore   string   `json:"NotBefore"`
		Description string   `json:"Description"`
		Source      string   `json:"EventSource"`
		Seconds     int      `json:"DurationInSeconds"`
	} `json:"Events"`
}

// Events asks once for the events announced to this machine and to those that share its placement group or availability set, api-version
// 2020-07-01. A machine's first question enables the service for it: the answer may take two minutes, which is longer than one try waits, and
// what was announced before may be missing in the first ones. Every error is an [*Error].
func (c *Client) Events(ctx context.Context) ([]Event, error) {
	var w eventsWire
	if err := c.get(ctx, "/metadata/scheduledevents", url.Values{"api-version": {eventsVersion}}, &w); err != nil {
		return nil, err
	}
	events := make([]Event, len(w.Events))
	for i, e := range w.Events {
		events[i] = Event{
			ID: e.ID, Kind: e.Kind, Machines: e.Resources, Begun: e.Status == "Started", Source: e.Source,
			Lasts: time.Duration(e.Seconds) * time.Second, Description: e.Description,
		}
		if at, err := http.ParseTime(e.NotBefore); err == nil {
			events[i].NotBefore = at.UTC()
		} else if !events[i].Begun && e.NotBefore != "" {
			return nil, &Error{Message: "instance metadata announces event " + e.ID + " for a time that cannot be read: " + e.NotBefore}
		}
	}
	return events, nil
}

// Agree has an event begin at once, for every machine that it happens to, whichever of them agrees. Agreeing twice is no error. Every error
// is an [*Error].
func (c *Client) Agree(ctx context.Context, id string) error {
	type start struct {
		ID string `json:"EventId"`
	}
	body, err := json.Marshal(struct {
		Starts []start `json:"StartRequests"`
	}{[]start{{id}}})
	if err != nil {
		return &Error{Message: "event " + id + " cannot be named in JSON: " + err.Error()}
	}
	return c.send(ctx, http.MethodPost, c.endpoint()+"/metadata/scheduledevents", http.Header{"Metadata": {"true"}, "Content-Type": {"application/json"}},
		url.Values{"api-version": {eventsVersion}}, bytes.NewReader(body), nil)
}
