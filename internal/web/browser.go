package web

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/internal/timeline"
	"sluice.dev/sluice/internal/view"
	"sluice.dev/sluice/internal/web/page"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/reason"
)

// browse answers browsers: the pages, what they are made of, and the stream that says when to read them anew.
func (s *Server) browse(mux *http.ServeMux) {
	for address, write := range map[string]func(request) answered{
		"/{$}": s.nowPage, "/time": s.timePage, "/azure": s.azurePage, "/why": s.startPage, "/why/{kind}/{name...}": s.whyPage, "/find": s.foundPage,
	} {
		mux.Handle("GET "+address, bounded(pageReaders, s.html(write)))
	}
	mux.HandleFunc("GET /assets/{name}", asset)
	mux.HandleFunc("GET /events", s.events)
}

// assets are the style, the script and the icon, compressed once.
var assets sync.Map

// asset is the style, the script or the icon.
func asset(w http.ResponseWriter, r *http.Request) {
	body, err := page.Asset(r.PathValue("name"))
	if err != nil {
		text(w, http.StatusNotFound, "there is no such file\n")
		return
	}
	kind := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}[path.Ext(r.PathValue("name"))]
	packed, known := assets.Load(r.PathValue("name"))
	if !known {
		var to bytes.Buffer
		z := gzip.NewWriter(&to)
		z.Write(body) //nolint:errcheck // a buffer takes all
		z.Close()     //nolint:errcheck // nobody is left to tell
		packed, _ = assets.LoadOrStore(r.PathValue("name"), to.Bytes())
	}
	sendPacked(w, r, kind, packed.([]byte))
}

// request is what a browser asks, with the cycle that it is about.
type request struct {
	*http.Request
	entry journal.Entry
	cycle *cycle
	frame page.Frame
}

// answered is a page: of a kind, with the title of the window and a body of its type.
type answered struct {
	status      int
	kind, title string
	body        any
}

// html answers with a page of the cycle that a request is about: the latest one, or that of a time. All readers of an address share the bytes.
func (s *Server) html(write func(request) answered) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" && !strings.Contains(r.Header.Get("Accept"), "text/html") {
			text(w, http.StatusOK, index)
			return
		}
		asked := request{Request: r, frame: s.frame(r)}
		at := r.URL.Query().Get("at")
		var err error
		if at == "" {
			asked.cycle, err = s.present()
		} else {
			asked.cycle, err = s.past(at)
			asked.frame.Past, asked.frame.Keep = true, url.Values{"at": {at}}
		}
		if err != nil {
			out := answered{http.StatusServiceUnavailable, "problem", "There is nothing to show yet.", nil}
			if at != "" {
				out.status, out.title = http.StatusNotFound, "That time cannot be shown."
			}
			out.body = page.Problem{Title: out.title, Text: err.Error()}
			sendHTML(w, asked.frame, out)
			return
		}
		asked.entry = *asked.cycle.Entry
		asked.frame.Cycle, asked.frame.Time = asked.entry.Cycle, asked.entry.Seen.Time
		s.around(&asked.frame)
		asked.frame.Modes = s.modes(asked)
		safe(w)
		name := r.RequestURI + asked.frame.Leader + fmt.Sprint(asked.frame.Modes) // which change while a cycle stays the latest
		if packed, made := asked.cycle.made(name); made && at == "" {
			sendPacked(w, r, "text/html; charset=utf-8", packed)
			return
		}
		out := write(asked)
		if out.status != http.StatusOK || at != "" { // pages of the past tell of now, too
			sendHTML(w, asked.frame, out)
			return
		}
		asked.frame.Title = out.title
		packed, err := asked.cycle.page(name, func(to writer) error {
			s.written.Add(1)
			return page.Write(to, out.kind, asked.frame, out.body)
		})
		if err != nil {
			text(w, http.StatusInternalServerError, "write the page: "+err.Error()+"\n")
			return
		}
		sendPacked(w, r, "text/html; charset=utf-8", packed)
	})
}

// safe tells the browser what it may do with a page.
func safe(w http.ResponseWriter) {
	w.Header().Set("Content-Security-Policy", page.ContentSecurityPolicy)
	w.Header().Set("Referrer-Policy", "no-referrer")
}

// sendHTML answers with a page that nobody else shares.
func sendHTML(w http.ResponseWriter, f page.Frame, out answered) {
	f.Title = out.title
	var body bytes.Buffer
	if err := page.Write(&body, out.kind, f, out.body); err != nil {
		text(w, http.StatusInternalServerError, "write the page: "+err.Error()+"\n")
		return
	}
	safe(w)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(out.status)
	w.Write(body.Bytes()) //nolint:errcheck // nobody is left to tell
}

