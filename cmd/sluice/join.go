package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/join"
	"sluice.dev/sluice/internal/report"
)

// joiningFlags are the flags of the table of settings about joining, with what they set.
func joiningFlags(j *app.Joining) map[string]any {
	return map[string]any{
		"join-address": &j.Address, "join-tls-file": &j.TLSFile, "join-server": &j.Server, "join-ca-file": &j.CAFile, "join-distribution": &j.Distribution,
		"join-resource-groups": &j.Groups, "join-pools": &j.Pools, "join-max-age": &j.Age, "join-token-life": &j.Life, "attest-aia": &j.IssuersFrom,
		"attest-certificates": &j.Certificates,
	}
}

func joinCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "join",
		Short: "Let new machines join by proof, without a secret on them",
		Long: `Let new machines join the cluster by proof. A machine shows a document about itself that Azure has signed. The door, a port on the server,
compares it with what Azure says of the machine. Then the machine gets a token that is for it alone and lasts some minutes.`,
		Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(joinServeCommand(), joinKeyCommand())
	return cmd
}

func joinServeCommand() *cobra.Command {
	var s settings
	o := app.Options{Version: version}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the port at which machines join: the door",
		Long: `Serve the port at which machines join: the door, on a server of the cluster. "sluice run --join-address=:7443" does
the same beside the autoscaler.

A machine comes with its attested document and its resource id. It is let in if
  - Azure has signed the document, for the door's subscription, at most 5 minutes ago;
  - it answers a challenge that the door gave to this address at most 2 minutes ago;
  - Azure shows the machine with that vmId in a scale set of --join-pools;
  - it was made less than --join-max-age ago, and has not joined before;
  - the request comes from the primary address of its primary interface.

It then gets a bootstrap token of its own. The token ends when the machine is a node or is gone, or after --join-token-life. In kubeadm
clusters the door approves the certificates of that one node. Every refusal has a code, which the machine prints to its console. The log
has the code with the remedy. What a person must mend is an Event in the namespace sluice-join.

The machine's side is the script sluice-join. It knows the door by the fingerprint of its certificate, which is public. "sluice join key"
makes certificate and key; the key is secret. Rights: deploy/join.yaml. Azure: the role of deploy/azure-role.json is enough.`,
		Example: `  sluice join key /etc/sluice/join/tls.pem
  sluice join serve --join-pools=agents,burst
  sluice join serve --join-server=https://10.10.0.4:6443 --join-distribution=kubeadm --join-resource-groups=render
  sluice join serve --join-server=https://10.10.0.4:6443 --attest-aia= --attest-certificates=/etc/sluice/join/azure.pem`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if o.Log, err = s.logger(cmd.ErrOrStderr(), slog.LevelInfo); err != nil {
				return err
			}
			report.BridgeKlog(o.Log)
			if o.Azure, err = s.azure(o.Log); err != nil {
				return err
			}
			if o.Kube, err = s.kube(); err != nil {
				return err
			}
			o.Joining.Address = cmp.Or(o.Joining.Address, ":7443")
			return app.Join(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Address, "address", "", "where /metrics and /healthz are answered, such as 127.0.0.1:8087; empty: nowhere")
	app.Bind(f, joiningFlags(&o.Joining))
	app.Bind(f, map[string]any{
		"cloud-config": &s.cloudConfig, "azure-api-share": &s.apiShare, "azure-resource-manager-endpoint": &s.endpoints.manager, "azure-authority-host": &s.endpoints.authority,
	})
	s.addCommon(f)
	for name := range joiningFlags(&o.Joining) {
		first(f.Lookup(name))
	}
	return cmd
}

func joinKeyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "key FILE",
		Short: "Make the certificate and key of the door, and print its fingerprint",
		Long: `Make the certificate and key of the door in a new file. Print the fingerprint by which machines know it, which is public. Only sluice may
read the file.`,
		Example: `  sluice join key /etc/sluice/join/tls.pem`,
		Args:    arguments(1, 1, "a new file, such as: sluice join key /etc/sluice/join/tls.pem"),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, fingerprint, err := join.NewIdentity(time.Now())
			if err != nil {
				return err
			}
			f, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return fmt.Errorf("%w; give the path of a new file", err)
			}
			if _, err := f.Write(file); err != nil {
				return err
			}
			_, _ = fmt.Fprintln(cmd.OutOrStdout(), fingerprint)
			return f.Close()
		},
	}
}
