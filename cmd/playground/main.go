// Command playground is sluice's whole world on one machine: a real Kubernetes control plane, simulated kubelets, a small Azure on
// the wire, and sluice itself as "sluice run" starts it. It plays a story, measures it from outside, and says whether it came out right.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// version is set by the build.
var version = "unknown"

// Exit codes.
const (
	exitRight       = 0   // every check holds
	exitWrong       = 1   // the story was played and a check failed
	exitError       = 2   // the story could not be played
	exitInterrupted = 130 // told to stop before the end
)

var (
	// errWrong says that a check failed; the summary has told which.
	errWrong = errors.New("the story came out wrong")
	// errCleanUp says that something may be left running, or a file lying about.
	errCleanUp = errors.New("clean up")
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	os.Exit(execute(ctx, root(), os.Args[1:]))
}

func execute(ctx context.Context, cmd *cobra.Command, args []string) int {
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitRight
	case errors.Is(err, errWrong) && !errors.Is(err, errCleanUp):
		return exitWrong
	case ctx.Err() != nil && !errors.Is(err, errCleanUp):
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "playground: interrupted; nothing is left running\n")
		return exitInterrupted
	}
	_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "playground: %v\n", err)
	return exitError
}

func root() *cobra.Command {
	// The Kubernetes components that are linked in declare flags for the whole process; they are not the playground's.
	pflag.CommandLine = pflag.NewFlagSet(os.Args[0], pflag.ContinueOnError)
	o := options{script: fullStory()}
	var speed float64
	cmd := &cobra.Command{
		Use:   "playground",
		Short: "Play sluice's story on a real Kubernetes control plane and a simulated Azure",
		Long: `Play sluice's story on a real Kubernetes control plane and a simulated Azure, all in this one process.

It starts, on loopback and free ports: etcd, kube-apiserver, kube-scheduler and the controllers, as they are; an Azure that
speaks the wire protocol of Resource Manager, of the token authority and of instance metadata; kubelets for the machines of
that Azure; and sluice, as "sluice run" does, under its own service account with the rights of deploy/rbac.yaml.

The story takes three and a half minutes. A Deployment needs twelve more machines over two node groups; eleven small bursts
measure how fast capacity is asked for; a Job runs on the newest machine while older ones go idle, and a service is moved off a
machine that it hardly uses; the load leaves; a minute is quiet.
What is said about it at the end is measured from outside: by a watch on pods and nodes, and by Azure's own log of requests.

Exit code 0: every check holds; 1: a check failed; 2: the story could not be played; 130: interrupted.`,
		Example: `  playground                    play the story and clean up
  playground --idle             no story: a cluster to try things on
  playground --keep             leave everything up for kubectl and sluice until Ctrl-C
  playground --dir=/tmp/story   keep the journal and the logs there`,
		Args:          cobra.NoArgs,
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if speed < 0.1 || speed > 10 {
				return fmt.Errorf("--speed=%g: give a number from 0.1 to 10", speed)
			}
			o.script = o.script.at(speed)
			return perform(cmd.Context(), o, cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.keep, "keep", false, "after the story leave everything up until Ctrl-C, and print commands to look around with")
	f.BoolVar(&o.idle, "idle", false, "play no story: leave everything up for your own kubectl until Ctrl-C")
	f.Float64Var(&speed, "speed", 1, "how fast machines boot, Jobs run and idle machines go: 0.5 is half as fast, for who watches the page")
	f.StringVar(&o.dir, "dir", "", "directory for the journal, the logs and the kubeconfig, new or empty; it stays. Empty: a temporary one, kept only when the story fails")
	f.IntVarP(&o.verbosity, "v", "v", 0, "verbosity of sluice's log file; 4 and above: debug")
	f.StringVar(&o.kubernetes, "kubernetes", "", "folder with kube-apiserver, kube-scheduler and kube-controller-manager of another version, which run as processes; see make skew")
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w; see %s --help", err, c.CommandPath())
	})
	cmd.AddCommand(loadCommand(), farmCommand())
	cmd.CompletionOptions.DisableDefaultCmd = true
	return cmd
}
