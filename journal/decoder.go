package journal

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// ErrCut says that the last line of a journal is not whole, as after a crash. The entries before it are good.
var ErrCut = errors.New("the last line is cut off, as after a crash")

// ErrLong says that a line is longer than [Decoder.Most] allows. Nothing can be read behind it.
var ErrLong = errors.New("a cycle takes more room in the journal than may be read here")

// LineError says what is wrong with a line. The lines after it can be read on, from one on that can be understood alone.
type LineError struct {
	Line int
	Why  error // as a clause of which the line is the subject
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d %v", e.Line, e.Why) }

func (e *LineError) Unwrap() error { return e.Why }

// Decoder reads the entries of a journal in their order. It is not safe for concurrent use.
type Decoder struct {
	lines  lines
	until  time.Time // see [Decoder.Until]
	over   bool      // a line was later than that
	after  int       // of the last line, see [record.After]
	begun  bool
	said   Line // by the last line
	policy *policy.Policy
	offers map[cluster.GroupID]*cluster.Sizes
	told   []action.Verdict
	fleet  fleet.Ledger
	groups tree
	parsed parsed // groups that were asked for
	memory tree
	seen   *cluster.Snapshot // of the last entry that was asked for, nil for none

	lacks            cluster.Lacks
	controllersKnown bool
	objects          tables
	folded           folded
}

// lines are read one by one.
type lines struct {
	r    *bufio.Reader
	cut  []byte // the beginning of a line of which there is no more yet
	most int    // see [Decoder.Most]
	read int    // how many were
}

// next is the next line that is not empty. Errors are those of [Decoder.Next], but for what a line says.
func (ls *lines) next() ([]byte, error) {
	line := ls.cut
	for {
		part, err := ls.r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case ls.most > 0 && len(line) > ls.most:
			return nil, ErrLong
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			if ls.cut = line; errors.Is(err, io.EOF) && len(line) > 0 {
				return nil, ErrCut
			}
			return nil, err
		default:
			ls.cut = nil
			ls.read++
			if len(line) > 1 {
				return line, nil
			}
			line = nil
		}
	}
}

// Line is what one line says by itself: an [Entry] without what it rests on.
type Line struct {
	Cycle    uint64
	Time     time.Time
	Policy   *policy.Policy
	Plan     action.Plan
	Results  []memory.Result
	Refused  []Refusal
	TookOver []Takeover
	DryRun   bool
}

// NewDecoder returns a decoder of r. Lines before the first full one are passed over: they cannot be understood alone.
func NewDecoder(r io.Reader) *Decoder {
	return &Decoder{lines: lines{r: bufio.NewReaderSize(r, 1<<20)}}
}

// Until has reading end before the first line that is later than a time: [Decoder.Entry] is that of the last one before it then.
func (d *Decoder) Until(t time.Time) { d.until = t }

// Most has reading end with [ErrLong] at a line of more bytes: to read one takes several times its length of memory. 0 is no bound.
func (d *Decoder) Most(bytes int) { d.lines.most = bytes }

// Next is the next entry; io.EOF at the end, [ErrCut] when the end is not whole: once the file has grown, a caller may go on. After a [*LineError] it is
// given the next entry that can be understood alone, and those after it.
func (d *Decoder) Next() (Entry, error) {
	if _, err := d.Read(); err != nil {
		return Entry{}, err
	}
	return d.Entry()
}

// Read reads the next entry but for what it rests on, Seen and Before: [Decoder.Entry] has these too. Whoever looks for one cycle of many, or for
// what was said and done alone, so needs a fraction of the time. Errors are those of [Decoder.Next].
func (d *Decoder) Read() (Line, error) {
	if d.over {
		return Line{}, io.EOF
	}
	for {
		line, err := d.lines.next()
		if err != nil {
			return Line{}, err
		}
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			d.begun = false // what follows says what changed since this line
			return Line{}, &LineError{d.lines.read, fmt.Errorf("is not a journal entry: %w", err)}
		}
		if r.Version > Version || r.Version < 1 {
			return Line{}, &LineError{d.lines.read, fmt.Errorf("has format version %d, this sluice reads up to %d: use the version that wrote it", r.Version, Version)}
		}
		if !d.begun && !r.Full {
			continue
		}
		if !d.until.IsZero() && r.Time.After(d.until) {
			d.over = true
			return Line{}, io.EOF
		}
		if err := d.apply(&r); err != nil {
			d.begun = false
			return Line{}, &LineError{d.lines.read, err}
		}
		return d.said, nil
	}
}

