package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/kube"
	"sluice.dev/sluice/reason"
)

// ends are the flags that say until when something is to be so.
type ends struct {
	length time.Duration
	until  string
}

func (e *ends) add(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&e.length, "for", 0, "how long, such as 2h")
	cmd.Flags().StringVar(&e.until, "until", "", "until when, such as 2026-01-31T18:00:00Z; instead of --for")
}

// at is the time that the flags name.
func (e *ends) at(now time.Time) (time.Time, error) {
	switch {
	case e.until != "" && e.length != 0:
		return time.Time{}, fmt.Errorf("--for=%s and --until=%s: give one of them", e.length, e.until)
	case e.until != "":
		t, err := time.Parse(time.RFC3339, e.until)
		if err != nil || !t.After(now) {
			return time.Time{}, fmt.Errorf("--until=%s: give a time to come, such as %s", e.until, now.Add(2*time.Hour).UTC().Format(time.RFC3339))
		}
		if t.Sub(now) > longest {
			return time.Time{}, fmt.Errorf("--until=%s: give a time within %d years, such as %s", e.until, longest/(365*day), now.Add(2*time.Hour).UTC().Format(time.RFC3339))
		}
		return t.UTC().Truncate(time.Second), nil
	case e.length == 0:
		return time.Time{}, fmt.Errorf("say until when: --for=2h or --until=%s, for example", now.Add(2*time.Hour).UTC().Format(time.RFC3339))
	case e.length < 0:
		return time.Time{}, fmt.Errorf("--for=%s: give a duration above zero, such as 2h", e.length)
	}
	return now.Add(e.length).UTC().Truncate(time.Second), nil
}

// operator are the flags of the verbs by which people tell sluice something, and the way to the API server.
type operator struct{ settings }

func (h *operator) add(cmd *cobra.Command) {
	h.contentType = runtime.ContentTypeJSON // they have no flag for it
	app.Bind(cmd.Flags(), map[string]any{"kubeconfig": &h.kubeconfig})
	h.addKubectl(cmd.Flags())
}

func (h *operator) connect() (kube.Operator, error) {
	config, err := h.kube()
	if err != nil {
		return kube.Operator{}, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return kube.Operator{}, fmt.Errorf("connect to the API server: %w", err)
	}
	return kube.Operator{Client: client}, nil
}

func pauseCommand() *cobra.Command {
	var h operator
	var e ends
	cmd := &cobra.Command{
		Use:   "pause [GROUP]",
		Short: "Leave a node group alone for a while",
		Long: `Let the running sluice leave a node group alone until a time; without a name, all groups. It adds no machine and
removes no node. Nodes that it was removing return to service. Machines that Azure is already deleting go.

A name that is no group of the running sluice is refused. If its status ConfigMap cannot be read, the pause is written anyway, and the
command says so.

The pause ends by itself; "sluice resume" ends it sooner. It is an annotation of namespace kube-system, so every replica knows of it, also
after a restart. "sluice explain group GROUP" and "sluice doctor" show it.`,
		Example: "  sluice pause agents --for 2h\n  sluice pause --until 2026-01-31T18:00:00Z",
		Args:    arguments(0, 1, "at most one node group, such as: sluice pause agents --for 2h"),
		RunE: func(cmd *cobra.Command, args []string) error {
			until, err := e.at(time.Now())
			if err != nil {
				return err
			}
			return h.pause(cmd, args, until)
		},
	}
	cmd.ValidArgsFunction = h.completeName(reason.KindGroup)
	h.add(cmd)
	e.add(cmd)
	return cmd
}

func resumeCommand() *cobra.Command {
	var h operator
	cmd := &cobra.Command{
		Use:     "resume [GROUP]",
		Short:   "End a pause",
		Long:    `End the pause of a node group, or without a name all pauses.`,
		Example: "  sluice resume agents\n  sluice resume",
		Args:    arguments(0, 1, "at most one node group, such as: sluice resume agents"),
		RunE:    func(cmd *cobra.Command, args []string) error { return h.pause(cmd, args, time.Time{}) },
	}
	cmd.ValidArgsFunction = h.completeName(reason.KindGroup)
	h.add(cmd)
	return cmd
}

