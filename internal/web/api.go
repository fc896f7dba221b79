package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/reason"
)

// entryView is a journal entry without the API objects that it rests on.
type entryView struct {
	Cycle   uint64            `json:"cycle"`
	Time    time.Time         `json:"time"`
	DryRun  bool              `json:"dryRun,omitempty"`
	Plan    plan.Plan         `json:"plan"`
	Results []plan.Result     `json:"results"`           // of the plan's action of the same index
	Refused []journal.Refusal `json:"refused,omitempty"` // that no plan asked for
	Groups  []*cluster.Group  `json:"groups"`            // with the evidence for what is known of them
}

func (s *Server) entry(w http.ResponseWriter, _ *http.Request) {
	e, ok := s.newest(w)
	if !ok {
		return
	}
	view := entryView{Cycle: e.Cycle, Time: e.Seen.Time, DryRun: e.DryRun, Plan: e.Plan, Results: e.Results, Refused: e.Refused, Groups: e.Seen.Groups}
	if view.Results == nil {
		view.Results = []plan.Result{}
	}
	answer(w, http.StatusOK, view)
}

// kinds are what verdicts are about.
var kinds = map[reason.Kind]bool{reason.KindPod: true, reason.KindNode: true, reason.KindGroup: true, reason.KindInstance: true, reason.KindRequest: true, reason.KindBuffer: true}

// verdictsView is the verdicts of one cycle.
type verdictsView struct {
	Cycle    uint64         `json:"cycle"`
	Time     time.Time      `json:"time"`
	Verdicts []plan.Verdict `json:"verdicts"`
}

func (s *Server) verdicts(w http.ResponseWriter, r *http.Request) {
	kind := reason.Kind(r.URL.Query().Get("kind"))
	if kind != "" && !kinds[kind] {
		refuse(w, http.StatusBadRequest, "kind="+string(kind)+": give pod, node, group, instance, request or buffer, or leave it out for all")
		return
	}
	e, ok := s.newest(w)
	if !ok {
		return
	}
	view := verdictsView{Cycle: e.Cycle, Time: e.Seen.Time, Verdicts: []plan.Verdict{}}
	for _, v := range e.Plan.Verdicts {
		if kind == "" || v.Subject.Kind == kind {
			view.Verdicts = append(view.Verdicts, v)
		}
	}
	answer(w, http.StatusOK, view)
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
	e, ok := s.newest(w)
	if !ok {
		return
	}
	x, err := report.NewExplanation(*e, about)
	var missing *report.NotFoundError
	switch {
	case errors.As(err, &missing):
		answer(w, http.StatusNotFound, problem{Error: err.Error(), Near: missing.Near})
	case err != nil:
		refuse(w, http.StatusInternalServerError, err.Error())
	default:
		answer(w, http.StatusOK, x)
	}
}

// newest is the latest entry; without one it answers for itself.
func (s *Server) newest(w http.ResponseWriter) (*journal.Entry, bool) {
	e := s.latest.Load()
	if e == nil {
		refuse(w, http.StatusServiceUnavailable, "no cycle has been completed by this replica yet")
	}
	return e, e != nil
}

// problem is what every answer but a good one says, in one sentence.
type problem struct {
	Error string   `json:"error"`
	Near  []string `json:"near,omitempty"` // names that may have been meant
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