// apply has a line change what is known from those before it.
func (d *Decoder) apply(r *record) error {
	if !r.Full && r.Version >= 3 && r.After != d.after+1 {
		return errors.New("does not follow the line before it")
	}
	if r.Full {
		*d = Decoder{lines: d.lines, until: d.until}
	}
	d.begun, d.after = true, r.After
	if r.Policy != nil {
		d.policy = r.Policy
	}
	if d.policy == nil {
		return errors.New("has no policy")
	}
	if r.Version > 1 {
		told, err := verdictsAfter(d.told, r.Told)
		if err != nil {
			return fmt.Errorf("is damaged: %w", err)
		}
		r.Plan.Verdicts = told
	}
	d.told = r.Plan.Verdicts
	if r.Offers != nil {
		d.offers = r.Offers.tables()
	}
	if err := cmp.Or(next(&d.groups, r.Version, r.Groups), next(&d.memory, r.Version, r.Before)); err != nil {
		return fmt.Errorf("is damaged: %w", err)
	}
	if err := d.folded.unfold(r); err != nil {
		return err
	}
	if err := d.objects.apply(r); err != nil {
		return fmt.Errorf("is damaged: %w", err)
	}
	d.fleet = d.fleet.Apply(r.Fleet)
	d.lacks, d.controllersKnown = r.Lacks, r.ControllersKnown
	d.said = Line{r.Cycle, r.Time, d.policy, r.Plan, r.Results, r.Refused, r.TookOver, r.DryRun}
	return nil
}

// Entry is the entry that [Decoder.Read] has read last.
func (d *Decoder) Entry() (Entry, error) {
	var before memory.Memory
	groups, err := d.parsed.groups(&d.groups, d.offers)
	if err := cmp.Or(err, json.Unmarshal(d.memory.value(), &before)); err != nil {
		return Entry{}, &LineError{d.lines.read, fmt.Errorf("is damaged: %w", err)}
	}
	objects := d.objects.all()
	objects.Lacks, objects.Controllers.Known = d.lacks, d.controllersKnown
	seen := d.next(objects, groups)
	seen.Fleet = d.fleet
	d.seen = seen
	said := d.said
	return Entry{
		Cycle: said.Cycle, Seen: seen, Policy: said.Policy, Before: before, Plan: said.Plan, Results: said.Results, Refused: said.Refused, TookOver: said.TookOver,
		DryRun: said.DryRun,
	}, nil
}

// next is what the line saw. A cluster of the line before is not joined anew, as in the process that wrote it.
func (d *Decoder) next(objects cluster.Objects, groups []*cluster.Group) *cluster.Snapshot {
	if d.seen == nil {
		return cluster.New(d.said.Time, objects, groups)
	}
	return d.seen.Next(d.said.Time, objects, groups)
}

// next applies what a line says of a value to that of the line before. Lines before version 3 have the whole value.
func next(value *tree, version int, said json.RawMessage) (err error) {
	var p patch
	switch {
	case version < 3:
		p.Is = said
	case len(said) > 0:
		err = json.Unmarshal(said, &p)
	}
	if err == nil {
		err = value.apply(p)
	}
	if len(value.raw) == 0 && value.at == nil {
		value.raw = json.RawMessage("null")
	}
	return err
}

// Pod is the pod of that "namespace/name" as of the last line, nil for none.
func (d *Decoder) Pod(name string) *cluster.Pod { return d.objects.pods.by[name] }

// Node is the Node object of that name as of the last line, nil for none.
func (d *Decoder) Node(name string) *corev1.Node { return d.objects.nodes.by[name] }
