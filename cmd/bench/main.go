// Command bench measures what sluice's decisions cost on this machine and prints one table: time, CPU, allocations and memory of each,
// beside its goal and its limit.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// errOver ends a run in which something was above its limit: the tables have said it.
var errOver = errors.New("not everything is within its limits")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	os.Exit(execute(ctx, root(), os.Args[1:]))
}

// execute returns the exit code: 0 when all is within its limits, 1 when something is not, 2 when it could not be measured.
func execute(ctx context.Context, cmd *cobra.Command, args []string) int {
	cmd.SetArgs(args)
	switch err := cmd.ExecuteContext(ctx); {
	case errors.Is(err, errOver):
		return 1
	case err != nil:
		fmt.Fprintf(cmd.ErrOrStderr(), "bench: %v\n", err)
		return 2
	}
	return 0
}
