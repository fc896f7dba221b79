package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/reason"
)

func explainCommand() *cobra.Command {
	var s settings
	var o app.Options
	var format, server, file, namespace, at string
	var cycle uint64
	cmd := &cobra.Command{
		Use:   "explain pod|node|group|instance|request|buffer NAME",
		Short: "Say what becomes of a pod, a node, a node group, a machine, or a request or buffer of room, and why",
		Long: `Say what sluice makes of one pod, node, node group, instance (a machine of a group), request (a ProvisioningRequest) or buffer
(a CapacityBuffer): the outcome, every reason with its code and the numbers
that were compared, what is in flight about it, and how old the evidence is.

The answer comes from a running sluice (--server), from a journal (--journal, by default its last cycle; of what is gone the last
one that speaks of it), or, with neither, from
one look at the cluster now with the flags of "sluice plan". Pods, requests and buffers are named namespace/name, or name in --namespace; instances are named group/id.`,
		Example: `  sluice explain pod default/web-7d9f --server=http://127.0.0.1:8085
  sluice explain node agents000003 --journal=/var/lib/sluice/journal.jsonl
  sluice explain node agents000003 --journal=journal.jsonl --at=02:13
  sluice explain group agents --journal=journal.jsonl --cycle=1042
  sluice explain pod web-7d9f --nodes=1:10:agents`,
		Args: arguments(2, 2, "a kind and a name, such as: sluice explain pod default/web-0"),
		RunE: func(cmd *cobra.Command, args []string) error {
			about, err := question(args, format, namespace)
			if err != nil {
				return err
			}
			when, err := parseMoment("at", at, time.Now())
			if err != nil {
				return err
			}
			x, err := s.explain(cmd.Context(), o, about, source{server, file, moment{cycle, when}}, cmd.ErrOrStderr())
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
	f.StringVar(&server, "server", "", "address of a running sluice, such as http://127.0.0.1:8085")
	app.BindAs(f, "journal", &file, "a journal that sluice run wrote")
	f.Uint64Var(&cycle, "cycle", 0, "the cycle of the journal to explain; 0: the last")
	f.StringVar(&at, "at", "", "explain as of a time, from the journal: 02:13, 2026-03-02 02:13, or 2h for so long ago")
	f.StringVarP(&namespace, "namespace", "n", "default", "namespace of a pod, request or buffer that is named without one")
	app.Bind(f, map[string]any{"status-namespace": &o.Namespace})
	statusName(f, &o)
	return cmd
}

// A source says where an answer comes from; the zero source is a look at the cluster now.
type source struct {
	server  string // address of a running sluice
	journal string // path
	moment         // of the journal
}

// explain finds the answer where the user says. The log of a look goes to stderr.
func (s *settings) explain(ctx context.Context, o app.Options, about reason.Ref, from source, stderr io.Writer) (report.Explanation, error) {
	var entry journal.Entry
	var err error
	switch {
	case from.server != "" && from.journal != "":
		return report.Explanation{}, fmt.Errorf("--server and --journal: give one of them")
	case from.cycle != 0 && from.journal == "":
		return report.Explanation{}, fmt.Errorf("--cycle=%d: give --journal too; only a journal knows earlier cycles", from.cycle)
	case !from.at.IsZero() && from.journal == "":
		return report.Explanation{}, fmt.Errorf("--at: give --journal too; only a journal knows earlier cycles")
	case from.cycle != 0 && !from.at.IsZero():
		return report.Explanation{}, fmt.Errorf("--cycle and --at: give one of them")
	case from.server != "":
		return askServer(ctx, from.server, about)
	case from.journal != "":
		return explainFrom(from.journal, from.moment, about, tellAside(stderr))
	default:
		entry, err = s.once(ctx, o, stderr)
	}
	if err != nil {
		return report.Explanation{}, err
	}
	return report.NewExplanation(entry, about)
}

// question reads what the user asks about, and in which form the answer is wanted.
func question(args []string, format, namespace string) (reason.Ref, error) {
	if err := checkFormat(format); err != nil {
		return reason.Ref{}, err
	}
	return subject(args[0], args[1], namespace)
}

// subject reads what the user asks about.
func subject(kind, name, namespace string) (reason.Ref, error) {
	if name == "" {
		return reason.Ref{}, fmt.Errorf("%s: the name is empty", kind)
	}
	within := func(kind reason.Kind) (reason.Ref, error) {
		if !strings.Contains(name, "/") {
			name = namespace + "/" + name
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
