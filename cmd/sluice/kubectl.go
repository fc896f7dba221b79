package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"
)

// plugin is the name under which kubectl finds the program as "kubectl sluice", and completer the one by which kubectl has it complete a line.
const (
	plugin    = "kubectl-sluice"
	completer = "kubectl_complete-sluice"
)

// calledBy is the program's name on its command line.
func calledBy(path string) string { return strings.TrimSuffix(filepath.Base(path), ".exe") }

// underName has help show the command as the user has called it.
func underName(cmd *cobra.Command, path string) *cobra.Command {
	if name := calledBy(path); name == plugin || name == completer {
		cmd.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl sluice"}
	}
	return cmd
}

// addContext declares which cluster of the kubeconfig is meant, by kubectl's flags. client-go has them without the rest of kubectl: cli-runtime would
// bring kustomize and seven other modules for the same few flags.
func (s *settings) addContext(f *pflag.FlagSet) {
	clientcmd.BindOverrideFlags(&s.overrides, f, clientcmd.ConfigOverrideFlags{
		CurrentContext: clientcmd.FlagInfo{LongName: "context", Description: "context of the kubeconfig; empty: its current one"},
		Timeout:        clientcmd.FlagInfo{LongName: "request-timeout", Description: "end a request after this time, such as 30s; empty or 0: 10s for a running sluice, no end for the API server"},
	})
}

// addKubectl declares as whom the API server is asked besides.
func (s *settings) addKubectl(f *pflag.FlagSet) {
	s.addContext(f)
	clientcmd.BindOverrideFlags(&s.overrides, f, clientcmd.ConfigOverrideFlags{AuthOverrideFlags: clientcmd.AuthOverrideFlags{
		Impersonate:       clientcmd.FlagInfo{LongName: "as", Description: "user to ask as, by impersonation, such as system:serviceaccount:kube-system:sluice"},
		ImpersonateGroups: clientcmd.FlagInfo{LongName: "as-group", Description: "group to ask as, by impersonation; repeatable"},
	}})
}

// checkOverrides refuses what client-go would say of the kubeconfig.
func (s *settings) checkOverrides() error {
	o := s.overrides
	if _, err := clientcmd.ParseTimeout(o.Timeout); o.Timeout != "" && err != nil {
		return fmt.Errorf("--request-timeout=%s: give a duration, such as 30s", o.Timeout)
	}
	if len(o.AuthInfo.ImpersonateGroups) > 0 && o.AuthInfo.Impersonate == "" {
		return fmt.Errorf("--as-group=%s: give --as too; a group alone is nobody", o.AuthInfo.ImpersonateGroups[0])
	}
	if o.CurrentContext == "" {
		return nil
	}
	config, _ := s.client()
	raw, err := config.RawConfig()
	if err != nil {
		return nil //nolint:nilerr // it is said of the file, with its remedy
	}
	if raw.Contexts[o.CurrentContext] == nil {
		var known []string
		for name := range raw.Contexts {
			known = append(known, name)
		}
		if len(known) == 0 {
			return fmt.Errorf("--context=%s: there is no kubeconfig that has a context; give its path with --kubeconfig", o.CurrentContext)
		}
		return fmt.Errorf("--context=%s: the kubeconfig has no such context; it has %s", o.CurrentContext, strings.Join(sorted(known), ", "))
	}
	return nil
}

// namespace is the one of the kubeconfig's context where none is given, as kubectl has it.
func (s *settings) namespace(given string) string {
	if given != "" {
		return given
	}
	config, _ := s.client()
	if name, _, err := config.Namespace(); err == nil && name != "" {
		return name
	}
	return "default"
}
