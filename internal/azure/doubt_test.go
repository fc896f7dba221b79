package azure

import (
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/internal/ledger"
)

// list is a reading, a minute after the last one, of such a capacity; null when it is below -1. Each word is a machine: its id, which is
// also its UID, and after a colon its provisioning state.
func list(minute *int, capacity int64, machines string) *reading {
	*minute++
	set := &armcompute.VirtualMachineScaleSet{Name: new("agents"), SKU: &armcompute.SKU{}}
	if capacity >= -1 {
		set.SKU.Capacity = new(capacity)
	}
	at := time.Date(2026, 3, 2, 9, *minute, 0, 0, time.UTC)
	r := &reading{model: (&scaleSets{}).translate(set), at: at, asked: fleet.At(at)}
	for _, word := range strings.Fields(machines) {
		id, state, other := strings.Cut(word, ":")
		if !other {
			state = "Succeeded"
		}
		id, uid, reused := strings.Cut(id, "/")
		if !reused {
			uid = id
		}
		m := vm(id, uid)
		m.state, _ = condition{provisioning: state}.state(subject{})
		r.machines = append(r.machines, m)
	}
	return r
}

// alone is a provider without groups, with a ledger of its own.
func alone() *Provider {
	noon := func() time.Time { return time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) }
	st := newState(&client{options: Options{Now: noon, Ledger: ledger.New(fleet.Usual(), func() time.Time { return noon().Add(-4 * time.Hour) })}})
	q := &questions{state: st}
	return &Provider{state: st, questions: q, writes: &writes{state: st, questions: q}}
}

func TestAReadIsCompleteOnlyWhenNothingContradictsIt(t *testing.T) {
	type read struct {
		capacity int64
		machines string
		want     string // the machines shown, and the code of the doubt
	}
	for name, tc := range map[string]struct {
		removed string
		reads   []read
	}{
		"a short list is not believed however often it comes": {"", []read{
			{3, "a b c", "a b c"}, {3, "a b", "a b c ListIncomplete"}, {3, "a b", "a b c ListIncomplete"}, {3, "a b", "a b c ListIncomplete"}, {3, "a b c", "a b c"}}},
		"a short list at the start shows what there is": {"", []read{
			{3, "a b", "a b ListIncomplete"}, {3, "a", "a ListIncomplete"}, {3, "a b c", "a b c"}}},
		"machines of every state count": {"", []read{
			{4, "a:Failed b:Creating c:Updating d", "a b c d"}}},
		"a machine that is being deleted counts for none that stays": {"", []read{
			{3, "a b c:Deleting", "a b c ListIncomplete"}, {2, "a b c:Deleting", "a b c"}}},
		"a machine that two pages list counts once": {"", []read{
			{3, "a b b", "a b ListIncomplete"}}},
		"machines that come late are waited for": {"", []read{
			{1, "a", "a"}, {3, "a", "a ListIncomplete"}, {3, "a b", "a ListIncomplete"}, {3, "a b c", "a b c"}}},
		"a capacity that is not said is no evidence": {"", []read{
			{2, "a b", "a b"}, {-2, "a b", "a b CapacityUnknown"}, {-1, "", "a b CapacityUnknown"}, {2, "a b", "a b"}}},
		"a machine gone without our doing takes two lists": {"", []read{
			{3, "a b c", "a b c"}, {2, "a b", "a b c ListIncomplete"}, {2, "a b", "a b"}}},
		"two lists that differ do not agree": {"", []read{
			{3, "a b c", "a b c"}, {1, "a b", "a b c ListIncomplete"}, {1, "a", "a b c ListIncomplete"}, {1, "a", "a"}}},
		"two lists agree with the capacity too": {"", []read{
			{3, "a b c", "a b c"}, {3, "a b", "a b c ListIncomplete"}, {2, "a b", "a b"}}},
		"one machine for another takes two lists": {"", []read{
			{2, "a b", "a b"}, {2, "a c", "a b ListIncomplete"}, {2, "a c", "a c"}}},
		"a reused id is another machine": {"", []read{
			{2, "1/a 2/b", "a b"}, {2, "1/a 2/c", "a b ListIncomplete"}, {2, "1/a 2/c", "a c"}}},
		"a machine that was being deleted may go": {"", []read{
			{2, "a b c:Deleting", "a b c"}, {2, "a b", "a b"}}},
		"a machine whose deletion was accepted may go": {"c", []read{
			{3, "a b c", "a b c"}, {2, "a b", "a b"}}},
		"a deletion that was accepted explains no other absence": {"c", []read{
			{3, "a b c", "a b c"}, {2, "a c", "a b c ListIncomplete"}}},
	} {
		t.Run(name, func(t *testing.T) {
			p, g, minute := alone(), &group{id: "agents", name: "agents"}, 0
			var good time.Time
			for i, step := range tc.reads {
				r := list(&minute, step.capacity, step.machines)
				at := r.at
				if err := p.take(g, r); err != nil {
					t.Fatalf("read %d: %v", i, err)
				}
				if i == 0 && tc.removed != "" {
					p.operations = []*operation{{Operation: Operation{Group: "agents", Verb: verbDelete, Named: []cluster.Machine{{UID: tc.removed}}}}}
				}
				var got []string
				for _, in := range g.view.Instances {
					got = append(got, in.UID)
				}
				if d := g.reading.unknown; d != nil {
					got = append(got, d.Code)
				}
				if d := cmp.Diff(step.want, strings.Join(got, " ")); d != "" {
					t.Errorf("read %d of capacity %d with %q (-want +got):\n%s", i, step.capacity, step.machines, d)
				}
				switch complete := g.view.Read.Complete; {
				case complete != (g.reading.unknown == nil):
					t.Errorf("read %d: complete is %t with doubt %v", i, complete, g.reading.unknown)
				case complete:
					good = at
				case !good.IsZero() && !g.view.Read.At.Equal(good):
					t.Errorf("read %d: the machines shown were listed at %s, want the last complete list's %s", i, g.view.Read.At, good)
				}
			}
		})
	}
}