// frame is what stands around every page, but for its cycle.
func (s *Server) frame(r *http.Request) page.Frame {
	f := page.Frame{Root: "./", Version: s.options.Version, Sent: s.options.Now(), Stale: s.stale(), Here: strings.TrimPrefix(r.URL.EscapedPath(), "/")}
	if deep := strings.Count(f.Here, "/"); deep > 0 {
		f.Root = strings.Repeat("../", deep)
	}
	switch first, _, _ := strings.Cut(f.Here, "/"); first {
	case "":
		f.View = "now"
	case "time", "why", "azure":
		f.View = first
	}
	if s.options.Leader != nil {
		f.Leader = s.options.Leader()
	}
	return f
}

// around finds the cycles before and after the one that is shown.
func (s *Server) around(f *page.Frame) {
	if !f.Past {
		return
	}
	const near = 15 * time.Minute // a point may stand for ten minutes
	for _, p := range s.timeline().Points(f.Time.Add(-near), f.Time.Add(near)) {
		switch {
		case p.Time.Before(f.Time):
			f.Before = p.Time
		case p.Time.After(f.Time) && f.After.IsZero():
			f.After = p.Time
		}
	}
}

// modes are the sentences about what changes all that sluice does.
func (s *Server) modes(r request) (all []page.Mode) {
	if r.entry.DryRun {
		all = append(all, page.Mode{Text: "Dry run: sluice decides and tells, and writes nothing."})
	}
	if s.leading.Load() == nil && !r.frame.Past {
		words := "This replica stands by, and shows the last cycle in which it led."
		if err := s.lease(); err != nil {
			words = "This replica does not lead, and shows the last cycle in which it led: " + err.Error() + "."
		} else if r.frame.Leader != "" {
			words += " " + r.frame.Leader + " leads."
		}
		all = append(all, page.Mode{Warn: true, Text: words})
	}
	if age := s.options.Now().Sub(r.entry.Seen.Time); !r.frame.Past && age > s.stale() {
		all = append(all, page.Mode{Warn: true, Text: fmt.Sprintf("No cycle has been completed for %s; what is shown is from then. The log says why.", page.Span(age.Truncate(time.Minute)))})
	}
	return all
}

// stale is how old the latest cycle may be before a page says so.
func (s *Server) stale() time.Duration { return view.Stale(s.options.Every) }

// present is the latest cycle.
func (s *Server) present() (*cycle, error) {
	if c := s.latest.Load(); c != nil {
		return c, nil
	}
	if s.leading.Load() == nil {
		words := "This replica stands by, and has decided nothing."
		if err := s.lease(); err != nil {
			words = "This replica does not lead, and has decided nothing: " + err.Error() + "."
		} else if s.options.Leader != nil && s.options.Leader() != "" {
			words += " " + s.options.Leader() + " leads: ask it."
		}
		return nil, errors.New(words)
	}
	return nil, errors.New("No cycle has been completed by this process yet. The log says why when that lasts.") //nolint:revive // a sentence on a page
}

func (s *Server) timeline() *timeline.Timeline {
	if s.options.Timeline == nil {
		return &timeline.Timeline{}
	}
	return s.options.Timeline
}

// mostTold is how many sentences the page of now has about what happened.
const mostTold = 8

func (s *Server) nowPage(r request) answered {
	v := r.cycle.view()
	body := page.NewNow(v, r.frame, r.URL.Query())
	body.Strip = page.StripOf(r.frame, s.timeline(), r.frame.Time.Add(-time.Hour), r.frame.Time)
	for _, t := range s.timeline().Tellings(r.frame.Time.Add(-24*time.Hour), r.frame.Time, nil, 200) {
		if t.Kind != report.ToldNode && len(body.Told) < mostTold { // marks on nodes are steps of what stands beside them
			body.Told = append(body.Told, t)
		}
	}
	return answered{http.StatusOK, "now", v.Headline, body}
}

func (s *Server) timePage(r request) answered {
	now := r.frame.Time
	if c := s.latest.Load(); c != nil {
		now = c.Seen.Time
	}
	q := r.URL.Query()
	return answered{http.StatusOK, "time", "Time", s.inTime(page.NewTime(r.frame, s.timeline(), now, page.ChooseRange(q.Get("range")), r.cycle.view(), q.Get("all") != ""))}
}

