package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice.dev/sluice/internal/app"
)

// section is a part of the flags, in help and in docs/reference/flags.md.
type section struct {
	title string
	flags []string
}

// sections are the flags of run in the order in which an operator meets them. Flags that no section names come last, and those that change
// nothing after them.
var sections = []section{
	{"The question and the answer", []string{"output", "as", "timeout", "server", "cycle"}},
	{"The machine", []string{"node-name", "heed"}},
	{"Node groups", []string{"nodes", "node-group-auto-discovery", "schedule", "headroom", "enforce-node-group-min-size", "manage-autoscaled-scale-sets", "manage-aks-scale-sets"}},
	{"Which group grows", []string{"expander", "grpc-expander-url", "grpc-expander-cert", "balance-similar-node-groups", "balancing-ignore-label", "memory-difference-ratio", "max-allocatable-difference-ratio", "max-free-difference-ratio"}},
	{"Which pods count", []string{"new-pod-scale-up-delay", "burst-window", "gang-hold", "expendable-pods-priority-cutoff", "allowed-scheduler-names", "bypassed-scheduler-names", "drain-target", "await-free-places"}},
	{"What new nodes are like", []string{"startup-taint", "startup-taint-prefix", "ignore-taint", "status-taint"}},
	{"Room that objects ask for", []string{"enable-provisioning-requests", "check-capacity-processor-instance", "capacity-buffer-controller-enabled", "capacity-buffer-pod-injection-enabled"}},
	{"Limits of growth", []string{"max-nodes-total", "cores-total", "memory-total", "gpu-total", "scale-up-from-zero", "max-nodes-per-scaleup", "ceiling"}},
	{"When growth fails", []string{"max-node-provision-time", "max-node-startup-time", "initial-node-group-backoff-duration", "max-node-group-backoff-duration", "node-group-backoff-reset-timeout", "keep-failed-machine", "force-delete-unregistered-nodes", "force-delete-failed-nodes"}},
	{"Removal", []string{
		"scale-down-enabled", "scale-down-unneeded-time", "scale-down-unready-time", "scale-down-utilization-threshold", "scale-down-gpu-utilization-threshold", "busy-threshold", "busy-limit", "compat",
		"scale-down-unready-enabled", "ignore-daemonsets-utilization", "ignore-mirror-pods-utilization",
		"scale-down-delay-after-add", "scale-down-delay-after-delete", "scale-down-delay-after-failure", "scale-down-delay-type-local", "node-deletion-delay-timeout", "node-delete-delay-after-taint", "load-balancer-exclusion-delay", "max-detach-time", "max-bulk-soft-taint-count", "max-scale-down-parallelism", "max-empty-bulk-delete", "max-drain-parallelism", "max-emptied-percentage", "emptied-window", "max-graceful-termination-sec",
		"remove-control-plane-nodes", "max-drain-time", "after-drain-time", "drain-priority-config", "daemonset-eviction-for-empty-nodes", "daemonset-eviction-for-occupied-nodes", "run-dry", "evict-work", "daemon-work", "consolidate", "consolidation-expected-time", "consolidation-pod-cost", "consolidation-per-day", "skip-nodes-with-local-storage", "skip-nodes-with-system-pods", "blocking-system-pod-distruption-timeout", "skip-nodes-with-custom-controller-pods", "min-replica-count", "ok-total-unready-count", "max-total-unready-percentage",
	}},
	{"Azure", []string{"cloud-provider", "cloud-config", "azure-api-share", "azure-resource-manager-endpoint", "azure-authority-host", "azure-metadata-endpoint"}},
	{"Prices", []string{"prices-file", "retail-prices", "retail-prices-endpoint"}},
	{"The process", []string{"kubeconfig", "kubernetes", "kube-api-content-type", "kube-client-qps", "kube-client-burst", "user-agent", "cluster-id", "namespace", "status-namespace", "scan-interval", "dry-run", "hand-back", "address", "web-authorization", "tls-cert-file", "tls-private-key-file", "emit-per-nodegroup-metrics", "record-duplicated-events", "profiling", "debugging-snapshot-enabled", "max-inactivity", "max-failing-time", "max-startup-time", "write-status-configmap", "status-config-map-name", "journal", "journal-max-bytes", "v", "log-format", "logging-format"}},
	{"Leader election", []string{"leader-elect", "leader-elect-resource-name", "leader-elect-lease-duration", "leader-elect-renew-deadline", "leader-elect-retry-period"}},
}

