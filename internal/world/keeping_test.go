package world_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/internal/world"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// keepingPage says of every reason that keeps a node or a machine what would change it, and which scenario shows it.
const keepingPage = "../../docs/reference/blocking.md"

// kept is a reason that keeps a node or a machine, the scenario that shows it, and cluster-autoscaler's names for it.
type kept struct {
	code     reason.Code
	scenario string
	names    string // with semicolons between them; "" where cluster-autoscaler has none
}

// keeping are the reasons of the page, by its sections.
var keeping = []struct {
	title string
	kept  []kept
}{
	{"Settings and commands of the operator", []kept{
		{reason.RemovalDisabled, "removal-switched-off", ""},
		{reason.NodeUnmanaged, "foreign-node-room", "NotAutoscaled"},
		{reason.NodeScaleDownOff, "kept-by-annotation", "ScaleDownDisabledAnnotation"},
		{reason.NodeHeld, "held-node", ""},
		{reason.NodeHeldByPerson, "person-cordons", ""},
		{reason.NodeOfIncumbent, "switch-over-both-lead", ""},
		{reason.NodeLeftByIncumbent, "switch-over-left-half-way", ""},
		{reason.RightMissing, "right-missing", ""},
		{reason.NodeProtected, "protected-stays", ""},
		{reason.GroupPaused, "all-paused", ""},
		{reason.GroupLost, "nodes-lost-together", ""},
		{reason.NodesLostTogether, "nodes-lost-together", ""},
		{reason.MachineLostRecently, "drain-time-spares-work", ""},
		{reason.NodeObjectsMissing, "lost-nodes-record-lost", ""},
		{reason.EmptiedBudget, "emptied-beside-a-deletion", ""},
		{reason.EmptiedUnknown, "emptied-one-by-one", ""},
		{reason.RemovalPaced, "pods-taken-away-together", ""},
		{reason.GroupMinReady, "min-counts-ready", ""},
		{reason.MachineWritePending, "parked-nodes-are-no-room", ""},
		{reason.GroupControlPlane, "k3s-servers", ""},
		{reason.NodeControlPlane, "control-plane-group", ""},
		{reason.ControlPlaneTurn, "control-plane-opted-in", ""},
		{reason.ControlPlaneGone, "control-plane-machine-removed", ""},
		{reason.ControlPlaneQuorum, "control-plane-opted-in", ""},
		{reason.GroupAtMin, "min-reached", "NodeGroupMinSizeReached"},
		{reason.GroupBelowMin, "below-min", "NodeGroupMinSizeReached"},
		{reason.GroupListsFewer, "stale-list-after-delete", "NodeGroupMinSizeReached"},
		{reason.GroupAwaits, "min-counts-what-runs", "NodeGroupMinSizeReached"},
		{reason.ClusterMinimum, "minimum-kept", "MinimalResourceLimitExceeded"},
		{reason.NodeHeadroom, "headroom-machines", ""},
		{reason.NodeBuffer, "buffer-replicas", ""},
		{reason.NodeBooked, "request-booking-ends", ""},
		{reason.RemovalBudget, "parallel-removals", "NodeGroupMaxDeletionCountReached"},
		{reason.EmptiedInVain, "emptied-in-vain", ""},
		{reason.RemovalCoolsDown, "growth-delays-removal", ""},
	}},
	{"The node waits for its time, or is needed", []kept{
		{reason.NodeIdle, "load-leaves", "NotUnneededLongEnough"},
		{reason.NodeUnderused, "underused-node-drained", "NotUnneededLongEnough"},
		{reason.ConsolidationPays, "consolidation-replaces", ""},
		{reason.ConsolidationTooDear, "consolidation-too-small", ""},
		{reason.ConsolidationSpent, "consolidation-day-spent", ""},
		{reason.ConsolidationWaits, "consolidation-replaces", ""},
		{reason.NodeReplaces, "consolidation-replaces", ""},
		{reason.NodeNotReady, "unready-node", "NotUnreadyLongEnough"},
		{reason.NodeUnrepaired, "unready-at-min", "NodeGroupMinSizeReached"},
		{reason.NodeUnreadyStays, "unready-stays", "ScaleDownUnreadyDisabled"},
		{reason.NodeStarting, "starting-node-counts", ""},
		{reason.NodeAwaitsTaint, "startup-taint", ""},
		{reason.NodeAwaitsDevices, "gpu-awaited", ""},
		{reason.NodeBusy, "remove-idle-not-newest", "NotUnderutilized"},
		{reason.NodeInUse, "busy-by-measure", ""},
		{reason.NodeCounted, "volume-waits", "NotUnneededOtherReason"},
		{reason.NodePodsUnseen, "bound-tenant", ""},
		{reason.NodeReceives, "underused-node-drained", "NotUnneededOtherReason"},
		{reason.UnhealthyCluster, "unhealthy-cluster", ""},
	}},
	{"A pod keeps the node", []kept{
		{reason.PodNowhereToGo, "two-nodes-one-room", "NoPlaceToMovePods"},
		{reason.PodOfJob, "job-keeps-its-node", ""},
		{reason.PodOfDaemon, "daemon-work-chosen", ""},
		{reason.PodBare, "unmovable-pods", "BlockedByPod: NotReplicated"},
		{reason.PodCustomOwner, "unmovable-pods", "BlockedByPod: NotReplicated"},
		{reason.PodControllerMissing, "controller-missing", "BlockedByPod: ControllerNotFound"},
		{reason.PodFewReplicas, "few-replicas", "BlockedByPod: MinReplicasReached"},
		{reason.PodNotSafeToEvict, "unmovable-pods", "BlockedByPod: NotSafeToEvictAnnotation; BlockedByOnCompletionPod"},
		{reason.PodDoNotDisrupt, "unmovable-pods", ""},
		{reason.PodLocalStorage, "unmovable-pods", "BlockedByPod: LocalStorageRequested"},
		{reason.PodOfSystem, "unmovable-pods", "BlockedByPod: UnmovableKubeSystemPod"},
		{reason.PodBudget, "budget-blocks", "BlockedByPod: NotEnoughPdb"},
		{reason.PodTwoBudgets, "two-budgets", "BlockedByPod: NotEnoughPdb"},
	}},
	{"The facts about the node are uncertain", []kept{
		{reason.NodeAmbiguous, "node-ambiguous-ids", ""},
		{reason.NodeFinalized, "k3s-finalizer-stays", ""},
		{reason.NodeMachineMissing, "machine-removed-unseen", "NoNodeInfo"},
		{reason.NodeObjectStays, "rights-of-the-incumbent", ""},
		{reason.GroupAsked, "growth-unanswered-keeps-nodes", ""},
		{reason.GroupUnreadable, "throttled-removal", "UnexpectedError"},
		{reason.GroupContradicted, "list-and-capacity-lack-one", ""},
		{reason.GroupIncomplete, "partial-list", "UnexpectedError"},
		{reason.NodeNoticeUnclear, "notice-unclear", ""},
		{reason.NodeNoticed, "agent-work-goes-on", ""},
	}},
	{"The removal waits for a step", []kept{
		{reason.NodeRunsDry, "job-keeps-its-node", ""},
		{reason.NodeRanDry, "run-dry-then-drained", "CurrentlyBeingDeleted"},
		{reason.NodeCordoned, "rescue", "CurrentlyBeingDeleted"},
		{reason.NodeDraining, "drain-deadline", "CurrentlyBeingDeleted"},
		{reason.NodeDismisses, "daemons-dismissed", ""},
		{reason.NodeDetaching, "volume-detached-first", ""},
		{reason.NodeDelayed, "deletion-delayed", ""},
		{reason.RemovalQueued, "parallel-removals", "CurrentlyBeingDeleted"},
		{reason.RemovalGathers, "parallel-removals", ""},
		{reason.RemovalRests, "delete-fails", ""},
		{reason.EvictionRests, "evictions-forbidden", ""},
	}},
	{"Machines without a node", []kept{
		{reason.MachineNeverJoined, "never-joins-at-min", ""},
		{reason.MachineLost, "node-object-deleted", ""},
		{reason.GroupForeign, "machines-of-another-cluster", ""},
		{reason.MachineFailed, "machine-failed-protected", ""},
		{reason.MachineProtected, "machine-failed-protected", ""},
		{reason.MachineCarriesPods, "node-object-deleted-pods-wait", ""},
		{reason.MachineNameHeld, "k3s-finalizer-waits", ""},
		{reason.MachineNameTaken, "name-reused-young", ""},
		{reason.MachineAmbiguous, "node-ambiguous", ""},
		{reason.MachineInspected, "breaker-opens", ""},
		{reason.MachineStopped, "machine-stopped", ""},
		{reason.MachineDiagnosed, "never-joins-token", ""},
	}},
}

