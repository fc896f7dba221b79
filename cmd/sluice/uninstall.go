package main

import (
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/kube"
)

func uninstallCommand() *cobra.Command {
	var h operator
	var at kube.Place
	var yes, beside bool
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove everything of sluice from the cluster's objects",
		Long: `Remove everything that sluice, or a person with its help, has put on objects of the cluster. This is taints and their
cordons, annotations, labels, scheduling gates, pauses and acknowledgements. It is also the status ConfigMap and the lease. Without --yes
the command only lists it.

Stop sluice first: while a process holds the lease, the command refuses. With --beside it works all the same, and leaves the lease and the
status alone. Use --beside where cluster-autoscaler leads already.

You may repeat it. Remove what the manifests have made with kubectl delete: the Deployment, the roles, the admission policies. sluice
leaves nothing in Azure.`,
		Example: "  sluice uninstall\n  sluice uninstall --yes",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := h.connect()
			if err != nil {
				return err
			}
			out := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			found := 0
			err = api.GiveBack(cmd.Context(), at, !yes, beside, time.Now(), func(r kube.Returned) {
				found++
				_, _ = fmt.Fprintf(out, "%s\t%s\n", r.Object, r.What)
			})
			if flushed := out.Flush(); err == nil {
				err = flushed
			}
			if errors.Is(err, kube.ErrLed) {
				return fmt.Errorf("%w; stop sluice, then try again 15 seconds later, or give --beside where cluster-autoscaler leads", err)
			}
			if err != nil {
				return reaching(err)
			}
			end := fmt.Sprintf("done: objects given back %d", found)
			switch {
			case found == 0:
				end = "nothing of sluice is left on any object"
			case !yes:
				end = fmt.Sprintf("nothing was changed: sluice uninstall --yes does this to objects %d", found)
			}
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), end); err != nil {
				return err
			}
			if found > 0 && !yes {
				return exit(exitActs)
			}
			return nil
		},
	}
	h.add(cmd)
	f := cmd.Flags()
	f.BoolVar(&yes, "yes", false, "do it; without this flag it is only told")
	f.BoolVar(&beside, "beside", false, "also while a process holds the lease, which then keeps lease and status")
	app.BindAs(f, "namespace", &at.Namespace, "namespace of the lease and the status ConfigMap")
	app.BindAs(f, "leader-elect-resource-name", &at.Lease, "name of the lease")
	app.Bind(f, map[string]any{"status-config-map-name": &at.Status})
	return cmd
}
