package world

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/kubesim"
	"sluice.dev/sluice/internal/observer"
)

// wire carries sluice's requests to Azure.
type wire struct {
	clock  *simClock
	home   *azuresim.Transport // of the machine that sluice runs on
	next   http.RoundTripper   // home, unless a test counts what passes
	trace  *trace              // nil unless asked for
	before []forestalling      // what others do just before a growth arrives
	silent bool                // the answer to the request under way comes after the client has given up
}

// forestalling is what somebody does to a scale set in the moment before sluice's next growth of it arrives.
type forestalling struct {
	set   string        // its name
	until time.Duration // since the world began; the zero value is for ever
	act   func() error
}

// RoundTrip implements [http.RoundTripper].
func (t *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPatch {
		if err := t.forestall(path.Base(r.URL.Path)); err != nil {
			return nil, err
		}
	}
	return t.carry(r)
}

// forestall lets others act before a growth of the scale set, and forgets what came to nothing.
func (t *wire) forestall(set string) error {
	var errs []error
	t.before = slices.DeleteFunc(t.before, func(f forestalling) bool {
		late := f.until > 0 && t.clock.elapsed() > f.until
		due := strings.EqualFold(f.set, set)
		if due && !late {
			errs = append(errs, f.act())
		}
		return due || late
	})
	return errors.Join(errs...)
}

// carry sends a request. An answer that comes too late is no answer.
func (t *wire) carry(r *http.Request) (*http.Response, error) {
	t.silent = false
	most := waitedFor(r)
	r = r.WithContext(context.WithValue(r.Context(), waits{}, most))
	if holdsOthers(r) {
		r = alone(r)
	}
	resp, err := t.next.RoundTrip(r)
	t.trace.note(t.clock.elapsed(), r, resp, err)
	if !t.silent {
		return resp, err
	}
	if err == nil {
		_ = resp.Body.Close()
	}
	return nil, tooLate{most}
}

// How long sluice waits for an answer of Azure, of an authority that gives tokens, and of instance metadata, as internal/azure and internal/imds bound it.
const (
	mostWait         = 30 * time.Second
	mostSignIn       = 20 * time.Second
	mostMetadataWait = 10 * time.Second
)

// waits is the key of what a request's context says of how long it is waited for.
type waits struct{}

// waitedFor is how long sluice waits for the answer to a request.
func waitedFor(r *http.Request) time.Duration {
	switch {
	case r.URL.Hostname() == "169.254.169.254":
		return mostMetadataWait
	case strings.HasSuffix(r.URL.Path, "/token"):
		return mostSignIn
	}
	return mostWait
}

// wait lets a delayed answer take its time on the world's clock, as long as the client waits for it. What is asked beside others waits beside
// them; for anything else the clock goes on.
func (t *wire) wait(ctx context.Context, d time.Duration) {
	most, told := ctx.Value(waits{}).(time.Duration)
	if !told {
		most = mostWait
	}
	if of := taskOf(ctx); of != nil {
		of.sleep(t.clock.now().Add(min(d, most)))
	} else {
		t.clock.add(min(d, most))
	}
	t.silent = d > most
}

// tooLate is what a client's own clock says of an answer that has not come.
type tooLate struct{ after time.Duration }

func (e tooLate) Error() string { return "no answer within " + e.after.String() }
func (tooLate) Timeout() bool   { return true }
func (tooLate) Temporary() bool { return true }

// judges are what says whether sluice keeps its promises.
type judges struct {
	observer *observer.Observer
	rule     *observer.Rules
	sound    sound // judges the ledger of the process that leads
}

// spec is what sluice was told about a group, with the limits of this hour by the clock of the process that acts.
func (w *world) spec(group string) azure.GroupSpec {
	hour := w.procs.main.reading()
	if w.judges.rule.Guest {
		hour = w.now()
	}
	g, managed := w.groups.named(group)
	if managed {
		g.Min, g.Max = w.config.said.hours(g.Name, g.Min, g.Max, hour)
	}
	return g
}

