package main

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/setting"
)

// completeWithin is how long somebody waits who has pressed the tab key.
const completeWithin = 3 * time.Second

// subjects are the kinds that explain takes, as one types them.
var subjects = []string{"pod", "node", "group", "instance", "request", "buffer"}

// complete offers the names that the running sluice knows of a kind and that begin so, each with its outcome. Of pods it knows those that wait.
// Without an answer it offers none: nothing may be printed while somebody types.
func (s *settings) complete(ctx context.Context, w whom, kind reason.Kind, begun string, namespace func() string) (names []string) {
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	var known struct{ Verdicts []action.Verdict }
	if w.server == nobodyAsked || s.ask(ctx, w, "api/v1/verdicts", url.Values{"kind": {string(kind)}}, &known) != nil {
		return nil
	}
	within := ""
	switch kind {
	case reason.KindPod, reason.KindRequest, reason.KindBuffer:
		within = namespace() + "/"
	}
	for _, v := range known.Verdicts {
		name := v.Subject.Name
		if short, inside := strings.CutPrefix(name, within); within != "" && inside && !strings.Contains(begun, "/") {
			name = short
		}
		if v.Subject.Kind == kind && strings.HasPrefix(name, begun) {
			names = append(names, report.Printable(name)+"\t"+report.Printable(string(v.Outcome)))
		}
	}
	slices.Sort(names)
	return names
}

// completeQuestion offers what explain can be asked about.
func (s *settings) completeQuestion(w *whom, home, namespace *string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return slices.DeleteFunc(slices.Clone(subjects), func(kind string) bool { return !strings.HasPrefix(kind, begun) }), cobra.ShellCompDirectiveNoFileComp
		}
		within := func() string { return s.namespace(*namespace) }
		about, err := subject(args[0], "name", within)
		if err != nil || len(args) > 1 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		w.namespace = *home
		return s.complete(cmd.Context(), *w, about.Kind, begun, within), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeName offers the nodes or groups that an operator's verb can be about.
func (h *operator) completeName(kind reason.Kind) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		w := whom{namespace: setting.Find("namespace").Default}
		return h.complete(cmd.Context(), w, kind, begun, nil), cobra.ShellCompDirectiveNoFileComp
	}
}
