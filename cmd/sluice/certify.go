package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	azurecloud "sluice.dev/sluice/cloud"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/certify"
	"sluice.dev/sluice/internal/progress"
	"sluice.dev/sluice/internal/report"
)

// certifier is a call of certify.
type certifier struct {
	builder
	region, record    string
	lasts             time.Duration
	only              []string
	yes, plan, listed bool
	clean             bool
}

func certifyCommand() *cobra.Command {
	var c certifier
	cmd := &cobra.Command{
		Use:   "certify",
		Short: "Try in your own subscription whether Azure behaves as sluice assumes",
		Long: `Promises of sluice rest on facts about Azure. Each fact is a probe. "sluice certify" asks all probes in your own subscription.
It makes a resource group with at most two small spot machines, and removes it afterwards.

It shows the most that this costs, and asks before it makes anything. Ctrl-C removes everything, too. A second Ctrl-C ends at
once, and prints what is left. The record of the run contains no names or ids of your subscription.

You need the role Contributor on the subscription.

Exit code 0: all facts are as assumed. 1: some differ, or nobody agreed. 2: error, something was not seen, or something is left.
With --plan 1: a run cannot begin, or --clean would remove something. With --clean 1: a group of another run is there.`,
		Example: "  sluice certify --plan\n  sluice certify --region=northeurope --record=northeurope.json\n" +
			"  sluice certify --only=entity-tag-guards-writes --yes\n  sluice certify --clean",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.addAzure(cmd)
	f := cmd.Flags()
	f.StringVar(&c.region, "region", "westeurope", "region in which to ask")
	f.StringVar(&c.record, "record", usualRecord, "`file` for the record; a second file beside it names what is not removed yet")
	f.DurationVar(&c.lasts, "for", 30*time.Minute, "how long to ask; probes after that are not seen")
	f.StringSliceVar(&c.only, "only", nil, "`probe` to ask; --list names all; may be repeated")
	f.BoolVar(&c.plan, "plan", false, "show what would be made, what it costs and what is in the way, or with --clean what it would remove; change nothing")
	f.BoolVar(&c.listed, "list", false, "list the probes; ask nobody")
	f.BoolVar(&c.clean, "clean", false, "remove what a killed run left; a run that goes on is left alone")
	f.BoolVar(&c.yes, "yes", false, "do not ask before making something")
	return cmd
}

// usualRecord is the file for the record where nobody names one.
const usualRecord = "sluice-certify.json"

// cleaning is the command that removes what a run of the same record has left.
func (c *certifier) cleaning() string {
	if c.record == usualRecord {
		return "sluice certify --clean"
	}
	return "sluice certify --clean --record=" + c.record
}

// ledger is the file of what a run has asked for.
func (c *certifier) ledger() string { return strings.TrimSuffix(c.record, ".json") + ".ledger.json" }

// leastRun is less than what one machine takes.
const leastRun = time.Minute

// chosen are the probes that the flags name; none: all of them.
func (c *certifier) chosen() (map[string]bool, error) {
	only := map[string]bool{}
	for _, name := range c.only {
		if !slices.ContainsFunc(certify.Probes(), func(p certify.Probe) bool { return p.Name == name }) {
			return nil, fmt.Errorf("--only=%s: there is no such probe; sluice certify --list names them", name)
		}
		only[name] = true
	}
	if c.lasts < leastRun || c.lasts > 4*time.Hour {
		return nil, fmt.Errorf("--for=%s: give 1m to 4h, such as 30m", c.lasts)
	}
	if c.record == "" {
		return nil, errors.New("--record is empty: give a file, such as --record=sluice-certify.json")
	}
	return only, nil
}

func (c *certifier) run(cmd *cobra.Command) error {
	only, err := c.chosen()
	if err != nil {
		return err
	}
	if c.listed {
		return listProbes(cmd.OutOrStdout())
	}
	if c.clean {
		return c.cleanUp(cmd)
	}
	inTheWay := c.inTheWay()
	if inTheWay != nil && !c.plan {
		return inTheWay
	}
	cloud, o, err := c.cloud(cmd.Context())
	if err != nil {
		return err
	}
	plan, err := certify.Survey(cmd.Context(), cloud, c.region, c.lasts)
	if err != nil {
		return withRole(err)
	}
	denied, err := denied(cmd.Context(), cloud)
	if err != nil {
		return err
	}
	if denied != nil && !c.plan {
		return denied
	}
	c.tell(cmd.OutOrStdout(), plan, only)
	if c.plan {
		return tellWrong(cmd.OutOrStdout(), inTheWay, denied)
	}
	if ok, err := agreed(cmd, c.yes, "Make this in subscription "+cloud.Subscription()+"?"); err != nil {
		return err
	} else if !ok {
		return exit(exitActs)
	}
	name := "another"
	if o.ResourceManagerEndpoint == "" {
		name = o.Cloud
	}
	return c.ask(cmd, certify.Run{
		Cloud: cloud, CloudName: name, Plan: plan, Only: only, LedgerPath: c.ledger(), Sluice: version, Now: time.Now, Wait: cloud.Wait,
	})
}

// inTheWay is why a run cannot begin beside the files that are here.
func (c *certifier) inTheWay() error {
	if err := certify.Running(c.ledger()); err != nil {
		return withRemedy(err, "wait for its end, or give another --record")
	}
	was, err := certify.ReadLedger(c.ledger())
	if err != nil {
		return err
	}
	if was != nil {
		return fmt.Errorf("%s says that a run of %s has left things in Azure: %s removes them", c.ledger(), was.Began.Format(time.DateTime), c.cleaning())
	}
	if _, err := os.Lstat(c.record); err == nil {
		return fmt.Errorf("%s is there already; move it away, or give another --record", c.record)
	}
	return nil
}

// withRemedy says what to do about a run that goes on.
func withRemedy(err error, remedy string) error {
	if running := new(certify.RunningError); errors.As(err, &running) {
		return fmt.Errorf("%w: %s", err, remedy)
	}
	return err
}

// denied is why a run would be refused by Azure, or leave what it makes.
func denied(ctx context.Context, cloud *azure.Resources) (refusal, err error) {
	missing, err := certify.Missing(ctx, cloud)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	return fmt.Errorf("%d rights are missing: %s; assign the role Contributor on the subscription", len(missing), strings.Join(missing, ", ")), nil
}

// tellWrong prints why a run cannot begin.
func tellWrong(out io.Writer, all ...error) error {
	var end error
	for _, err := range all {
		if err != nil {
			_, _ = fmt.Fprintf(out, "wrong     %s\n", report.Printable(err.Error()))
			end = exit(exitActs)
		}
	}
	return end
}

// cloud signs in.
func (c *certifier) cloud(ctx context.Context) (*azure.Resources, azure.Options, error) {
	o, err := c.options(ctx, "sluice-certify", c.region)
	if err != nil {
		return nil, o, err
	}
	r, err := azure.NewResources(ctx, o)
	return r, o, err
}

// withRole says which role a run needs, where Azure has refused for want of a right.
func withRole(err error) error {
	if kind := azurecloud.KindOf(err); kind != azurecloud.Unauthorized {
		return err
	}
	return fmt.Errorf("%w (sluice certify needs the role Contributor on the subscription)", err)
}

// listProbes writes a table of all probes.
func listProbes(out io.Writer) error {
	for _, p := range certify.Probes() {
		if _, err := fmt.Fprintf(out, "%-38s  %-22s  %s\n", p.Name, strings.Join(p.Promises, " "), p.Fact); err != nil {
			return err
		}
	}
	return nil
}

// tell says what is going to be made, and what it costs.
func (c *certifier) tell(out io.Writer, p certify.Plan, only map[string]bool) {
	probes := len(certify.Probes())
	if len(only) > 0 {
		probes = len(only)
	}
	cost := "no price of it is known here: such machines cost some cents an hour"
	if usd, known := p.MostUSD(); known {
		cost = fmt.Sprintf("at most %.2f USD", usd)
	}
	_, _ = fmt.Fprintf(out, `probes    %d, at most %s; then what was made is removed
makes     a resource group %s... in %s: a network without a way in, up to three scale sets, an empty availability set
machines  at most two at a time, %s (%d vCPUs), spot, without a public address
cost      %s
record    %s; until all is removed, %s names what is there
`, probes, progress.Rounded(p.For), certify.GroupPrefix, p.Region, p.Size, p.VCPUs, cost, c.record, c.ledger())
}

// interrupts counts what asks the process to end: the first ends the run, the second the removal.
func interrupts(ctx context.Context, say func(string)) (second context.Context, stop func()) {
	second, cancel := context.WithCancel(context.WithoutCancel(ctx))
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-signals:
			case <-second.Done():
				return
			}
			if n > 0 {
				cancel()
				return
			}
			say("interrupted: removing what was made; the next Ctrl-C ends at once and leaves it")
		}
	}()
	return second, func() { signal.Stop(signals); cancel() }
}

