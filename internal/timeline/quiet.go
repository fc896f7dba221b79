package timeline

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/internal/history"
	"sluice.dev/sluice/reason"
)

// lingers is for how long after a machine, a node or a pod went a cycle may still speak of it.
const lingers = time.Hour

// Quiet is since when, and up to when, cycles do not speak of a thing that went before a time, as far as the timeline beside a journal knows. It is the
// zero stretch where that knows nothing: the journal may. To look for one thing there is far cheaper than to read the whole timeline.
func Quiet(path string, about reason.Ref, before time.Time) (q history.Stretch) {
	file, err := os.Open(Beside(path))
	if err != nil {
		return q
	}
	defer file.Close() //nolint:errcheck // only read
	name, _ := json.Marshal(about.Name[strings.LastIndexByte(about.Name, '/')+1:])
	name = bytes.Trim(name, `"`)
	var last time.Time // when it was there, or spoken of
	lines := bufio.NewReaderSize(file, 1<<20)
	for {
		raw, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && !last.IsZero() {
			return history.Stretch{From: last.Add(lingers), To: q.To}
		}
		if err != nil {
			return history.Stretch{}
		}
		isPoint := bytes.HasPrefix(raw, []byte(`{"point"`))
		if !isPoint && !bytes.Contains(raw, name) {
			continue
		}
		var s saved
		if json.Unmarshal(raw, &s) != nil {
			continue
		}
		if isPoint {
			q.To = s.Point.Time
			continue
		}
		if at := s.spoke(about); at.After(last) && (before.IsZero() || !at.After(before)) {
			last = at
		}
	}
}

// spoke is when the line knows the thing to have been there, or spoken of; zero for never.
func (s *saved) spoke(about reason.Ref) time.Time {
	switch {
	case s.Telling != nil && slices.Contains(s.Telling.About, about):
		return s.Telling.Time
	case s.Left != nil && about == reason.Ref{Kind: reason.KindPod, Name: s.Left.Name}:
		return s.Left.At
	case s.Life != nil && (about == reason.Node(s.Life.Node) || about == reason.Instance(string(s.Life.Group), string(s.Life.Instance))):
		if n := len(s.Life.Spans); n > 0 && s.Life.Gone.IsZero() {
			return s.Life.Spans[n-1].To
		}
		return s.Life.Gone
	}
	return time.Time{}
}