func acknowledgeCommand() *cobra.Command {
	var h operator
	cmd := &cobra.Command{
		Use:   "acknowledge [GROUP]",
		Short: "Confirm that nodes of a group are lost, so that their machines may go",
		Long: `Confirm that you know which nodes a group has lost, and that nothing on their machines is needed. Without a name,
this is for every group. sluice then deletes these machines when their time is over, within the budget of removals.

A node is lost when its Node object is gone, or its kubelet silent, while its machine runs. To lose more than one, and more than 5 % of a
group, within an hour is an accident. Work may still run there. So none of the machines goes in the first hour, and then one an hour. When
more than 30 % of a group's Node objects are gone, none goes at all. "sluice explain group GROUP" then shows the code GroupLost, and names
this command.

Look first: kubectl get nodes, and the machines in Azure. A kubelet that reports again keeps its machine; then do nothing.

Nodes that are lost later count anew. The confirmation is an annotation of namespace kube-system, so every replica knows of it, also after
a restart. It cannot be cancelled. "sluice pause" keeps the machines that are still there.`,
		Example: "  sluice acknowledge agents\n  sluice acknowledge",
		Args:    arguments(0, 1, "at most one node group, such as: sluice acknowledge agents"),
		RunE:    h.acknowledge,
	}
	cmd.ValidArgsFunction = h.completeName(reason.KindGroup)
	h.add(cmd)
	return cmd
}

