package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// A child process measures one row, so that rows do not inherit each other's heap and one that takes too long can be stopped: it writes a
// line when its world is built, and one with its figures.
type line struct {
	Ready   bool     `json:"ready,omitempty"`
	Figures *Figures `json:"figures,omitempty"`
	Wrong   string   `json:"wrong,omitempty"`
}

// find is the row of that name, those of ladders included.
func find(name string) *Row {
	if r := RowOf(name); r != nil {
		return r
	}
	for _, l := range append(Ladders(), Exponents()...) {
		for i := range l.Rows {
			if l.Rows[i].Name == name {
				return &l.Rows[i]
			}
		}
	}
	return nil
}

// Child measures the row of that name at a scale and writes what [Harness] reads.
func Child(w io.Writer, name string, scale float64, e Effort) error {
	r := find(name)
	if r == nil {
		return fmt.Errorf("no row %q", name)
	}
	out := json.NewEncoder(w)
	c := r.Build(scale)
	if err := out.Encode(line{Ready: true}); err != nil {
		return err
	}
	f, err := Measure(c, e)
	if err != nil {
		return out.Encode(line{Wrong: err.Error()})
	}
	return out.Encode(line{Figures: &f})
}

// Harness runs rows in child processes.
type Harness struct {
	Command func(ctx context.Context, row string) *exec.Cmd // the child that calls [Child]
	Cap     time.Duration                                   // a row is stopped when building its world takes so long, and when measuring it does
}

// Run measures one row.
func (h Harness) Run(ctx context.Context, r Row) Result {
	res := Result{Name: r.Name, Title: r.Title, Pays: r.Pays, Goal: r.Goal, Limit: r.Limit}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	child := h.Command(ctx, r.Name)
	said := &strings.Builder{}
	child.Stderr = said
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		res.Verdict, res.Problem = Wrong, fmt.Sprintf("start the row's process: %v", err)
		return res
	}
	lines := make(chan line)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			var l line
			if json.Unmarshal(s.Bytes(), &l) == nil {
				lines <- l
			}
		}
	}()
	doing := "building its world and turning the cycles before"
	timer := time.NewTimer(h.Cap)
	defer timer.Stop()
	res.Verdict = Wrong
	for {
		select {
		case <-timer.C:
			stop()
			for range lines { // until the child has gone
			}
			_ = child.Wait() // it was killed
			res.Verdict, res.Cap, res.Problem = Stopped, h.Cap, fmt.Sprintf("%s took more than %s", doing, h.Cap)
			return res
		case l, open := <-lines:
			switch {
			case !open:
				if err := child.Wait(); err != nil && res.Figures == nil && res.Problem == "" {
					res.Problem = ended(err, said.String())
				}
				return res
			case l.Ready:
				doing = "deciding"
				timer.Reset(h.Cap)
			case l.Wrong != "":
				res.Problem = l.Wrong
			case l.Figures != nil:
				res.Figures, res.Verdict = l.Figures, r.judge(l.Figures.CPU)
			}
		}
	}
}

// ended is the last thing a process said that ended without figures.
func ended(err error, said string) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) && said != "" {
		first, _, _ := strings.Cut(said, "\n")
		return first
	}
	return err.Error()
}
