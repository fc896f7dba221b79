package web

import (
	"net/http"
	"strings"
	"time"

	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/internal/timeline"
	"sluice.dev/sluice/internal/view"
)

// now answers with the view of a cycle as JSON, as the page and sluice top show it.
func (s *Server) now(w http.ResponseWriter, r *http.Request) {
	c, ok := s.wanted(w, r)
	if !ok {
		return
	}
	page, err := c.page("now", func(to writer) error {
		s.written.Add(1)
		return view.Write(to, c.view())
	})
	if err != nil {
		refuse(w, http.StatusInternalServerError, "write the answer: "+err.Error())
		return
	}
	if s.options.Every > 0 {
		w.Header().Set(view.EveryHeader, s.options.Every.String())
	}
	send(w, r, page)
}

// azureView is what was asked of Azure.
type azureView struct {
	Cycle   uint64            `json:"cycle"` // the latest
	Time    time.Time         `json:"time"`
	Classes []report.APIClass `json:"classes"` // since the process started
}

// azure answers with the requests of this process to Azure, against its limits.
func (s *Server) azure(w http.ResponseWriter, _ *http.Request) {
	c, ok := s.newest(w)
	if !ok {
		return
	}
	v := azureView{Cycle: c.Cycle, Time: c.Seen.Time, Classes: []report.APIClass{}}
	if s.options.API != nil {
		v.Classes = append(v.Classes, s.options.API()...)
	}
	answer(w, http.StatusOK, v)
}

// told answers with what happened until a time, the newest first.
func (s *Server) told(w http.ResponseWriter, r *http.Request) {
	until, ok := s.until(w, r)
	if !ok {
		return
	}
	told := s.timeline().Tellings(time.Time{}, until, nil, mostAnswered)
	answer(w, http.StatusOK, map[string][]timeline.Telling{"told": append([]timeline.Telling{}, told...)})
}

// find answers with things whose names are like a text, also those that are gone.
func (s *Server) find(w http.ResponseWriter, r *http.Request) {
	q := strings.TrimSpace(r.URL.Query().Get("q"))
	if q == "" {
		refuse(w, http.StatusBadRequest, "q is missing: give a part of the name of a pod, node, group or instance")
		return
	}
	answer(w, http.StatusOK, map[string][]timeline.Found{"found": append([]timeline.Found{}, s.timeline().Find(q, mostAnswered)...)})
}

// mostAnswered is how many sentences or names one answer has.
const mostAnswered = 200

// until is the time that a request names, now for none.
func (s *Server) until(w http.ResponseWriter, r *http.Request) (time.Time, bool) {
	text := r.URL.Query().Get("until")
	if text == "" {
		return s.options.Now(), true
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		refuse(w, http.StatusBadRequest, "until="+text+" is not a time: give one such as 2026-03-02T02:13:00Z")
	}
	return t, err == nil
}

// wanted is the cycle that a request is about: the latest, the last one at a time, or the first one after a time. Without one it answers for itself.
func (s *Server) wanted(w http.ResponseWriter, r *http.Request) (*cycle, bool) {
	at := r.URL.Query().Get("at")
	if after := r.URL.Query().Get("after"); after != "" {
		t, err := time.Parse(time.RFC3339Nano, after)
		if err != nil {
			refuse(w, http.StatusBadRequest, "after="+after+" is not a time: give one such as 2026-03-02T02:13:00Z")
			return nil, false
		}
		at = ""
		if points := s.timeline().Points(t.Add(time.Nanosecond), s.options.Now()); len(points) > 0 {
			at = points[0].Time.UTC().Format(time.RFC3339Nano)
		}
	}
	if at == "" {
		return s.newest(w)
	}
	c, err := s.past(at)
	if err != nil {
		refuse(w, http.StatusNotFound, err.Error())
	}
	return c, err == nil
}