// ask runs the probes, removes what was made, and says what came of it.
func (c *certifier) ask(cmd *cobra.Command, r certify.Run) error {
	line := progress.NewLine(cmd.ErrOrStderr())
	out, began := line.Before(cmd.OutOrStdout()), time.Now()
	say := func(s string) {
		_, _ = fmt.Fprintf(out, "%7s   %s\n", time.Since(began).Round(time.Second), report.Printable(s))
	}
	r.Say = say
	r.Look = func(p certify.Probe) { line.Show("asking " + p.Name) }
	r.Tell = func(p certify.Probe, is certify.Result) {
		_, _ = fmt.Fprintf(out, "%-8s  %-38s  %s (%s)\n", is.Verdict, p.Name, report.Printable(is.Sentence), is.Took.Round(time.Second))
	}
	removal, stop := interrupts(cmd.Context(), say)
	defer stop()
	ledger, err := r.Begin()
	if err != nil {
		return withRemedy(err, "nothing was made")
	}
	defer ledger.Release()
	record, failed := r.Ask(cmd.Context(), ledger)
	line.Show("removing what was made")
	left := c.remove(removal, r.Cloud, ledger, say)
	line.Clear()
	if cmd.Context().Err() != nil {
		failed = errors.New("the run was interrupted, and leaves no record")
	}
	var kept error
	failed = withRole(failed)
	if failed == nil {
		kept = c.keep(cmd.OutOrStdout(), record)
		c.conclude(cmd.OutOrStdout(), record)
	}
	var wrong []string
	for _, err := range []error{failed, kept, c.tellLeft(left)} {
		if err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	switch {
	case len(wrong) > 0:
		return errors.New(strings.Join(wrong, "; "))
	case record.Count(certify.Differs) > 0:
		return exit(exitActs)
	case record.Count(certify.NotSeen) > 0:
		return exit(exitError)
	}
	return nil
}

func (c *certifier) remove(ctx context.Context, cloud *azure.Resources, ledger *certify.Ledger, say func(string)) *certify.Left {
	ctx, cancel := context.WithTimeout(ctx, certify.RemovalTime)
	defer cancel()
	return certify.Cleaner{Cloud: cloud, Ledger: ledger, Now: time.Now, Wait: cloud.Wait, Say: say}.Clean(ctx)
}

// tellLeft is the error of what is left.
func (c *certifier) tellLeft(left *certify.Left) error {
	switch {
	case left == nil:
		return nil
	case len(left.Foreign) > 0 && len(left.Ours) == 0:
		return fmt.Errorf("%s: others made it, so that the resource group stays; %s removes it once they are gone", strings.Join(left.Foreign, ", "), c.cleaning())
	}
	why := "the removal was interrupted"
	if left.Why != nil && !errors.Is(left.Why, context.Canceled) {
		why = left.Why.Error()
	}
	return fmt.Errorf("left in Azure: %s (%s); %s removes it, or: %s", strings.Join(left.Ours, ", "), why, c.cleaning(), left.Command)
}

// keep writes the record. What cannot be written is printed, so that it is not lost.
func (c *certifier) keep(out io.Writer, r *certify.Record) error {
	if err := os.WriteFile(c.record, r.JSON(), 0o644); err != nil { //nolint:gosec // it is to be shown to others
		_ = os.Remove(c.record) // half of it is of no use
		_, _ = out.Write(r.JSON())
		return fmt.Errorf("the record stands above, since it cannot be written: %w", err)
	}
	return nil
}

// conclude says how many agree, and of each that differs what leans on it.
func (c *certifier) conclude(out io.Writer, r *certify.Record) {
	_, _ = fmt.Fprintf(out, "%d agree, %d differ, %d not seen; the record is %s\n", r.Count(certify.Agrees), r.Count(certify.Differs), r.Count(certify.NotSeen), c.record)
	for _, p := range certify.Probes() {
		for _, is := range r.Results {
			if is.Name == p.Name && is.Verdict == certify.Differs {
				_, _ = fmt.Fprintf(out, "\n%s\n  sluice believes: %s\n  here: %s\n  %s of docs/safety.md lean on it. Report it with the record %s\n",
					p.Name, p.Fact, report.Printable(cmp.Or(is.Sentence, "another")), strings.Join(p.Promises, ", "), c.record)
			}
		}
	}
}

// left is the ledger of a run that has ended, nil when there is none. But for a plan it is held, so that nobody removes the same.
func (c *certifier) left() (*certify.Ledger, error) {
	err := certify.Running(c.ledger())
	var was *certify.Ledger
	if err == nil {
		was, err = certify.ReadLedger(c.ledger())
	}
	if err == nil && was != nil && !c.plan {
		was, err = certify.Claim(c.ledger())
	}
	return was, withRemedy(err, "nothing of it is removed; Ctrl-C there removes what it made")
}

// cleanUp removes what a ledger names, and says which groups of other runs there are. With a plan it says what it would remove.
func (c *certifier) cleanUp(cmd *cobra.Command) error {
	out := cmd.OutOrStdout()
	was, err := c.left()
	if err != nil {
		return err
	}
	if was != nil {
		defer was.Release()
		if c.subscription != "" && !strings.EqualFold(c.subscription, was.Subscription) {
			return fmt.Errorf("--subscription=%s: %s is about another one; leave the flag out", c.subscription, c.ledger())
		}
		c.subscription, c.region = was.Subscription, was.Region
	}
	cloud, _, err := c.cloud(cmd.Context())
	if err != nil {
		return err
	}
	code := exitNothing
	switch {
	case was == nil:
		_, _ = fmt.Fprintf(out, "there is no %s: no run has left anything that is known here\n", c.ledger())
	case c.plan:
		code = exitActs
		if err := c.tellRemoval(cmd, cloud, was); err != nil {
			return err
		}
	default:
		left := c.remove(cmd.Context(), cloud, was, func(s string) { _, _ = fmt.Fprintln(out, report.Printable(s)) })
		if err := c.tellLeft(left); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(out, "nothing is left of the run of %s\n", was.Began.Format(time.DateTime))
	}
	others, err := certify.Others(cmd.Context(), cloud)
	if err != nil {
		return err
	}
	for _, command := range others {
		if was != nil && command == was.Command() {
			continue // a plan has told of it
		}
		code = exitActs
		_, _ = fmt.Fprintf(out, "another run has made a resource group, and may go on; if not: %s\n", command)
	}
	if code != exitNothing {
		return exit(code)
	}
	return nil
}

// tellRemoval prints what a removal would remove.
func (c *certifier) tellRemoval(cmd *cobra.Command, cloud *azure.Resources, was *certify.Ledger) error {
	goes, stays, err := certify.Cleaner{Cloud: cloud, Ledger: was, Now: time.Now, Wait: cloud.Wait}.Look(cmd.Context())
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	for _, one := range goes {
		_, _ = fmt.Fprintf(out, "goes      %s\n", report.Printable(one))
	}
	for _, one := range stays {
		_, _ = fmt.Fprintf(out, "stays     %s (others made it)\n", report.Printable(one))
	}
	if len(stays) == 0 {
		_, _ = fmt.Fprintf(out, "goes      %s\n", c.ledger())
	}
	return nil
}
