package certify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"sluice.dev/sluice/internal/azure"
)

// The versions of the interfaces that a run speaks.
const (
	groupsVersion  = "2021-04-01"
	rightsVersion  = "2022-04-01"
	computeVersion = "2025-04-01"
	networkVersion = "2024-05-01"
	skusVersion    = "2021-07-01"
	vmNICVersion   = "2018-10-01" // of the interfaces of scale sets
)

// Lab is a run's resource group in Azure and the hand that works in it.
type Lab struct {
	cloud  *azure.Resources
	ledger *Ledger
	plan   Plan
	whys   map[string]string // probes by the reason why they could not be asked
	key    string            // a public key whose private half nobody has
	now    func() time.Time
	wait   func(context.Context, time.Duration) error

	set, dear, flexible set // what is there of them
	failed              failure
	growth              growth
	dead                []machine // that were deleted
	removal             removal
	evicted             eviction
	flexed              flexed
}

// set is a scale set that the run has made.
type set struct {
	name string
	made bool
	err  error // why it is not
}

// most is how long the end of one thing that Azure does is waited for.
const most = 10 * time.Minute

// path is that of something in the group, such as Microsoft.Compute/virtualMachineScaleSets/uniform.
func (l *Lab) path(below string) string { return l.ledger.groupPath() + "/providers/" + below }

func (l *Lab) setPath(name string) string {
	return l.path("Microsoft.Compute/virtualMachineScaleSets/" + name)
}

// region is the path of what belongs to the region.
func (l *Lab) region(below string) string {
	return "/subscriptions/" + l.ledger.Subscription + "/providers/Microsoft.Compute/locations/" + l.plan.Region + "/" + below
}

// once makes one request and returns whatever is answered.
func (l *Lab) once(ctx context.Context, method, path, version string, header http.Header, body any) (*reply, error) {
	a, err := l.cloud.Exchange(ctx, method, path, version, header, body)
	if err != nil {
		return nil, err
	}
	return replyOf(a, l.now()), nil
}

// mostRefusals is how often one request is repeated that Azure refused with 429 or was too busy for.
const mostRefusals = 12

// refusedForNow says of an answer that it tells nothing of what was asked.
func refusedForNow(r *reply) bool { return r.Status == http.StatusTooManyRequests || r.Status >= 500 }

// ask makes a request, and obeys Azure where it asks for a wait. An answer that it returns is about what was asked.
func (l *Lab) ask(ctx context.Context, method, path, version string, header http.Header, body any) (*reply, error) {
	for try := 1; ; try++ {
		r, err := l.once(ctx, method, path, version, header, body)
		if err != nil || !refusedForNow(r) {
			return r, err
		}
		if try == mostRefusals {
			return nil, l.cloud.Refusal(method+" "+path, r.Answer)
		}
		if err := l.wait(ctx, r.retryAfter(time.Duration(try)*5*time.Second)); err != nil {
			return nil, err
		}
	}
}

func (l *Lab) get(ctx context.Context, path, version string) (*reply, error) {
	return l.ask(ctx, http.MethodGet, path, version, nil, nil)
}

// must is an answer that is no refusal.
func (l *Lab) must(doing string, r *reply, err error) (*reply, error) {
	if err != nil {
		return nil, err
	}
	if err := l.cloud.Refusal(doing, r.Answer); err != nil {
		return nil, err
	}
	return r, nil
}

func (l *Lab) read(ctx context.Context, path, version string) (*reply, error) {
	r, err := l.get(ctx, path, version)
	return l.must("read "+path, r, err)
}

// list reads a whole collection.
func (l *Lab) list(ctx context.Context, path, version string) ([]any, error) {
	var all []any
	for page := 0; path != ""; page++ {
		if page == 200 {
			return nil, errors.New("a list of Azure's has no end")
		}
		r, err := l.get(ctx, path, version)
		if r, err = l.must("list "+path, r, err); err != nil {
			return nil, err
		}
		all = append(all, items(r.body, "value")...)
		path, version = r.text("nextLink"), ""
	}
	return all, nil
}

// ended is how something that Azure did has ended.
type ended struct {
	last   string        // Succeeded, Failed, Canceled
	errors []problem     // of one that failed, the innermost
	took   time.Duration // since it was asked for
	looks  int
}

type problem struct{ Code, Message string }

