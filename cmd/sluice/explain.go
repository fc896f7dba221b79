package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/reason"
)

func explainCommand() *cobra.Command {
	var s settings
	var o app.Options
	var from source
	var format, namespace, at string
	cmd := &cobra.Command{
		Use:   "explain pod|node|group|instance|request|buffer NAME",
		Short: "Show the state of a pod, node, node group, machine, request or buffer, and the reasons",
		Long: `Show the state of one pod, node, node group, instance, request or buffer. An instance is a machine of a group. A
request is a ProvisioningRequest, a buffer a CapacityBuffer. You see the outcome, each reason with its code and numbers, actions in
progress, and how old the evidence is.

The answer comes from the running sluice, as for "sluice plan". With --journal it comes from a journal: from the last cycle, or the last
one that has the thing. With flags that say how to decide, it comes from one look at the cluster now. Name pods, requests and buffers as
namespace/name, or as name with --namespace. Name instances as group/id.`,
		Example: `  sluice explain pod default/web-7d9f
  sluice explain pod web-7d9f -n default --context=prod
  sluice explain group agents --server=http://127.0.0.1:8085
  sluice explain node agents000003 --journal=/var/lib/sluice/journal.jsonl
  sluice explain node agents000003 --journal=journal.jsonl --at=02:13
  sluice explain group agents --journal=journal.jsonl --cycle=1042
  sluice explain pod web-7d9f --nodes=1:10:agents`,
		Args: arguments(2, 2, "a kind and a name, such as: sluice explain pod default/web-0"),
		RunE: func(cmd *cobra.Command, args []string) error {
			about, err := question(args, format, func() string { return s.namespace(namespace) })
			if err != nil {
				return err
			}
			if from.at, err = parseMoment("at", at, time.Now()); err != nil {
				return err
			}
			if from.here, err = from.whom.here(cmd.Flags()); err != nil {
				return err
			}
			from.namespace = o.Namespace
			x, err := s.explain(cmd.Context(), o, about, from, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if format == "json" {
				return x.WriteJSON(cmd.OutOrStdout())
			}
			return x.WriteText(cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	s.add(f)
	f.StringVarP(&format, "output", "o", "text", "text or json")
	s.addKubectl(f)
	from.whom.add(f)
	app.BindAs(f, "journal", &from.journal, "a journal that sluice run wrote")
	f.Uint64Var(&from.cycle, "cycle", 0, "the cycle of the journal to explain; 0: the last")
	f.StringVar(&at, "at", "", "explain as of a time, from the journal: 02:13, 2026-03-02 02:13, or 2h for so long ago")
	f.StringVarP(&namespace, "namespace", "n", "", "namespace of a pod, request or buffer that is named without one; empty: that of the kubeconfig's context")
	app.Bind(f, map[string]any{"status-namespace": &o.Namespace})
	statusName(f, &o)
	cmd.ValidArgsFunction = s.completeQuestion(&from.whom, &o.Namespace, &namespace)
	return cmd
}

// A source says where an answer comes from; the zero source is the running sluice of the cluster.
type source struct {
	whom
	here    bool   // a look at the cluster now, by the flags of this process
	journal string // path
	moment         // of the journal
}

// explain finds the answer where the user says. The log of a look goes to stderr.
func (s *settings) explain(ctx context.Context, o app.Options, about reason.Ref, from source, stderr io.Writer) (x report.Explanation, why error) {
	switch {
	case from.server != "" && from.journal != "":
		return report.Explanation{}, fmt.Errorf("--server and --journal: give one of them")
	case from.cycle != 0 && from.journal == "":
		return report.Explanation{}, fmt.Errorf("--cycle=%d: give --journal too; only a journal knows earlier cycles", from.cycle)
	case !from.at.IsZero() && from.journal == "":
		return report.Explanation{}, fmt.Errorf("--at: give --journal too; only a journal knows earlier cycles")
	case from.cycle != 0 && !from.at.IsZero():
		return report.Explanation{}, fmt.Errorf("--cycle and --at: give one of them")
	case from.journal != "":
		return explainFrom(from.journal, from.moment, about, tellAside(stderr))
	}
	if !from.here {
		err := s.ask(ctx, from.whom, "api/v1/explain", url.Values{"kind": {string(about.Kind)}, "name": {about.Name}}, &x)
		var none *noSluice
		if !errors.As(err, &none) {
			return x, err
		}
		defer func() {
			if why != nil {
				why = none.besides(why)
				return
			}
			_, _ = io.WriteString(stderr, decidedHere(none))
		}()
	}
	entry, err := s.once(ctx, o, stderr)
	if err != nil {
		return report.Explanation{}, err
	}
	return report.NewExplanation(entry, about)
}

// question reads what the user asks about, and in which form the answer is wanted.
func question(args []string, format string, namespace func() string) (reason.Ref, error) {
	if err := checkFormat(format); err != nil {
		return reason.Ref{}, err
	}
	return subject(args[0], args[1], namespace)
}

// subject reads what the user asks about.
func subject(kind, name string, namespace func() string) (reason.Ref, error) {
	if name == "" {
		return reason.Ref{}, fmt.Errorf("%s: the name is empty", kind)
	}
	within := func(kind reason.Kind) (reason.Ref, error) {
		if !strings.Contains(name, "/") {
			name = namespace() + "/" + name
		}
		return reason.Ref{Kind: kind, Name: name}, nil
	}
	switch strings.TrimSuffix(strings.ToLower(kind), "s") {
	case "pod", "po":
		return within(reason.KindPod)
	case "request", "provisioningrequest":
		return within(reason.KindRequest)
	case "buffer", "capacitybuffer":
		return within(reason.KindBuffer)
	case "node", "no":
		return reason.Node(name), nil
	case "group":
		return reason.Group(name), nil
	case "instance", "machine":
		return reason.Ref{Kind: reason.KindInstance, Name: name}, nil
	}
	return reason.Ref{}, fmt.Errorf("%s: the kind must be pod, node, group, instance, request or buffer", kind)
}
