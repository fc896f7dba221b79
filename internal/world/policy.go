package world

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/policy"
)

// policyFlags are the flags of sluice that a script may set, and the policy that they come to. Statements add up.
type policyFlags struct {
	flags *pflag.FlagSet
	read  func() (*policy.Policy, error)
}

func newPolicy() policyFlags {
	flags := pflag.NewFlagSet("policy", pflag.ContinueOnError)
	return policyFlags{flags, app.PolicyFlags(flags)}
}

// configuration is what the script tells each process of sluice, and whether that keeps to its plans.
type configuration struct {
	allowed policyFlags
	policy  *policy.Policy // what allowed came to after the last statement
	said    said           // the statements' own words
	dryRun  bool
	timing  app.Timing
	advice  advice
	whims   *whims // nil for a sluice that does what it plans
}

func newConfiguration() configuration {
	c := configuration{
		allowed: newPolicy(), policy: policy.Default(), said: said{},
		timing: app.Timing{Resync: 10 * time.Second, Most: 2 * time.Second, Retry: time.Second},
	}
	c.policy.Installation = installation
	return c
}

// names are the flags without their dashes.
func (p policyFlags) names() []string {
	var all []string
	p.flags.VisitAll(func(f *pflag.Flag) { all = append(all, f.Name) })
	return all
}

// installation is the name of the sluice that scenarios run: that of its lease.
const installation = "kube-system/cluster-autoscaler"

// doPolicy sets flags. The last value of a flag counts, and all of one that may be repeated.
func doPolicy(w *world, s *statement) error {
	for _, name := range sortedKeys(s.set) {
		w.config.said[name] = append(w.config.said[name], s.set[name]...)
		for _, value := range s.set[name] {
			if w.config.allowed.flags.Set(name, value) != nil {
				return fmt.Errorf("policy: %w", app.BadValue(w.config.allowed.flags.Lookup(name), value))
			}
		}
	}
	p, err := w.config.allowed.read()
	if err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	p.Installation = installation
	w.config.policy = p
	return nil
}