func (h *operator) acknowledge(cmd *cobra.Command, args []string) error {
	group, err := groupNamed(args)
	if err != nil {
		return err
	}
	api, err := h.connect()
	if err != nil {
		return err
	}
	now := time.Now()
	managed, untold := api.Managed(cmd.Context(), now)
	name, note := "group "+string(group), ""
	switch {
	case group == cluster.AllGroups:
		name = "every group"
	case untold != nil:
		note = unmanaged(group, untold)
	case !slices.Contains(managed.Groups, group):
		return fmt.Errorf("sluice manages no group %s, so nothing is acknowledged: it has %s", group, listed(managed.Groups))
	}
	if err := api.Acknowledge(cmd.Context(), group, now); err != nil {
		return reaching(err)
	}
	whole := slices.Contains(managed.Whole, group) || group == cluster.AllGroups && len(managed.Whole) == len(managed.Groups)
	done := fmt.Sprintf("lost nodes of %s are acknowledged: their machines go one by one, within the budget of removals", name)
	if untold == nil && whole {
		done = fmt.Sprintf("%s has nothing to acknowledge by the last status: each of its machines is a Ready node", name)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s%s\n", note, done)
	return err
}

// groupNamed is the group that the arguments name, or all.
func groupNamed(args []string) (cluster.GroupID, error) {
	if len(args) == 0 {
		return cluster.AllGroups, nil
	}
	if args[0] == "" {
		return "", errors.New("the group's name is empty: give one, such as agents, or no argument for all groups")
	}
	return cluster.GroupID(args[0]), nil
}

// unmanaged says, in a line of its own, that nobody knows whether sluice manages a group.
func unmanaged(group cluster.GroupID, why error) string {
	return fmt.Sprintf("whether sluice manages a group %s cannot be told (%v): check it with sluice explain group %s\n", group, why, group)
}

func (h *operator) pause(cmd *cobra.Command, args []string, until time.Time) error {
	group, err := groupNamed(args)
	if err != nil {
		return err
	}
	api, err := h.connect()
	if err != nil {
		return err
	}
	now := time.Now()
	note := ""
	if group != cluster.AllGroups && !until.IsZero() {
		managed, err := api.Managed(cmd.Context(), now)
		switch {
		case err != nil:
			note = unmanaged(group, err)
		case !slices.Contains(managed.Groups, group):
			return fmt.Errorf("sluice manages no group %s, so nothing is paused: it has %s", group, listed(managed.Groups))
		}
	}
	p, err := api.Pause(cmd.Context(), group, until, now)
	if err != nil {
		return reaching(err)
	}
	if until.IsZero() {
		note = resumed(group, p)
	}
	if _, err := io.WriteString(cmd.OutOrStdout(), note); err != nil {
		return err
	}
	return tellPauses(cmd.OutOrStdout(), p, now)
}

// resumed says what became of a pause that a person has ended; the rest is paused still.
func resumed(group cluster.GroupID, rest cluster.Pauses) string {
	_, all := rest[cluster.AllGroups]
	switch {
	case group == cluster.AllGroups:
		return "all pauses are ended\n"
	case all:
		return fmt.Sprintf("group %s has no pause of its own now, and stays paused with every group: sluice resume ends that\n", group)
	}
	return fmt.Sprintf("group %s is not paused now\n", group)
}

// tellPauses says what is paused, all groups first.
func tellPauses(out io.Writer, p cluster.Pauses, now time.Time) error {
	for _, id := range p.Groups() {
		name := "group " + string(id)
		if id == cluster.AllGroups {
			name = "every group"
		}
		until, _ := (cluster.Pauses{id: p[id]}).Of(id, now)
		if _, err := fmt.Fprintf(out, "%s is paused until %s%s\n", name, until, fromNow(now, until)); err != nil {
			return err
		}
	}
	return nil
}

// listed are the groups' names with commas between them.
func listed(groups []cluster.GroupID) string {
	if len(groups) == 0 {
		return "none"
	}
	var all []string
	for _, g := range groups {
		all = append(all, string(g))
	}
	return strings.Join(all, ", ")
}

const (
	day     = 24 * time.Hour
	longest = 100 * 365 * day
)

// fromNow is how far away a time is, as people say it after its clock time.
func fromNow(now time.Time, until string) string {
	at, err := time.Parse(time.RFC3339, until)
	if err != nil {
		return ""
	}
	left := at.Sub(now)
	if left > 2*day {
		return fmt.Sprintf(", %d days from now", left/day)
	}
	left = left.Round(10 * time.Second)
	return fmt.Sprintf(", %s from now", left)
}

func holdCommand() *cobra.Command {
	var h operator
	var e ends
	cmd := &cobra.Command{
		Use:   "hold NODE",
		Short: "Keep a node until a time",
		Long: `Keep a node until a time. sluice does not remove it, and returns it to service if its removal has begun. Pods may
come and go.

The hold ends by itself; "sluice release" ends it sooner. It is the annotation sluice.dev/hold-until on the node: a time, or a duration
from the node's creation. So a new node may have it from the start. The annotation
cluster-autoscaler.kubernetes.io/scale-down-disabled=true keeps a node without an end.`,
		Example: "  sluice hold agents000003 --for 8h\n  sluice hold agents000003 --until 2026-01-31T18:00:00Z",
		Args:    arguments(1, 1, "a node, such as: sluice hold agents000003 --for 8h"),
		RunE: func(cmd *cobra.Command, args []string) error {
			until, err := e.at(time.Now())
			if err != nil {
				return err
			}
			return h.tell(cmd, kube.Operator.Hold, args[0], until, fmt.Sprintf("node %s is held until %s%s", args[0], until.Format(time.RFC3339), fromNow(time.Now(), until.Format(time.RFC3339))))
		},
	}
	cmd.ValidArgsFunction = h.completeName(reason.KindNode)
	h.add(cmd)
	e.add(cmd)
	return cmd
}

func releaseCommand() *cobra.Command {
	var h operator
	cmd := &cobra.Command{
		Use:     "release NODE",
		Short:   "End a node's hold",
		Long:    `End a node's hold. The node may be removed when nothing needs it.`,
		Example: "  sluice release agents000003",
		Args:    arguments(1, 1, "a node, such as: sluice release agents000003"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return h.tell(cmd, kube.Operator.Hold, args[0], time.Time{}, fmt.Sprintf("node %s is not held now", args[0]))
		},
	}
	cmd.ValidArgsFunction = h.completeName(reason.KindNode)
	h.add(cmd)
	return cmd
}

func drainCommand() *cobra.Command {
	var h operator
	cmd := &cobra.Command{
		Use:   "drain NODE",
		Short: "Drain a node and delete its machine",
		Long: `Ask the running sluice to drain a node and delete its machine, as it does with an idle node. The node takes no more
pods, and its pods are evicted within their disruption budgets. Then volumes are detached, the machine is deleted by name, and the Node
object goes. Pods that the policy keeps, such as those of Jobs, are not evicted: the node waits until they end. Machines are added for the
other pods where room is missing.

A node outside of the node groups is refused. Limits hold: the group's min, and how many nodes may leave at once. If somebody has
cordoned, held or annotated the node to stay, undo that first. "sluice undrain" cancels the drain until the machine is being deleted.
"sluice explain node NODE" shows what the drain waits for.`,
		Example: "  sluice drain agents000003",
		Args:    arguments(1, 1, "a node, such as: sluice drain agents000003"),
		RunE: func(cmd *cobra.Command, args []string) error {
			note, err := h.manages(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return h.tell(cmd, kube.Operator.Drain, args[0], time.Now(), fmt.Sprintf("sluice is asked to drain node %s and delete its machine; sluice explain node %s says how far it is%s", args[0], args[0], note))
		},
	}
	cmd.ValidArgsFunction = h.completeName(reason.KindNode)
	h.add(cmd)
	return cmd
}

func undrainCommand() *cobra.Command {
	var h operator
	cmd := &cobra.Command{
		Use:     "undrain NODE",
		Short:   "Cancel a drain",
		Long:    `Cancel "sluice drain". The node takes pods again, unless its machine is already being deleted.`,
		Example: "  sluice undrain agents000003",
		Args:    arguments(1, 1, "a node, such as: sluice undrain agents000003"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return h.tell(cmd, kube.Operator.Drain, args[0], time.Time{}, fmt.Sprintf("sluice is not asked to drain node %s any more", args[0]))
		},
	}
	cmd.ValidArgsFunction = h.completeName(reason.KindNode)
	h.add(cmd)
	return cmd
}

// manages refuses a node that the running sluice manages not. The note says that this cannot be told, and begins a line of its own.
func (h *operator) manages(ctx context.Context, node string) (note string, err error) {
	api, err := h.connect()
	if err != nil {
		return "", err
	}
	managed, err := api.Managed(ctx, time.Now())
	switch {
	case err == nil && slices.Contains(managed.Outside, node):
		return "", fmt.Errorf("node %s is in no node group of sluice, which removes no machine of its: sluice has %s; empty it with kubectl drain", node, listed(managed.Groups))
	case err == nil && managed.Outside == nil:
		err = errors.New("the running sluice does not tell which nodes are in none")
	}
	if err != nil {
		return fmt.Sprintf("\nwhether the node is in a node group of sluice cannot be told (%v)", err), nil
	}
	return "", nil
}

// tell writes a time on a node and says what that means.
func (h *operator) tell(cmd *cobra.Command, write func(kube.Operator, context.Context, string, time.Time) (*corev1.Node, error), node string, t time.Time, done string) error {
	api, err := h.connect()
	if err != nil {
		return err
	}
	n, err := write(api, cmd.Context(), node, t)
	if err != nil {
		return reaching(err)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), strings.Join(append([]string{done}, contradictions(n, time.Now())...), "\n"))
	return err
}

// contradictions are what else people want of a node that is to be drained, and what ends that: until then the drain does not begin. None for
// any other node.
func contradictions(n *corev1.Node, now time.Time) (all []string) {
	if _, asked := n.Annotations[cluster.DrainAnnotation]; !asked {
		return nil
	}
	say := func(because, ends string) {
		all = append(all, fmt.Sprintf("it is not drained as long as it is %s; to end that: %s", because, ends))
	}
	if _, own := cluster.RemovalOf(n); n.Spec.Unschedulable && !own {
		say("cordoned by somebody else", "kubectl uncordon "+n.Name)
	}
	if cluster.Kept(n) {
		say("annotated to stay", fmt.Sprintf("kubectl annotate node %s %s-", n.Name, cluster.KeptBy(n)))
	}
	if until, held := cluster.Held(n, now); held {
		say("held until "+until, "sluice release "+n.Name)
	}
	return all
}