func (s *Server) azurePage(r request) answered {
	var classes []report.APIClass
	if s.options.API != nil && !r.frame.Past {
		classes = s.options.API()
	}
	return answered{http.StatusOK, "azure", "Azure", page.NewAzure(r.entry, classes)}
}

func (s *Server) startPage(r request) answered {
	return answered{http.StatusOK, "start", "Why", page.NewStart(r.entry)}
}

func (s *Server) whyPage(r request) answered {
	about := reason.Ref{Kind: reason.Kind(r.PathValue("kind")), Name: r.PathValue("name")}
	if !kinds[about.Kind] || about.Name == "" {
		return answered{http.StatusNotFound, "problem", "Not found", page.Problem{Title: "There is no such page.", Text: "Ask about a pod, node, group, instance, request or buffer: why/KIND/NAME."}}
	}
	why, err := page.NewWhy(r.entry, about)
	var missing *report.NotFoundError
	if errors.As(err, &missing) {
		if entry, known := s.gone(about, r.frame.Time); known {
			why, err = page.NewWhy(entry, about)
			why.X.Gone = r.frame.Time
		}
	}
	switch {
	case errors.As(err, &missing):
		p := page.Problem{Title: fmt.Sprintf("No %s is called %s in this cycle.", about.Kind, about.Name), Text: "Nor does anything remembered have that name."}
		for _, name := range missing.Near {
			p.Near = append(p.Near, reason.Ref{Kind: about.Kind, Name: name})
		}
		if told := s.timeline().Tellings(time.Time{}, r.frame.Time, &about, 1); len(told) > 0 {
			p.Text = "It is gone. Last heard of it: " + told[0].Sentence + "."
		}
		return answered{http.StatusNotFound, "problem", about.Name, p}
	case err != nil:
		return answered{http.StatusInternalServerError, "problem", about.Name, page.Problem{Title: "It cannot be explained.", Text: err.Error()}}
	}
	why.History = s.timeline().Tellings(time.Time{}, s.options.Now(), &about, 40)
	s.remember(&why, about)
	why.See(r.frame, s.timeline())
	return answered{http.StatusOK, "why", about.Name, why}
}

// remember adds what an earlier cycle knew: why a pod's machine is of this group, and what the guard looked at before a machine was deleted.
func (s *Server) remember(why *page.Why, about reason.Ref) {
	wanted := ""
	switch deleted := func(c page.Checked) bool { return c.Sent("DeleteInstances", "ParkInstances") }; {
	case about.Kind == reason.KindPod && len(why.Choices) == 0 && len(why.Misses) == 0:
		wanted = report.ToldScaleUp
	case (about.Kind == reason.KindNode || about.Kind == reason.KindInstance) && !slices.ContainsFunc(why.Checked, deleted):
		wanted = report.ToldScaleDown
	}
	if wanted == "" {
		return
	}
	for _, t := range why.History {
		if t.Kind != wanted {
			continue
		}
		c, err := s.past(t.Time.UTC().Format(time.RFC3339Nano))
		if err != nil || c.Cycle != t.Cycle {
			return // without the journal of then the page says less
		}
		if wanted == report.ToldScaleUp {
			if then, err := report.NewExplanation(*c.Entry, about); err == nil && len(then.Choices) > 0 {
				why.Choices, why.Chosen = then.Choices, c.Seen.Time
				return
			}
		} else if checked := page.CheckedOf(*c.Entry, about); len(checked) > 0 {
			why.Checked = append(why.Checked, checked...)
			return
		}
	}
}

// gone is the last cycle that knew a thing which is gone by a time, where that is remembered and can be read.
func (s *Server) gone(about reason.Ref, by time.Time) (entry journal.Entry, known bool) {
	for _, f := range s.timeline().Find(about.Name, 20) {
		if f.Ref == about && !f.Gone.IsZero() && !f.Gone.After(by) {
			if c, err := s.past(f.Gone.Add(-time.Millisecond).UTC().Format(time.RFC3339Nano)); err == nil {
				return *c.Entry, true
			}
		}
	}
	return journal.Entry{}, false
}

func (s *Server) foundPage(r request) answered {
	const most = 50
	q := strings.TrimSpace(r.URL.Query().Get("q"))
	found := page.Found{Query: q}
	if q != "" {
		found.Found = s.timeline().Find(q, most)
	}
	return answered{http.StatusOK, "found", "Find", found}
}
