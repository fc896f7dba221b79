package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/clusterfile"
	"sluice.dev/sluice/internal/lifecycle"
	"sluice.dev/sluice/internal/report"
)

func clusterImportCommand() *cobra.Command {
	var b builder
	var h operator
	var group, name, out string
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Print the cluster.yaml of a cluster that is there",
		Long: `Print the cluster file of a resource group. Where "sluice cluster up" made it, the file in Azure's record is printed as it
was given. "sluice cluster diff" then says what was changed by hand since. Else the file is written from what is in the group. Nothing is changed.

With --kubeconfig the API server is asked for distribution, release, and ranges of pods and services. Without it such lines say
FILL IN. What the file cannot say, such as a second server, stands at its top and on standard error.

Exit code 0: the file is whole; 1: something must be filled in, or the file cannot say all; 2: error.`,
		Example: "  sluice cluster import --resource-group=render --out=cluster.yaml\n  sluice cluster import --resource-group=k3s --kubeconfig=k3s.yaml --out=cluster.yaml",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if group == "" {
				return errors.New("--resource-group is not given: give the group of the cluster")
			}
			o, err := b.options(cmd.Context(), group, "unknown")
			if err != nil {
				return err
			}
			r, err := azure.NewResources(cmd.Context(), o)
			if err != nil {
				return err
			}
			r.Tell = func(s string) { _, _ = fmt.Fprintln(cmd.ErrOrStderr(), report.Printable(s)) }
			var known lifecycle.Kubernetes
			if h.asked(cmd) {
				if known, err = h.hear(cmd.Context()); err != nil {
					return err
				}
			}
			got, err := lifecycle.Import(cmd.Context(), r, group, name, known)
			if err != nil {
				return err
			}
			return tellImport(cmd, &got, out)
		},
	}
	b.addAzure(cmd)
	h.add(cmd)
	cmd.Flags().StringVarP(&group, "resource-group", "g", "", "resource group of the cluster")
	cmd.Flags().StringVar(&name, "name", "", "cluster, where tags in the group name several")
	cmd.Flags().StringVar(&out, "out", "", "file to write, which must not be there yet; empty: print")
	return cmd
}

// tellImport prints the file, or writes it to out, and says on standard error what is the matter with it.
func tellImport(cmd *cobra.Command, got *lifecycle.Imported, out string) error {
	if got.Recorded {
		if _, problems := clusterfile.Parse([]byte(got.Text)); len(problems) > 0 {
			return refuseFile(cmd, "the file in Azure's record", problems)
		}
	}
	if out == "" {
		if _, err := io.WriteString(cmd.OutOrStdout(), got.Text); err != nil {
			return err
		}
	} else if err := writeNew("out", out, []byte(got.Text)); err != nil {
		return err
	}
	for _, s := range got.Lost {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "not in the file: %s\n", report.Printable(s))
	}
	for _, s := range got.Absent {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "to fill in: %s\n", report.Printable(s))
	}
	for _, s := range got.Wrong {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "to correct: %s\n", report.Printable(s))
	}
	if len(got.Lost)+len(got.Absent)+len(got.Wrong) > 0 {
		return exit(exitActs)
	}
	return nil
}

// asked says whether a person named an API server: an import of Azure alone needs none.
func (h *operator) asked(cmd *cobra.Command) bool {
	for _, name := range []string{"kubeconfig", "context", "cluster", "server"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			return true
		}
	}
	return false
}

// hear asks the API server for what Azure does not know of its cluster. What may not be read, or is not there, is left out: only nodes must be.
func (h *operator) hear(ctx context.Context) (lifecycle.Kubernetes, error) {
	config, err := h.kube()
	if err != nil {
		return lifecycle.Kubernetes{}, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return lifecycle.Kubernetes{}, fmt.Errorf("connect to the API server: %w", err)
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return lifecycle.Kubernetes{}, reaching(fmt.Errorf("list the nodes: %w", err))
	}
	heard := lifecycle.Heard{Nodes: nodes.Items}
	optional := func(what string, err error) error {
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
			return nil
		}
		return reaching(fmt.Errorf("%s: %w", what, err))
	}
	settings, err := client.CoreV1().ConfigMaps("kube-system").Get(ctx, "kubeadm-config", metav1.GetOptions{})
	if err == nil {
		heard.Kubeadm = settings.Data["ClusterConfiguration"]
	} else if err := optional("read ConfigMap kube-system/kubeadm-config", err); err != nil {
		return lifecycle.Kubernetes{}, err
	}
	services, err := client.NetworkingV1().ServiceCIDRs().Get(ctx, "kubernetes", metav1.GetOptions{})
	if err == nil {
		heard.Services = services.Spec.CIDRs
	} else if err := optional("read ServiceCIDR kubernetes", err); err != nil {
		return lifecycle.Kubernetes{}, err
	}
	drivers, err := client.StorageV1().CSIDrivers().List(ctx, metav1.ListOptions{})
	if err != nil {
		return lifecycle.Understand(heard), optional("list the CSI drivers", err)
	}
	for i := range drivers.Items {
		heard.Drivers = append(heard.Drivers, drivers.Items[i].Name)
	}
	return lifecycle.Understand(heard), nil
}
