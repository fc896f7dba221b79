package timeline

import (
	"context"
	"errors"
	"io"
	"time"

	"sluice.dev/sluice/internal/history"
)

// JournalDamaged is why there is no record where a journal cannot be read.
const JournalDamaged = "the journal is damaged there"

// Read notes the cycles of a journal from a time on, until its end. What is damaged there becomes a gap.
func (t *Timeline) Read(ctx context.Context, r *history.Reader, from time.Time) error {
	for left := len(r.Left()); ; {
		line, err := r.Next()
		if n := len(r.Left()); n > left {
			left = n
			t.Damaged(JournalDamaged)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case line.Time.Before(from):
			continue
		}
		e, err := r.Entry()
		if err != nil {
			return err
		}
		t.Note(e)
	}
}
