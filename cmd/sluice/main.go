// Command sluice is the node autoscaler of self-managed Kubernetes clusters on Azure, and the tool to ask it why.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	_ "time/tzdata" // schedules name time zones, and a container may have none

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	_ "golang.org/x/crypto/x509roots/fallback" // a container may have no certificate authorities
	"k8s.io/component-base/cli/flag"

	"sluice.dev/sluice/internal/report"
)

// Exit codes of every verb.
const (
	exitNothing = 0 // there was nothing to do, or it was done
	exitActs    = 1 // it would act, or what was checked came out otherwise
	exitError   = 2
)

// exit is an error that carries its exit code and has been told to the user already.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := execute(ctx, underName(root(), os.Args[0]), commandLine(os.Args))
	stop()
	os.Exit(code)
}

// incumbent is the name of the program whose manifests call it without a verb.
const incumbent = "cluster-autoscaler"

// commandLine is what the program was called with, verb first. Flags without a verb are those of run, and so is nothing at all under
// cluster-autoscaler's name: its manifests name no verb. Alone, --version stays the program's, and so does --help under its own name. kubectl's plugin
// wants a verb.
func commandLine(called []string) []string {
	if len(called) == 0 {
		return nil
	}
	args := called[1:]
	name := calledBy(called[0])
	theirs := name == incumbent
	switch {
	case name == plugin:
		return args // kubectl's flags may stand before the verb
	case name == completer:
		return append([]string{cobra.ShellCompRequestCmd}, args...)
	case len(args) == 0 && !theirs, len(args) > 0 && !strings.HasPrefix(args[0], "-"):
		return args
	case len(args) == 1 && (args[0] == "--version" || !theirs && (args[0] == "--help" || args[0] == "-h")):
		return args
	}
	return append([]string{"run"}, args...)
}

func execute(ctx context.Context, cmd *cobra.Command, args []string) int {
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	var code exit
	switch {
	case err == nil:
		return exitNothing
	case errors.As(err, &code):
		return int(code)
	}
	_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "sluice: %s\n", report.Printable(oneLine(err)))
	return exitError
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sluice COMMAND",
		Short: "Node autoscaler for self-managed Kubernetes on Azure",
		Long: `sluice adds machines to Azure scale sets and availability sets when pods need them. When load falls, it deletes idle
machines, by name. Ask it for the reasons of any decision.

Start with two commands that write nothing. "sluice doctor" finds what is wrong with the installation. "sluice plan" shows what sluice
would do now. Where there is no cluster, "sluice simulate FILE" plays a scenario, and "sluice cluster" makes one.`,
		SilenceUsage:               true,
		SilenceErrors:              true,
		Args:                       knownCommand,
		SuggestionsMinimumDistance: 2,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return flag.WordSepNormalizeFunc(nil, name)
	})
	group := func(id, title string, verbs ...*cobra.Command) {
		cmd.AddGroup(&cobra.Group{ID: id, Title: title})
		for _, v := range verbs {
			v.GroupID = id
		}
		cmd.AddCommand(verbs...)
	}
	group("ask", "Ask", doctorCommand(), planCommand(), explainCommand(), topCommand(), historyCommand(), logCommand())
	group("tell", "Change what the running sluice does", pauseCommand(), resumeCommand(), holdCommand(), releaseCommand(), drainCommand(), undrainCommand(), acknowledgeCommand())
	group("run", "Run, install, make a cluster", runCommand(), agentCommand(), joinCommand(), adoptCommand(), uninstallCommand(), clusterCommand())
	pool := clusterPoolCommand() // for those who look for it here
	pool.Hidden = true
	cmd.AddCommand(pool)
	group("prove", "Simulate, replay, certify", simulateCommand(), replayCommand(), certifyCommand())
	group("else", "Other", versionCommand())
	cmd.SetHelpCommand(helpCommand())
	cmd.SetHelpCommandGroupID("else")
	cmd.SetCompletionCommandGroupID("else")
	cmd.InitDefaultHelpCmd()
	cmd.InitDefaultCompletionCmd()
	cmd.Version = version
	cmd.SetVersionTemplate("sluice {{.Version}}\n")
	cmd.Flags().Bool("version", false, "print the version") // by cobra it would take -v as well, which means verbosity elsewhere
	cmd.SetFlagErrorFunc(flagError)
	withHelp(cmd)
	return cmd
}