func TestDoubtDoublesItsPaceUpToTheCachesTime(t *testing.T) {
	var got []time.Duration
	for unknowns := 1; unknowns <= 6; unknowns++ {
		got = append(got, (&group{unknowns: unknowns}).pace(time.Minute))
	}
	got = append(got, (&group{unknowns: 1000}).pace(time.Minute))
	s := time.Second
	if d := cmp.Diff([]time.Duration{5 * s, 10 * s, 20 * s, 40 * s, 60 * s, 60 * s, 60 * s}, got); d != "" {
		t.Errorf("times to the next read (-want +got):\n%s", d)
	}
}

func TestAnAcceptedDeletionThatNeverHappensIsNotShownForEver(t *testing.T) {
	p := alone()
	g, minute := &group{id: "agents", name: "agents"}, 0
	read := func() cluster.State {
		t.Helper()
		if err := p.store(g, p.stamp(), list(&minute, 2, "a b"), nil); err != nil {
			t.Fatal(err)
		}
		return g.view.Instance("b").State
	}
	read()
	p.operations = []*operation{{Operation: Operation{Group: "agents", Verb: verbDelete, Named: []cluster.Machine{{UID: "B"}}}}}
	for range 3 {
		if s := read(); s != cluster.StateDeleting {
			t.Errorf("machine b is %s while the operation is in flight, want deleting", s)
		}
	}
	p.operations = nil
	read()
	if s := read(); s != cluster.StateRunning {
		t.Errorf("machine b is %s two reads after the operation, want what Azure says: running", s)
	}
}

func TestBlameWaitsForACompleteRead(t *testing.T) {
	said := &cluster.Failure{Code: "AllocationFailed"}
	p, g, minute := alone(), &group{id: "agents", name: "agents"}, 0
	for i, r := range []*reading{list(&minute, 1, "a"), list(&minute, 3, "a b:Failed"), list(&minute, 3, "a b:Failed c")} {
		if i == 1 {
			g.blame.id = map[string]*cluster.Failure{"b": said}
		}
		if err := p.take(g, r); err != nil {
			t.Fatal(err)
		}
	}
	if in := g.view.Instance("b"); in.Failure != said {
		t.Errorf("machine b failed with %+v, want what the operation said before the list was whole", in.Failure)
	}
}
