package certify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// failure is the growth of a set whose machines nobody sells, as it was seen.
type failure struct {
	done   bool
	err    error
	answer *reply
	end    ended
	code   string
	was    []machine // listed after it
	counts int       // the capacity after it
}

// fails asks for a machine that cannot be had, once.
func (l *Lab) fails(ctx context.Context) (failure, error) {
	if !l.failed.done {
		l.failed, l.failed.err = l.failOne(ctx)
	}
	return l.failed, l.failed.err
}

func (l *Lab) failOne(ctx context.Context) (f failure, err error) {
	f.done = true
	if f.answer, err = l.resize(ctx, l.dear.name, 1, nil); err != nil || !f.answer.ok() {
		return f, err
	}
	if f.end, err = l.follow(ctx, f.answer); err != nil {
		return f, errors.Join(err, l.empty(ctx, l.dear.name))
	}
	if len(f.end.errors) > 0 {
		f.code = f.end.errors[0].Code
	}
	if f.end.last != "Failed" {
		return f, l.empty(ctx, l.dear.name)
	}
	if f.counts, err = l.capacity(ctx, l.dear.name); err != nil {
		return f, err
	}
	f.was, err = l.machines(ctx, l.dear.name)
	return f, err
}

// hasFailed is the failure, or why there is none.
func (l *Lab) hasFailed(ctx context.Context) (failure, error) {
	f, err := l.fails(ctx)
	if err == nil && f.end.last != "Failed" {
		err = errors.New("no machine has failed after its growth was accepted")
	}
	return f, err
}

// dearProbes ask about machines that nobody sells.
var dearProbes = []Probe{
	{
		Name: "failure-comes-with-the-operation", Source: "https://github.com/kubernetes/autoscaler/issues/8323", Promises: []string{"S-33"}, Needs: Dear,
		Fact: "A machine that cannot be allocated is not refused: the growth is accepted, and its operation ends as Failed with a code.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			f, err := l.fails(ctx)
			if err != nil {
				return Observation{}, err
			}
			if !f.answer.ok() {
				return seen(false, "status", f.answer.Status, "code", f.answer.code()), nil
			}
			return seen(f.end.last == "Failed" && f.code != "", "status", f.answer.Status, "end", f.end.last, "code", f.code, "after", seconds(f.end.took)), nil
		},
	},
	{
		Name: "low-offer-is-named", Source: spotErrors, Promises: []string{"S-33"}, Needs: Dear,
		Fact: "A spot machine that is offered less than it costs fails with SpotPriceGreaterThanProvidedMaxPrice.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			f, err := l.fails(ctx)
			if err != nil {
				return Observation{}, err
			}
			code := cmp.Or(f.code, f.answer.code())
			return seen(code == "SpotPriceGreaterThanProvidedMaxPrice", "code", code), nil
		},
	},
	{
		Name: "failed-machine-counts", Source: unseen, Promises: []string{"S-01", "S-33"}, Needs: Dear,
		Fact: "After a failed growth the capacity stays raised, and the machine is listed as Failed.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			f, err := l.hasFailed(ctx)
			if err != nil {
				return Observation{}, err
			}
			state := "none"
			if len(f.was) > 0 {
				state = f.was[0].state
			}
			return seen(f.counts == 1 && len(f.was) == 1 && state == "Failed", "capacity", f.counts, "listed", len(f.was), "state", state), nil
		},
	},
	{
		Name: "failed-machine-goes-by-name", Source: unseen, Promises: []string{"S-10"}, Needs: Dear,
		Fact: "A failed machine is deleted by its name, which lowers the capacity.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			f, err := l.hasFailed(ctx)
			if err == nil && len(f.was) == 0 {
				err = errors.New("the failed machine is not listed")
			}
			if err != nil {
				return Observation{}, err
			}
			r, err := l.remove(ctx, l.dear.name, f.was[0].id)
			if r, err = l.must("delete the failed machine", r, err); err != nil {
				return Observation{}, err
			}
			e, err := l.follow(ctx, r)
			if err != nil {
				return Observation{}, err
			}
			n, err := l.capacity(ctx, l.dear.name)
			return seen(e.last == "Succeeded" && n == f.counts-1, "status", r.Status, "end", e.last, "capacity", fmt.Sprintf("%d, was %d", n, f.counts)), err
		},
	},
	{
		Name: "quota-is-refused-at-once", Source: "https://github.com/scylladb/scylla-cluster-tests/issues/4994",
		Promises: []string{"S-33"}, Needs: Dear,
		Fact: "A capacity beyond the quota is refused at once, with the limit, the use and the need in the sentence.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			if _, err := l.hasFailed(ctx); err != nil { // nothing but the quota would keep Azure from making the machines
				return Observation{}, err
			}
			n := l.plan.beyond()
			if n == 0 {
				return Observation{}, errors.New("the quota of spot cores is larger than what a scale set may ask for")
			}
			r, err := l.resize(ctx, l.dear.name, n, nil)
			if err != nil {
				return Observation{}, err
			}
			if r.ok() { // it was not refused: what it began is ended before it goes on
				_, err := l.follow(ctx, r)
				return seen(false, "status", r.Status), errors.Join(err, l.empty(ctx, l.dear.name))
			}
			said := r.message()
			numbers := strings.Contains(said, "Current Limit: ") && strings.Contains(said, "Current Usage: ") && strings.Contains(said, "Additional Required: ")
			return seen(r.Status == http.StatusConflict && r.code() == "OperationNotAllowed" && numbers && strings.Contains(strings.ToLower(said), "quota"),
				"status", r.Status, "code", r.code(), "numbers", numbers), nil
		},
	},
}

// empty takes the machines of a set away again that nobody expected.
func (l *Lab) empty(ctx context.Context, name string) error {
	r, err := l.resize(ctx, name, 0, nil)
	if r, err = l.must("take the machines away", r, err); err != nil {
		return err
	}
	_, err = l.follow(ctx, r)
	return err
}
