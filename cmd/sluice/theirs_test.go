package main

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/setting"
)

// theirArguments is every flag of cluster-autoscaler, and those that it has had, each with a value that a manifest may give it.
func theirArguments(t *testing.T) (all []string) {
	t.Helper()
	read, err := os.ReadFile(filepath.Join("testdata", "cluster-autoscaler-flags.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(read))
}

// theirDefaults are cluster-autoscaler's defaults of the flags that sluice honours, by name, as they were read from its own.
func theirDefaults(t *testing.T) map[string]string {
	t.Helper()
	read, err := os.ReadFile(filepath.Join("testdata", "cluster-autoscaler-defaults.txt"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, line := range strings.Fields(string(read)) {
		name, value, _ := strings.Cut(line, "=")
		all[name] = value
	}
	return all
}

// started reads a command line as the program does, up to where it would ask Kubernetes and Azure.
func started(t *testing.T, line ...string) (app.Options, *pflag.FlagSet, error) {
	t.Helper()
	cmd, args, err := root().Find(commandLine(line))
	if err != nil {
		t.Fatal(err)
	}
	if cmd.Name() != "run" {
		t.Fatalf("%q calls %s", line, cmd.Name())
	}
	var s settings
	var o app.Options
	f := pflag.NewFlagSet("run", pflag.ContinueOnError)
	f.SetNormalizeFunc(root().GlobalNormalizationFunc())
	s.addRun(f, &o)
	if err := f.Parse(args); err != nil {
		return o, f, err
	}
	if err := s.butKube(&o, io.Discard, slog.LevelInfo); err != nil {
		return o, f, err
	}
	err = check(&o)
	return o, f, err
}

// TestEveryFlagOfTheirsIsKnown holds the tables, the lists of names, values and defaults, and the parser to one another.
func TestEveryFlagOfTheirsIsKnown(t *testing.T) {
	nowhere(t)
	defaults := theirDefaults(t)
	named := map[string]bool{}
	for _, arg := range theirArguments(t) {
		name, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		named[name] = true
		_, f, err := started(t, "./cluster-autoscaler", arg)
		switch given := f.Lookup(name); {
		case given == nil:
			t.Errorf("--%s is unknown", name)
		case err != nil && !other[name]:
			t.Errorf("%s: %v", arg, err)
		case !given.Changed && value != "":
			t.Errorf("%s is not heard", arg)
		}
	}
	f := runCommand().Flags()
	known := func(name, there, why string) (given *pflag.Flag) {
		if given = f.Lookup(name); given == nil || !named[name] {
			t.Fatalf("--%s stands in a table and is not known, or has no value in the list", name)
		}
		delete(named, name)
		if have := strings.Trim(given.DefValue, "[]"); (have != there) != (why != "") {
			t.Errorf("--%s: the default is %q, there %q, and the table says why: %q", name, have, there, why)
		}
		return given
	}
	for row := range setting.All() {
		if there, listed := defaults[row.Flag]; row.Theirs != listed || row.There != "" && row.There != there {
			t.Errorf("--%s: the default there is %q, in the list %q (%t)", row.Flag, row.There, there, listed)
		}
		if row.Theirs {
			known(row.Flag, defaults[row.Flag], row.Why)
			delete(defaults, row.Flag)
		}
	}
	for _, row := range app.TheirFlags {
		given := known(row.Name, row.Default, "")
		if row.Why == "" {
			t.Errorf("--%s: no reason is given", row.Name)
		}
		if app.Moot(given) != (row.Taken == app.NoEffect) || app.RefusedFlag(given) != (row.Taken == app.Refused) {
			t.Errorf("--%s is not taken as the table says, %s", row.Name, row.Taken)
		}
	}
	for name := range defaults {
		t.Errorf("--%s has a default in the list and no row in the table", name)
	}
	for name := range named {
		t.Errorf("--%s has a value in the list and no row in the table", name)
	}
}

// other are flags whose value in the list makes no sense without what it goes with: a file, or another flag.
var other = map[string]bool{
	"cloud-config": true, "leader-elect-renew-deadline": true, "leader-elect-retry-period": true, "leader-elect-lease-duration": true,
	"bypassed-scheduler-names": true, "min-replica-count": true, "scheduler-config-file": true, "max-node-group-backoff-duration": true,
	"max-inactivity": true, "grpc-expander-url": true, "grpc-expander-cert": true, "drain-priority-config": true,
}

// TestWhatIsRefusedSaysSo holds that a value that asks for what sluice does not do ends the start with the flag, the value and what to do, and that
// the default does not.
func TestWhatIsRefusedSaysSo(t *testing.T) {
	nowhere(t)
	for _, row := range app.TheirFlags {
		if row.Taken != app.Refused {
			continue
		}
		if _, _, err := started(t, "cluster-autoscaler", "--"+row.Name+"="+row.Default); err != nil && row.Kind != "stringArray" {
			t.Errorf("--%s=%s: %v", row.Name, row.Default, err)
		}
		value := "something"
		if row.Kind == "bool" {
			value = map[string]string{"true": "false", "false": "true"}[row.Default]
		}
		_, _, err := started(t, "cluster-autoscaler", "--"+row.Name+"="+value)
		if err == nil || !strings.Contains(err.Error(), "--"+row.Name+"=") || !strings.Contains(err.Error(), value) || !strings.Contains(err.Error(), row.Why) {
			t.Errorf("--%s=%s: %v", row.Name, value, err)
		}
	}
}

// TestCompatTakesTheirDefaults holds that a flag that is given keeps its value.
func TestCompatTakesTheirDefaults(t *testing.T) {
	nowhere(t)
	_, f, err := started(t, "sluice", "run", "--compat")
	if err != nil {
		t.Fatal(err)
	}
	for name, there := range theirDefaults(t) {
		if have := strings.Trim(f.Lookup(name).Value.String(), "[]"); have != there {
			t.Errorf("--%s is %q with --compat, there %q", name, have, there)
		}
	}
	if o, _, err := started(t, "sluice", "run", "--compat", "--expander=random"); err != nil || !slices.Equal(o.Policy.Growth.Expanders, []policy.Expander{policy.Random}) {
		t.Errorf("the expander is %v, want what was given; %v", o.Policy.Growth.Expanders, err)
	}
}

// TestTheClientOfTheAPIServerIsAsTold holds that the flags of the client reach it.
func TestTheClientOfTheAPIServerIsAsTold(t *testing.T) {
	nowhere(t)
	at := "--kubeconfig=" + kubeconfig(t, "https://10.0.0.1:6443")
	client := func(args ...string) (*rest.Config, error) {
		var s settings
		f := pflag.NewFlagSet("run", pflag.ContinueOnError)
		s.addCommon(f)
		if err := f.Parse(append(args, at)); err != nil {
			t.Fatal(err)
		}
		return s.kube()
	}
	c, err := client()
	if err != nil || c.QPS != 50 || c.Burst != 100 || c.UserAgent != "sluice/"+version || c.ContentType != "application/json" || c.AcceptContentTypes != "" || c.Host != "https://10.0.0.1:6443" {
		t.Errorf("without flags %+v, %v", c, err)
	}
	c, err = client("--kube-client-qps=7.5", "--kube-client-burst=9", "--user-agent=prod", "--kube-api-content-type=application/vnd.kubernetes.protobuf", "--kubernetes=https://10.0.0.2")
	if err != nil || c.QPS != 7.5 || c.Burst != 9 || c.UserAgent != "prod" || c.ContentType != "application/vnd.kubernetes.protobuf" || !strings.HasSuffix(c.AcceptContentTypes, ",application/json") || c.Host != "https://10.0.0.2" {
		t.Errorf("with flags %+v, %v", c, err)
	}
	if _, err = client("--kube-api-content-type=text/xml"); err == nil || !strings.Contains(err.Error(), "--kube-api-content-type=text/xml: give application/json or ") {
		t.Errorf("a form that is none: %v", err)
	}
}

func TestWhatHasNoEffectIsTold(t *testing.T) {
	nowhere(t)
	_, f, err := started(t, "cluster-autoscaler", "--stderrthreshold=info", "--logtostderr", "--v=4", "--nodes=1:10:vmss1", "--estimator=binpacking")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff("--logtostderr --stderrthreshold", app.GivenWithoutEffect(f)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestTheOldNameOfParallelismYields holds that a flag's old name counts where the new one is not given, whichever comes first.
func TestTheOldNameOfParallelismYields(t *testing.T) {
	nowhere(t)
	for line, want := range map[string]int{
		"--max-empty-bulk-delete=3":                                                                                  3,
		"--max-empty-bulk-delete=3 --max-scale-down-parallelism=7":                                                   7,
		"--max-scale-down-parallelism=7 --max-empty-bulk-delete=3":                                                   7,
		"--max_empty_bulk_delete=3 --max-scale-down-parallelism=3":                                                   3,
		"--max-empty-bulk-delete=10 --max-autoprovisioned-node-group-count=15 --node-autoprovisioning-enabled=false": 10,
	} {
		if o, _, err := started(t, append([]string{"cluster-autoscaler"}, strings.Fields(line)...)...); err != nil || o.Policy.Removal.Parallelism != want {
			t.Errorf("%s: %d, want %d; %v", line, o.Policy.Removal.Parallelism, want, err)
		}
	}
	if _, _, err := started(t, "cluster-autoscaler", "--max-empty-bulk-delete=many"); !errors.As(err, new(*pflag.InvalidValueError)) {
		t.Errorf("a count that is none: %v", err)
	}
}