// keepingRows are the rows of all sections, in order.
func keepingRows() (all []kept) {
	for _, s := range keeping {
		all = append(all, s.kept...)
	}
	return all
}

// keepingTables are the sections of the page, which follow its prose.
func keepingTables() string {
	var b strings.Builder
	for _, s := range keeping {
		b.WriteString("\n## " + s.title + "\n\n| reason | cluster-autoscaler | what would change it | scenario |\n|---|---|---|---|\n")
		for _, k := range s.kept {
			names := "—"
			if k.names != "" {
				names = "`" + strings.ReplaceAll(k.names, "; ", "`; `") + "`"
			}
			remedy, _ := reason.RemedyTemplate(k.code)
			fmt.Fprintf(&b, "| `%s` | %s | %s | [%s](../../testdata/%s.txtar) |\n", k.code, names, remedy, k.scenario, k.scenario)
		}
	}
	return b.String()
}

// TestEveryReasonThatKeepsANodeHasAScenarioAndARemedy walks the list of reasons that keep nodes and machines: the page has a row for each, with
// its remedy, and in the scenario that the row names explain tells of a node or machine the reason, and what would change it.
func TestEveryReasonThatKeepsANodeHasAScenarioAndARemedy(t *testing.T) {
	page := string(read(t, keepingPage))
	prose, _, _ := strings.Cut(page, "\n## ")
	if want := prose + keepingTables(); *update {
		if err := os.WriteFile(keepingPage, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if page != want {
		t.Errorf("%s is not current: run go test ./internal/world -run ReasonThatKeeps -update", keepingPage)
	}
	shows := map[string][]reason.Code{} // codes by the scenario that is to show them
	rows := map[reason.Code]int{}
	for _, k := range keepingRows() {
		rows[k.code]++
		shows[k.scenario+".txtar"] = append(shows[k.scenario+".txtar"], k.code)
		if _, keeps := reason.RemedyTemplate(k.code); !keeps {
			t.Errorf("%s has a row and keeps nothing", k.code)
		}
	}
	for _, code := range reason.Keeping() {
		if rows[code] != 1 {
			t.Errorf("%s has %d rows on the page, want 1 with a scenario that shows it", code, rows[code])
		}
	}
	for file, codes := range shows {
		t.Run(strings.TrimSuffix(file, ".txtar"), func(t *testing.T) { keepsIn(t, file, codes) })
	}
}

// unremovable are the names under which cluster-autoscaler counts nodes that it does not remove, and the pods that block it.
var unremovable = []string{
	"ScaleDownDisabledAnnotation", "ScaleDownUnreadyDisabled", "NotAutoscaled", "NotUnneededLongEnough", "NotUnreadyLongEnough", "NodeGroupMinSizeReached",
	"NodeGroupMaxDeletionCountReached", "MinimalResourceLimitExceeded", "CurrentlyBeingDeleted", "NotUnderutilized", "NotUnneededOtherReason", "NoPlaceToMovePods",
	"UnexpectedError", "NoNodeInfo", "BlockedByOnCompletionPod", "BlockedByPod: ControllerNotFound", "BlockedByPod: MinReplicasReached", "BlockedByPod: NotReplicated",
	"BlockedByPod: UnmovableKubeSystemPod", "BlockedByPod: NotSafeToEvictAnnotation", "BlockedByPod: LocalStorageRequested", "BlockedByPod: NotEnoughPdb",
}

// without are those of its names that nothing here corresponds to: the page says why.
var without = []string{"RecentlyUnremovable", "AtomicScaleDownFailed", "NoReason"}

// TestEveryReasonOfClusterAutoscalerHasAScenario walks cluster-autoscaler's names: each stands in a row, whose scenario
// TestEveryReasonThatKeepsANodeHasAScenarioAndARemedy holds to showing the pod, the rule and the remedy, or the page says why there is none.
func TestEveryReasonOfClusterAutoscalerHasAScenario(t *testing.T) {
	page := string(read(t, keepingPage))
	named := map[string]bool{}
	for _, k := range keepingRows() {
		for name := range strings.SplitSeq(k.names, "; ") {
			if name != "" && !slices.Contains(unremovable, name) {
				t.Errorf("%s: cluster-autoscaler has no reason %q", k.code, name)
			}
			named[name] = true
		}
	}
	for _, name := range unremovable {
		if !named[name] {
			t.Errorf("no row names %s", name)
		}
	}
	before, _, _ := strings.Cut(page, "\n## ")
	for _, name := range without {
		if !strings.Contains(before, "`"+name+"`") || named[name] {
			t.Errorf("the page does not say why nothing corresponds to %s", name)
		}
	}
}

// keepsIn plays a scenario and holds it to showing these reasons, as explain tells them.
func keepsIn(t *testing.T, file string, codes []reason.Code) {
	r, err := world.Run(context.Background(), read(t, "../../testdata/"+file), io.Discard, world.Options{})
	if err != nil {
		t.Fatal(err)
	}
	missing := map[reason.Code]bool{}
	for _, c := range codes {
		missing[c] = true
	}
	for _, entry := range decided(t, r) {
		for _, v := range entry.Plan.Verdicts {
			if stays(v) && !remedied(v) {
				t.Errorf("%s %s, and nothing is said of what would change it: %s", v.Subject, v.Outcome, reason.Sentences(v.Because))
			}
			for _, why := range v.Because {
				if missing[why.Code] && stays(v) {
					delete(missing, why.Code)
					explained(t, entry, v.Subject, why)
				}
			}
		}
	}
	for code := range missing {
		t.Errorf("it does not show %s", code)
	}
}

// stays says whether a verdict is about a node or machine that stays where it is for now.
func stays(v action.Verdict) bool {
	if v.Because[0].Code == reason.NodeIdleFor || v.Because[0].Code == reason.NodeConsolidated { // it has just been cordoned
		return false
	}
	switch v.Outcome {
	case action.NodeKeep, action.NodeIdle, action.NodeHold, action.NodeCordoned, action.NodeDraining: // a machine's hold is a node's
		return v.Subject.Kind == reason.KindNode || v.Subject.Kind == reason.KindInstance
	}
	return false
}

// remedied says whether one of a verdict's reasons has a remedy.
func remedied(v action.Verdict) bool {
	for _, why := range v.Because {
		if why.Remedy() != "" {
			return true
		}
	}
	return false
}

// explained holds what explain says of a thing: the reason with its code, and what would change it, with every name in its place.
func explained(t *testing.T, entry journal.Entry, about reason.Ref, why reason.Reason) {
	var page bytes.Buffer
	if err := report.Explain(&page, entry, about); err != nil {
		t.Error(err)
		return
	}
	for _, want := range []string{string(why.Code), why.Sentence(), why.Remedy()} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("explain %s does not say %q:\n%s", about, want, page.String())
		}
	}
	if pod, of := why.Facts["pod"]; of && !strings.Contains(page.String(), pod) {
		t.Errorf("explain %s does not name pod %s:\n%s", about, pod, page.String())
	}
	if remedy := why.Remedy(); strings.ContainsAny(remedy, "<{") {
		t.Errorf("%s: a name is missing: %s", why.Code, remedy)
	}
}

// decided are the cycles of a play.
func decided(t *testing.T, r world.Result) []journal.Entry {
	t.Helper()
	var all []journal.Entry
	for entries := journal.NewDecoder(bytes.NewReader(r.Journal)); ; {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, entry)
	}
}