// inSections sorts flags into sections; a section of which there is none is left out.
func inSections(all *pflag.FlagSet) (titles []string, flags [][]*pflag.Flag) {
	add := func(title string, of []*pflag.Flag) {
		if len(of) > 0 {
			titles, flags = append(titles, title), append(flags, of)
		}
	}
	named := map[string]bool{}
	for _, s := range sections {
		var of []*pflag.Flag
		for _, name := range s.flags {
			if f := all.Lookup(name); f != nil && !f.Hidden {
				of = append(of, f)
				named[f.Name] = true
			}
		}
		add(s.title, of)
	}
	var others, moot, refused []*pflag.Flag
	all.VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Hidden || named[f.Name]:
		case app.Moot(f):
			moot = append(moot, f)
		case app.RefusedFlag(f):
			refused = append(refused, f)
		default:
			others = append(others, f)
		}
	})
	add("Other", others)
	add("Accepted with their default only", refused)
	add("Accepted, without effect", moot)
	return titles, flags
}

// showSections lets a command's help show its flags in sections.
func showSections(cmd *cobra.Command) {
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		out := cmd.OutOrStderr()
		fmt.Fprintf(out, "Usage:\n  %s\n", cmd.UseLine())
		if cmd.HasExample() {
			fmt.Fprintf(out, "\nExamples:\n%s\n", cmd.Example)
		}
		titles, flags := inSections(cmd.Flags())
		for i, title := range titles {
			part := pflag.NewFlagSet(title, pflag.ContinueOnError)
			part.SortFlags = false
			for _, f := range flags[i] {
				part.AddFlag(f)
			}
			fmt.Fprintf(out, "\n%s:\n%s", title, part.FlagUsagesWrapped(140))
		}
		return nil
	})
}

// writeFlags writes the page of all flags of a command.
func writeFlags(out io.Writer, cmd *cobra.Command) {
	fmt.Fprintf(out, "# The flags of `%s`\n\n", cmd.CommandPath())
	fmt.Fprint(out, "This page is made by `go test ./cmd/sluice -run PageOfFlags -update`.\n"+`
Names, forms and meanings are those of cluster-autoscaler; so are the defaults, except those in the last table. sluice knows every flag of
cluster-autoscaler, removed ones too: a manifest of cluster-autoscaler starts sluice unchanged. Called as cluster-autoscaler, or with flags and
no verb, the program runs. One log line at the start names given flags that have no effect. Write --name=value or --name value; an underscore may
stand for a dash. A repeatable flag, and a list with commas, adds to what was given before. An unknown flag or a bad value ends the start with
exit code 2 and a sentence that says what is allowed.

`)
	titles, flags := inSections(cmd.Flags())
	for i, title := range titles {
		fmt.Fprintf(out, "## %s\n\n| flag | default | |\n|---|---|---|\n", title)
		for _, f := range flags[i] {
			if f.Name != "help" {
				fmt.Fprintf(out, "| `--%s` | %s | %s |\n", f.Name, code(f), strings.ReplaceAll(f.Usage, "|", "\\|"))
			}
		}
		fmt.Fprintln(out)
	}
	fmt.Fprint(out, `## Defaults that are not cluster-autoscaler's

With --compat each of these has cluster-autoscaler's default, unless it is given.

| flag | here | there | why |
|---|---|---|---|
`)
	for _, t := range app.TheirFlags {
		if f := cmd.Flags().Lookup(t.Name); t.Differs() && f != nil {
			fmt.Fprintf(out, "| `--%s` | %s | `%s` | %s |\n", t.Name, code(f), t.Default, t.Why)
		}
	}
}

// code is a flag's default as the page shows it, empty for none.
func code(f *pflag.Flag) string {
	if slices.Contains([]string{"", "[]"}, f.DefValue) {
		return ""
	}
	return "`" + f.DefValue + "`"
}