// follow waits for the end of what an answer has begun. An answer that begins nothing has ended.
func (l *Lab) follow(ctx context.Context, r *reply) (ended, error) {
	began, e := r.at, ended{last: "Succeeded"}
	link := r.Header.Get("Azure-AsyncOperation")
	status := link != ""
	if !status {
		link = r.Header.Get("Location")
	}
	if link == "" || r.Status == http.StatusNoContent {
		return e, nil
	}
	wait := min(r.retryAfter(5*time.Second), 15*time.Second)
	for l.now().Sub(began) < most {
		if err := l.wait(ctx, wait); err != nil {
			return e, err
		}
		look, err := l.get(ctx, link, "")
		if err != nil {
			if ctx.Err() != nil {
				return e, err
			}
			continue // the work goes on without it
		}
		e.looks++
		wait = min(look.retryAfter(5*time.Second), 15*time.Second)
		said := look.text("status")
		if !status {
			said = "InProgress"
			if look.Status != http.StatusAccepted {
				said = "Succeeded"
			}
		}
		if !look.ok() {
			return e, l.cloud.Refusal("follow what Azure does", look.Answer)
		}
		if strings.EqualFold(said, "Succeeded") || strings.EqualFold(said, "Failed") || strings.EqualFold(said, "Canceled") {
			e.last, e.took, e.errors = said, l.now().Sub(began), leaves(dig(look.body, "error"))
			return e, nil
		}
	}
	return e, fmt.Errorf("Azure has not ended it within %s", most)
}

// leaves are the innermost errors of one.
func leaves(v any) (all []problem) {
	for _, d := range items(v, "details") {
		all = append(all, leaves(d)...)
	}
	if len(all) == 0 && text(v, "code") != "" {
		all = append(all, problem{text(v, "code"), text(v, "message")})
	}
	return all
}

// done is an error unless it ended well.
func (e ended) done(doing string) error {
	if strings.EqualFold(e.last, "Succeeded") {
		return nil
	}
	if len(e.errors) > 0 {
		return fmt.Errorf("%s: %s: %s", doing, e.errors[0].Code, e.errors[0].Message)
	}
	return fmt.Errorf("%s: it ended as %s", doing, e.last)
}

// make writes what is not there yet, notes it in the ledger before, and waits for its end.
func (l *Lab) make(ctx context.Context, path, version string, body map[string]any) error {
	if err := l.ledger.ask(path); err != nil {
		return err
	}
	body["location"], body["tags"] = l.plan.Region, map[string]string{groupTag: l.ledger.Run}
	doing := "make " + lastPart(path)
	r, err := l.ask(ctx, http.MethodPut, path, version, nil, body)
	if r, err = l.must(doing, r, err); err != nil {
		return err
	}
	e, err := l.follow(ctx, r)
	if err != nil {
		return err
	}
	return e.done(doing)
}

// open makes the resource group with its network.
func (l *Lab) open(ctx context.Context) error {
	if err := l.ledger.keep(); err != nil {
		return err
	}
	r, err := l.ask(ctx, http.MethodPut, l.ledger.groupPath(), groupsVersion, nil, map[string]any{
		"location": l.plan.Region, "tags": map[string]string{groupTag: l.ledger.Run},
	})
	if l.ledger.Answered = err == nil; l.ledger.Answered {
		if err := l.ledger.keep(); err != nil {
			return err
		}
	}
	if _, err = l.must("make resource group "+l.ledger.Group, r, err); err != nil {
		return err
	}
	return l.make(ctx, l.path("Microsoft.Network/virtualNetworks/network"), networkVersion, map[string]any{"properties": map[string]any{
		"addressSpace": map[string]any{"addressPrefixes": []string{"10.77.0.0/24"}},
		"subnets":      []any{map[string]any{"name": "machines", "properties": map[string]any{"addressPrefix": "10.77.0.0/25"}}},
	}})
}

// provide sees to it that what a probe needs is there.
func (l *Lab) provide(ctx context.Context, n Needs) error {
	switch n {
	case Group:
		return nil
	case Set:
		return l.provideSet(ctx, &l.set, "uniform", l.uniform())
	case Dear:
		return l.provideSet(ctx, &l.dear, "dear", l.tooDear())
	case Flexible:
		if err := l.provideSet(ctx, &l.flexible, "flexible", l.flexibleBody()); err != nil {
			return err
		}
		return l.provideFlexible(ctx)
	case Machine, Two:
		if n == Two && l.removal.done || l.evicted.done { // what came of them is kept
			return nil
		}
		if err := l.provide(ctx, Set); err != nil {
			return err
		}
		return l.provideMachines(ctx, int(n-Machine)+1)
	}
	return nil
}

func (l *Lab) provideSet(ctx context.Context, s *set, name string, body map[string]any) error {
	if s.made || s.err != nil {
		return s.err
	}
	s.name = name
	err := l.make(ctx, l.setPath(name), computeVersion, body)
	s.made = err == nil
	if ctx.Err() == nil {
		s.err = err // asked once: what Azure refuses, it refuses again
	}
	return err
}
