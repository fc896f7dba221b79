package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/reason"
)

// entryView is a journal entry without the API objects that it rests on, and without the plan, which follows it.
type entryView struct {
	Cycle   uint64            `json:"cycle"`
	Time    time.Time         `json:"time"`
	DryRun  bool              `json:"dryRun,omitempty"`
	Results []memory.Result   `json:"results"`           // of the plan's action of the same index
	Refused []journal.Refusal `json:"refused,omitempty"` // that no plan asked for
	Groups  []*cluster.Group  `json:"groups"`            // with the evidence for what is known of them
}

func (s *Server) entry(w http.ResponseWriter, r *http.Request) {
	s.show(w, r, "entry", func(e *journal.Entry, to io.Writer) error {
		view := entryView{Cycle: e.Cycle, Time: e.Seen.Time, DryRun: e.DryRun, Results: e.Results, Refused: e.Refused, Groups: e.Seen.Groups}
		if view.Results == nil {
			view.Results = []memory.Result{}
		}
		return with(to, view, "plan", func(to io.Writer) error {
			short := e.Plan
			short.Verdicts = nil
			return with(to, short, "verdicts", func(to io.Writer) error {
				return list(to, e.Plan.Verdicts, func(action.Verdict) bool { return true })
			})
		})
	})
}

// kinds are what verdicts are about.
var kinds = map[reason.Kind]bool{reason.KindPod: true, reason.KindNode: true, reason.KindGroup: true, reason.KindInstance: true, reason.KindRequest: true, reason.KindBuffer: true}

// verdictsView is what the verdicts of one cycle follow.
type verdictsView struct {
	Cycle uint64    `json:"cycle"`
	Time  time.Time `json:"time"`
}

func (s *Server) verdicts(w http.ResponseWriter, r *http.Request) {
	kind := reason.Kind(r.URL.Query().Get("kind"))
	if kind != "" && !kinds[kind] {
		refuse(w, http.StatusBadRequest, "kind="+string(kind)+": give pod, node, group, instance, request or buffer, or leave it out for all")
		return
	}
	s.show(w, r, "verdicts "+string(kind), func(e *journal.Entry, to io.Writer) error {
		return with(to, verdictsView{e.Cycle, e.Seen.Time}, "verdicts", func(to io.Writer) error {
			return list(to, e.Plan.Verdicts, func(v action.Verdict) bool { return kind == "" || v.Subject.Kind == kind })
		})
	})
}

// show answers with a page of the cycle that a request is about, which is written once for all its readers.
func (s *Server) show(w http.ResponseWriter, r *http.Request, name string, write func(*journal.Entry, io.Writer) error) {
	c, ok := s.wanted(w, r)
	if !ok {
		return
	}
	page, err := c.page(name, func(to io.Writer) error {
		s.written.Add(1)
		return write(c.Entry, to)
	})
	if err != nil {
		refuse(w, http.StatusInternalServerError, "write the answer: "+err.Error())
		return
	}
	send(w, r, page)
}

func (s *Server) explain(w http.ResponseWriter, r *http.Request) {
	about := reason.Ref{Kind: reason.Kind(r.URL.Query().Get("kind")), Name: r.URL.Query().Get("name")}
	switch {
	case !kinds[about.Kind]:
		refuse(w, http.StatusBadRequest, "kind="+string(about.Kind)+": give pod, node, group, instance, request or buffer")
		return
	case about.Name == "":
		refuse(w, http.StatusBadRequest, "name is missing: give namespace/name of a pod, request or buffer, the name of a node or group, or group/id of an instance")
		return
	}
	c, ok := s.wanted(w, r)
	if !ok {
		return
	}
	x, err := report.NewExplanation(*c.Entry, about)
	var missing *report.NotFoundError
	if errors.As(err, &missing) {
		if entry, known := s.gone(about, c.Seen.Time); known {
			x, err = report.NewExplanation(entry, about)
			x.Gone = c.Seen.Time
		}
	}
	switch {
	case errors.As(err, &missing):
		answer(w, http.StatusNotFound, problem{Error: err.Error(), Near: missing.Near})
	case err != nil:
		refuse(w, http.StatusInternalServerError, err.Error())
	default:
		answer(w, http.StatusOK, x)
	}
}

// plan answers with what the latest cycle comes to, as "sluice plan" prints it.
func (s *Server) plan(w http.ResponseWriter, r *http.Request) {
	s.show(w, r, "plan", func(e *journal.Entry, to io.Writer) error { return report.NewOverview(*e).WriteJSON(to) })
}

// newest is the latest cycle; without one it answers for itself. A replica that stands by has none, though it may have led before: its old answers would
// contradict those of the leader.
func (s *Server) newest(w http.ResponseWriter) (*cycle, bool) {
	if s.leading.Load() == nil {
		leader := ""
		if s.options.Leader != nil {
			leader = s.options.Leader()
		}
		said := standsBy(leader)
		if err := s.lease(); err != nil { // "another one leads" would send people to look for it
			said = "this replica of sluice does not lead: " + err.Error()
		}
		answer(w, http.StatusServiceUnavailable, problem{Error: said, StandsBy: true, Leader: leader})
		return nil, false
	}
	c := s.latest.Load()
	if c == nil {
		refuse(w, http.StatusServiceUnavailable, "no cycle has been completed by this replica yet")
	}
	return c, c != nil
}

// problem is what every answer but a good one says, in one sentence.
type problem struct {
	Error string   `json:"error"`
	Near  []string `json:"near,omitempty"` // names that may have been meant

	StandsBy bool   `json:"standsBy,omitempty"` // another replica has the answer
	Leader   string `json:"leader,omitempty"`   // the holder of the lease then, whose host ends at the first underscore; "" when nobody is known to hold it
}

func standsBy(leader string) string {
	if leader == "" {
		return "this replica of sluice stands by, and none is known to lead: ask again in a minute"
	}
	return "this replica of sluice stands by: ask " + leader + ", which leads"
}

func refuse(w http.ResponseWriter, status int, sentence string) {
	answer(w, status, problem{Error: sentence})
}

// answer writes v whole, or an error in its place.
func answer(w http.ResponseWriter, status int, v any) {
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(v); err != nil {
		text(w, http.StatusInternalServerError, "write the answer: "+err.Error()+"\n")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body.Bytes()) //nolint:errcheck // nobody is left to tell
}
