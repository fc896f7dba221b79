package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/internal/timeline"
	"sluice.dev/sluice/internal/web"
	"sluice.dev/sluice/journal"
)

// Each view of an entry as a [Sink].
type (
	logSink      struct{ log *report.Log }
	metricsSink  struct{ metrics *report.Metrics }
	timelineSink struct{ line *timeline.Timeline }
	webSink      struct{ server *web.Server }
	eventsSink   struct{ events *report.Events }
	statusSink   struct {
		status *report.Status
		log    *slog.Logger
		unkept int // groups of which the log has said that their lessons are not kept
	}
)

// firstSink says once what the first cycle found: after that only changes are told.
type firstSink struct {
	log  *slog.Logger
	said bool
}

// Report implements [Sink].
func (s *firstSink) Report(ctx context.Context, e journal.Entry, _ time.Duration) error {
	if s.said {
		return nil
	}
	s.said = true
	matched := 0
	for _, n := range e.Seen.Nodes {
		if n.Group != "" {
			matched++
		}
	}
	s.log.InfoContext(ctx, "first cycle done; from now on changes are told", "groups", len(e.Seen.Groups), "nodes", len(e.Seen.Nodes), "of groups", matched, "pending pods", len(e.Seen.Pending))
	return nil
}

// Report implements [Sink].
func (s logSink) Report(ctx context.Context, e journal.Entry, took time.Duration) error {
	s.log.Report(ctx, e, took)
	return nil
}

func (s metricsSink) Report(_ context.Context, e journal.Entry, took time.Duration) error {
	s.metrics.Report(e, took)
	return nil
}

func (s metricsSink) Problem(_ context.Context, err error) {
	s.metrics.CycleFailed(time.Now(), errors.Is(err, errCloud))
}

func (s metricsSink) Timed(p report.Phases) { s.metrics.Timed(p) }

func (s webSink) Report(_ context.Context, e journal.Entry, _ time.Duration) error {
	s.server.Report(e)
	return nil
}

func (s timelineSink) Report(_ context.Context, e journal.Entry, _ time.Duration) error {
	s.line.Note(e)
	return nil
}

func (s eventsSink) Report(ctx context.Context, e journal.Entry, _ time.Duration) error {
	return s.events.Report(ctx, e)
}

func (s *statusSink) Report(ctx context.Context, e journal.Entry, _ time.Duration) error {
	err := s.status.Report(ctx, e)
	if left := s.status.Unkept(); len(left) != s.unkept {
		if s.unkept = len(left); s.unkept > 0 {
			s.log.Warn("what nodes have taught of some groups has no room in the status ConfigMap", "groups", s.unkept, "group", left[0])
		}
	}
	return err
}

func (s *statusSink) Problem(ctx context.Context, err error) {
	if err := s.status.Problem(ctx, err.Error()); err != nil && ctx.Err() == nil {
		s.log.Warn("status not written", "err", err)
	}
}