// rules are what the observer judges by.
func (w *world) rules() *observer.Rules {
	return &observer.Rules{
		Agent:        agentName,
		ControlPlane: func() bool { return w.config.said.is("remove-control-plane-nodes") },
		Jobs:         func() bool { return len(w.config.said["evict-work"]) > 0 },
		Cutoff:       func() int32 { return int32(w.config.said.number("expendable-pods-priority-cutoff", -10)) },
		DaemonWork:   func(p *corev1.Pod) bool { return w.config.said.chooses("daemon-work", p) },
		Limits: func(group string) (least, most int) {
			g := w.spec(group)
			return g.Min, g.Max
		},
		Forced: func(m azuresim.MachineState) bool {
			n, there := kubesim.Find[*corev1.Node](w.cluster, "", m.ComputerName)
			joined := there && n.Status.NodeInfo.SystemUUID == m.VMID
			return w.config.said.is("force-delete-failed-nodes") && m.ProvisioningState == "Failed" || w.config.said.is("force-delete-unregistered-nodes") && !joined
		},
		Own: func() bool { return w.config.said.text("cluster-id", "") != "" },
		Sets: func() (all []string) {
			for _, g := range w.groups.specs {
				if !w.groups.sizes[g.Name].elsewhere && !w.machines.empty(g.Name) {
					all = append(all, g.Name)
				}
			}
			return all
		},
		Gone: func(node string) bool {
			return slices.ContainsFunc(w.groups.pools, func(p *pool) bool { return strings.HasPrefix(node, p.prefix()) && w.machines.empty(p.name) })
		},
		Machine: func(group string) (corev1.ResourceList, []corev1.Taint) {
			size := w.groups.sizes[group]
			return corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(int64(size.cpu), resource.DecimalSI), corev1.ResourceMemory: size.memory}, size.taints
		},
		Budget: func(nodes int) int {
			return max(1, int(w.config.said.number("max-emptied-percentage", 5)*float64(nodes)/100))
		},
		Window: func() time.Duration { return w.config.said.time("emptied-window", 10*time.Minute) },
		Silent: w.api.silence,
		Leads:  func() time.Time { return w.procs.main.leads },
		Stops: func(node string) (time.Time, bool) {
			at, announced := w.agents.stops[node]
			return at, announced
		},
	}
}

// doSettled has the observer judge that everything has come to rest, once the work is done that is under way.
func doSettled(ctx context.Context, w *world, s *statement) error {
	scarce, err := s.oneOf("scarce", "false", "true")
	if err != nil {
		return err
	}
	if err := w.finish(ctx); err != nil {
		return err
	}
	w.judges.observer.Settled(scarce == "true")
	return nil
}

const (
	windsDown = 30 * time.Minute // from the end of a pod's work: its node idles for ten, goes within a few, and nothing is written for ten more
	mostWork  = 4 * time.Hour    // what takes longer is not waited for
)

// finish lets time pass until the pods that run for a while have come to their end and so has what follows from it: those of a Job may run one
// after the other, and no calm of a fixed length is long enough for them.
func (w *world) finish(ctx context.Context) error {
	for end := w.now().Add(mostWork); w.now().Before(end); {
		rests := w.news.worked.Add(windsDown)
		if works(w.cluster) {
			rests = w.now().Add(windsDown)
		}
		if !w.now().Before(rests) {
			return nil
		}
		if err := w.turn(ctx, rests, nil); err != nil {
			return err
		}
	}
	return nil
}

// works says whether a pod runs that comes to its end.
func works(c *kubesim.Cluster) bool {
	return slices.ContainsFunc(kubesim.All[*corev1.Pod](c, ""), func(p *corev1.Pod) bool {
		return p.Annotations[kubesim.RunForAnnotation] != "" && p.Status.Phase == corev1.PodRunning
	})
}

// promises are the sentences about what sluice must never do and has done, and about cycles that the journal does not reproduce.
func (w *world) promises() (broken []string, err error) {
	w.judges.observer.Turn()
	for _, v := range w.judges.observer.Violations() {
		broken = append(broken, fmt.Sprintf("at %s %s was broken: %s", clock(v.At.Sub(start)), v.Property, v.What))
	}
	different, err := w.recording.replay()
	return append(broken, different...), err
}
