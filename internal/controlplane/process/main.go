// Command process runs a control plane in a process of its own. It prints the path of an administrator's kubeconfig when the control plane
// is ready, and ends when its standard input does. Its one argument, which may be left out, is [controlplane.Options.Egress]; the environment variable
// SLUICE_KUBERNETES is [controlplane.Options.Binaries].
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"sluice.dev/sluice/internal/controlplane"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	o := controlplane.Options{Binaries: os.Getenv("SLUICE_KUBERNETES")}
	if len(args) > 0 {
		o.Egress = args[0]
	}
	plane, err := controlplane.Start(ctx, o)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(out, plane.Kubeconfig()) // whoever does not read it has ended, and so has the input
	_, _ = io.Copy(io.Discard, in)
	return plane.Stop()
}
