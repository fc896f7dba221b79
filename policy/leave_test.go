package policy_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/policy"
)

// ranked gives a pod a priority and a grace period that it asks for.
func ranked(priority int32, grace int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Priority, p.Spec.TerminationGracePeriodSeconds = &priority, &grace }
}

func TestPodsLeaveInBandsAndEachBandHasItsGrace(t *testing.T) {
	for name, c := range map[string]struct {
		bands    string
		priority int32
		turn     int
		grace    time.Duration
	}{
		"without bands all leave together":                   {"", -1000, 0, 10 * time.Minute},
		"without bands what is above them leaves as well":    {"", 1_999_999_999, 0, 10 * time.Minute},
		"without bands critical pods leave last":             {"", 2_000_000_000, 1, 10 * time.Minute},
		"a pod below the first band is in it":                {"100:60,1000:30", -5, 0, time.Minute},
		"a pod exactly at a band is in it":                   {"100:60,1000:30", 1000, 1, 30 * time.Second},
		"a pod between two bands is in the lower":            {"100:60,1000:30", 999, 0, time.Minute},
		"bands may be given in any order":                    {"1000:30,100:60", 1000, 1, 30 * time.Second},
		"a band may give more than the longest grace of all": {"0:7200", 0, 0, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			bands, err := policy.ParseBands(c.bands)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := policy.ParseBands(policy.PrintBands(bands)); err != nil || !slices.Equal(bands, again) {
				t.Errorf("%q is read as %v and %v", c.bands, bands, again)
			}
			r := policy.Default().Removal
			r.Drain.Bands = bands
			p := Pod("p", ranked(c.priority, 3600))
			if got := r.Turn(p); got != c.turn {
				t.Errorf("turn %d, want %d", got, c.turn)
			}
			if got := r.Grace(p); got != c.grace {
				t.Errorf("grace %s, want %s", got, c.grace)
			}
		})
	}
}

func TestBandsAndOneGraceForAllDoNotGoTogether(t *testing.T) {
	p := policy.Default()
	p.Removal.Drain.Bands, p.Removal.Drain.MaxGrace = []policy.Band{{Grace: time.Minute}}, time.Minute
	if p.Check() == nil {
		t.Error("both are accepted")
	}
	p.Removal.Drain.MaxGrace = policy.Default().Removal.Drain.MaxGrace
	if err := p.Check(); err != nil {
		t.Error(err)
	}
}

func TestAPodIsOutlastedOnlyWhereSomebodySaysSo(t *testing.T) {
	ends := func(in time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: Start.Add(in)} }
	}
	told := ends(time.Hour)
	cordoned := Start.Add(-10 * time.Minute)
	for name, c := range map[string]struct {
		change []func(*corev1.Pod)
		after  policy.Overdue
		want   bool
	}{
		"a pod is given up by default never":                 {[]func(*corev1.Pod){told}, policy.Abort, false},
		"nor when it is to be waited for":                    {[]func(*corev1.Pod){told}, policy.Wait, false},
		"a pod that was told to end is forced":               {[]func(*corev1.Pod){told}, policy.Force, true},
		"one that was not is not":                            {nil, policy.Force, false},
		"a pod says for itself that it may be forced":        {[]func(*corev1.Pod){told, Annotated("sluice.dev/after-drain-time", "force")}, policy.Abort, true},
		"work is not that somebody else has told to end":     {[]func(*corev1.Pod){told, OwnedBy("Job", "render")}, policy.Force, false},
		"work is that the policy does not keep":              {[]func(*corev1.Pod){told, OwnedBy("Job", "render"), Annotated("sluice.dev/evict-work", "now")}, policy.Force, true},
		"a pod says for itself that it may not":              {[]func(*corev1.Pod){told, Annotated("sluice.dev/after-drain-time", "wait")}, policy.Force, false},
		"a pod that has more time is not forced before":      {[]func(*corev1.Pod){told, Annotated("sluice.dev/drain-time", "1h")}, policy.Force, false},
		"what makes no sense says nothing":                   {[]func(*corev1.Pod){told, Annotated("sluice.dev/after-drain-time", "kill")}, policy.Abort, false},
		"a pod that saves its work has the time it says":     {[]func(*corev1.Pod){ends(time.Minute), Annotated("sluice.dev/checkpoint-grace", "20m")}, policy.Force, false},
		"a pod that saves its work has no more than it says": {[]func(*corev1.Pod){ends(-time.Second), Annotated("sluice.dev/checkpoint-grace", "20m")}, policy.Force, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := policy.Default()
			r.Removal.Drain.AfterDeadline, r.Removal.Drain.Deadline = c.after, 10*time.Minute
			p := Pod("p", append([]func(*corev1.Pod){OwnedBy("ReplicaSet", "web")}, c.change...)...)
			if got := r.Outlasted(p, policy.Where{}, cordoned, Start); got != c.want {
				t.Errorf("outlasted %v, want %v", got, c.want)
			}
			if r.Outlasted(p, policy.Where{}, cordoned.Add(time.Second), Start) {
				t.Error("it is outlasted before its time is over")
			}
		})
	}
}

func TestDaemonsAreDismissedWhereTheFlagsAndTheirAnnotationSaySo(t *testing.T) {
	daemon := OwnedBy("DaemonSet", "ds")
	says := func(v string) func(*corev1.Pod) {
		return Annotated("cluster-autoscaler.kubernetes.io/enable-ds-eviction", v)
	}
	for name, c := range map[string]struct {
		change           []func(*corev1.Pod)
		empty, occupied  bool // flags
		onEmpty, onOther bool // what is wanted
	}{
		"by default where others were":       {[]func(*corev1.Pod){daemon}, false, true, false, true},
		"on empty nodes by the flag":         {[]func(*corev1.Pod){daemon}, true, false, true, false},
		"everywhere by the annotation":       {[]func(*corev1.Pod){daemon, says("true")}, false, false, true, true},
		"nowhere by the annotation":          {[]func(*corev1.Pod){daemon, says("false")}, true, true, false, false},
		"a static pod is never":              {[]func(*corev1.Pod){says("true"), Annotated(corev1.MirrorPodAnnotationKey, "x")}, true, true, false, false},
		"a pod that is no daemon's is never": {[]func(*corev1.Pod){says("true")}, true, true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := policy.Default().Removal
			r.Drain.EmptyDaemons, r.Drain.OccupiedDaemons = c.empty, c.occupied
			p := Pod("p", c.change...)
			if got := r.Dismisses(p, false); got != c.onEmpty {
				t.Errorf("on an empty node %v, want %v", got, c.onEmpty)
			}
			if got := r.Dismisses(p, true); got != c.onOther {
				t.Errorf("on an occupied node %v, want %v", got, c.onOther)
			}
		})
	}
}
