// Command azuresim is a small Azure on this machine: Resource Manager, the token authority and instance metadata over HTTPS,
// for whoever tests tooling against Azure. It loads a world from a file, lies when told, and says what it was asked.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// version is set by the build.
var version = "unknown"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	os.Exit(execute(ctx, root(), os.Args[1:]))
}

// execute returns the exit code: 0, or 2 when the command could not do what it was told.
func execute(ctx context.Context, cmd *cobra.Command, args []string) int {
	cmd.SetArgs(args)
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "azuresim: %v\n", err)
		return 2
	}
	return 0
}

func root() *cobra.Command {
	o := options{}
	cmd := &cobra.Command{
		Use:   "azuresim",
		Short: "A small Azure on this machine, which lies when told",
		Long: `A small Azure on this machine, which lies when told.

It speaks the wire protocol of Azure Resource Manager (scale sets of both modes, virtual machines, availability sets, network
interfaces, disks, template deployments, roles, locks, quota), of the token authority, and of instance metadata, over a world that it keeps in memory.
Clients are the real ones: the az command line, azure-sdk-for-go, cloud-provider-azure, cluster-autoscaler. What to tell each
of them is printed at the start. Nothing real is contacted.

Started without a verb it serves until Ctrl-C. The verbs below talk to the one that runs, on its control address: they list
what happened, inject faults, and do what people and other software do behind a client's back.`,
		Example: `  azuresim                                     serve the built-in world
  azuresim --world=world.yaml --speed=10       serve a world of your own, ten times as fast
  azuresim --metadata=127.0.0.1:9000=agents_0  and the instance metadata of one of its machines
  azuresim example > world.yaml                a world file to start from
  azuresim requests                            what was asked
  azuresim inject kind='PATCH *' status=429 retryAfter=20m times=3
  azuresim evict burst_0 --notice=30s`,
		Args:          cobra.NoArgs,
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), o, cmd.OutOrStdout()) },
	}
	f := cmd.Flags()
	f.StringVar(&o.world, "world", "", "world `file`, YAML or JSON; empty: the built-in one, see azuresim example")
	f.StringVar(&o.listen, "listen", "127.0.0.1:8443", "`address` of Resource Manager and the token authority; port 0 takes a free one")
	f.BoolVar(&o.plain, "http", false, "serve plain HTTP in the place of HTTPS; most clients refuse to send a token there")
	f.StringVar(&o.dir, "dir", "", "`directory` for the CA, the certificate and the files for clients, kept for the next start; empty: a temporary one")
	f.StringArrayVar(&o.metadata, "metadata", nil, "`address=machine`: serve a machine's instance metadata there; may be repeated")
	f.StringArrayVar(&o.identity, "identity", nil, "`address=machine`: serve a machine's identities as App Service does; may be repeated")
	f.StringVar(&o.run, "run-command", "", "`program` that answers run commands: its argument is the id of the machine, its input the script; empty: no machine has an agent that answers")
	f.StringVar(&o.control, "control", defaultControl(), "loopback `address` of the control interface, which has no authentication")
	f.Uint64Var(&o.seed, "seed", 0, "what all chance depends on; 0: that of the world file")
	f.Float64Var(&o.speed, "speed", 1, "how many times as fast as yours the clock of this Azure runs; more than 1 accepts expired tokens")
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return fmt.Errorf("%w; see %s --help", err, c.CommandPath()) })
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.AddCommand(exampleCommand())
	addLists(cmd)
	addFaults(cmd)
	addActs(cmd)
	return cmd
}

// defaultControl is where a server offers its control interface and where the verbs look for it.
func defaultControl() string {
	if a := os.Getenv("AZURESIM_CONTROL"); a != "" {
		return a
	}
	return "127.0.0.1:8444"
}
