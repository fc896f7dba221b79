package top

import (
	"context"
	"errors"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"

	"sluice.dev/sluice/internal/report"
)

// every is how often a source is asked for its newest cycle.
const every = 2 * time.Second

// Run shows a source on a terminal until somebody quits or the context ends.
func Run(ctx context.Context, o Options, s Source, in io.Reader, out io.Writer) error {
	p := tea.NewProgram(program{New(o), s, ctx}, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler())
	_, err := p.Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil || errors.Is(err, tea.ErrInterrupted) {
		return nil
	}
	return err
}

// program is a model that a terminal library turns.
type program struct {
	model  Model
	source Source
	ctx    context.Context //nolint:containedctx // the library calls without one
}

func (p program) Init() tea.Cmd { return tea.Batch(tick(time.Now()), p.do(Want{What: WantNewest})) }

func tick(now time.Time) tea.Cmd {
	return tea.Tick(now.Truncate(time.Second).Add(time.Second).Sub(now), func(t time.Time) tea.Msg { return Tick{t} })
}

// again is when the newest cycle is to be asked for.
type again struct{}

func (p program) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var all []tea.Cmd
	var wants []Want
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		p.model, wants = p.model.Update(Size{msg.Width, msg.Height})
	case tea.KeyPressMsg:
		p.model, wants = p.model.Update(Key(msg.String()))
	case again:
		return p, p.do(Want{What: WantNewest})
	case Tick:
		p.model, wants = p.model.Update(msg)
		all = append(all, tick(time.Now()))
	default:
		p.model, _ = p.model.Update(Tick{time.Now()})
		p.model, wants = p.model.Update(msg)
		if f, failed := msg.(Failed); failed && f.What == WantNewest {
			all = append(all, later())
		} else if _, newest := msg.(Newest); newest {
			all = append(all, later())
		}
	}
	for _, w := range wants {
		switch w.What {
		case WantQuit:
			return p, tea.Quit
		case WantCopy:
			if w.Text == "" {
				w.Text = report.Printable(p.model.options.program(p.source.Command(w.About, w.At)))
			}
			p.model = p.model.Copied(w.Text)
			all = append(all, tea.SetClipboard(w.Text))
		default:
			all = append(all, p.do(w))
		}
	}
	return p, tea.Batch(all...)
}

func later() tea.Cmd { return tea.Tick(every, func(time.Time) tea.Msg { return again{} }) }

func (p program) View() tea.View {
	v := tea.NewView(p.model.Screen())
	v.AltScreen = true
	return v
}

// do asks the source.
func (p program) do(w Want) tea.Cmd {
	return func() tea.Msg {
		msg, err := answer(p.ctx, p.source, w)
		if err != nil {
			return Failed{w.What, err.Error()}
		}
		return msg
	}
}

// answer is the message that answers a want.
func answer(ctx context.Context, s Source, w Want) (any, error) {
	switch w.What {
	case WantNewest:
		seen, err := s.Newest(ctx)
		return Newest{seen}, err
	case WantAt:
		seen, err := s.At(ctx, w.At)
		return Past{seen}, err
	case WantAfter:
		seen, err := s.After(ctx, w.At)
		return Past{seen}, err
	case WantWhy:
		text, err := s.Why(ctx, w.About, w.At)
		return Why{w.About, text}, err
	case WantTold:
		all, err := s.Told(ctx, w.At)
		return Told{all}, err
	case WantVerdicts:
		all, err := s.Verdicts(ctx, w.At)
		return Verdicts{all}, err
	case WantAzure:
		all, err := s.Azure(ctx)
		return Azure{all}, err
	case WantFound:
		all, err := s.Find(ctx, w.Text, w.At)
		return Found{w.Text, all}, err
	}
	return nil, errors.New("nobody answers that")
}
