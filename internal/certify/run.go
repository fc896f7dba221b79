package certify

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"sluice.dev/sluice/internal/azure"
)

// Run is one run of the probes.
type Run struct {
	Cloud      *azure.Resources
	CloudName  string // as the record tells it
	Plan       Plan
	Only       map[string]bool // names of probes; none: all of them
	LedgerPath string          // "": in memory alone
	Sluice     string          // its version

	Now  func() time.Time
	Wait func(context.Context, time.Duration) error
	Look func(Probe)         // that is about to be asked
	Tell func(Probe, Result) // of each probe as it ends
	Say  func(string)        // of what is made and removed
}

// Begin opens the ledger of a run that has a name of its own, and holds it. Another run's, dead or alive, stays as it is.
func (r Run) Begin() (*Ledger, error) {
	word := make([]byte, 4)
	_, _ = rand.Read(word) // it never fails
	l := &Ledger{Run: hex.EncodeToString(word), Began: r.Now().UTC().Truncate(time.Second), Subscription: r.Cloud.Subscription(), Region: r.Plan.Region, path: r.LedgerPath}
	l.Group = GroupPrefix + l.Run
	if r.LedgerPath == "" {
		return l, nil
	}
	var err error
	if l.lock, err = acquire(r.LedgerPath); err != nil {
		return nil, err
	}
	was, err := ReadLedger(r.LedgerPath)
	if err == nil && was != nil {
		err = fmt.Errorf("%s is of a run of %s by now", r.LedgerPath, was.Began.Format(time.DateTime))
	}
	if err == nil {
		err = l.keep()
	}
	if err != nil {
		l.Release()
		return nil, err
	}
	return l, nil
}

// errTimeUp is why a probe could not ask when the run's time was up.
var errTimeUp = errors.New("the time was up; give more with --for")

// Ask makes the group, asks each probe, and returns what it saw, also when the context ends. It removes nothing: that is [Cleaner]'s, whatever Ask returns.
func (r Run) Ask(ctx context.Context, ledger *Ledger) (*Record, error) {
	record := &Record{
		Version: recordVersion, Date: r.Now().UTC().Format(time.DateOnly), Cloud: r.CloudName, Region: r.Plan.Region, Size: r.Plan.Size, Sluice: r.Sluice,
	}
	key, err := publicKey()
	if err != nil {
		return record, err
	}
	ends := r.Now().Add(r.Plan.For)
	wait := func(ctx context.Context, d time.Duration) error {
		if !r.Now().Before(ends) {
			return errTimeUp
		}
		return r.Wait(ctx, d)
	}
	l := &Lab{cloud: r.Cloud, ledger: ledger, plan: r.Plan, whys: map[string]string{}, key: key, now: r.Now, wait: wait}
	if err := l.open(ctx); err != nil {
		return record, err
	}
	r.Say(fmt.Sprintf("resource group %s is made in %s", ledger.Group, r.Plan.Region))
	for _, p := range Probes() {
		if len(r.Only) > 0 && !r.Only[p.Name] {
			continue
		}
		r.Look(p)
		began := r.Now()
		o, err := Observation{}, ctx.Err()
		if err == nil && !began.Before(ends) {
			err = errTimeUp
		}
		if err == nil {
			err = l.provide(ctx, p.Needs)
		}
		if err == nil {
			o, err = p.Run(ctx, l)
		}
		if ctx.Err() != nil {
			return record, context.Cause(ctx)
		}
		result := l.result(p, o, err, r.Now().Sub(began))
		record.Results = append(record.Results, result)
		r.Tell(p, result)
	}
	return record, nil
}
