package policy_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/policy"
)

func TestYoungPodsAreNoReasonToGrowYet(t *testing.T) {
	const delay = "cluster-autoscaler.kubernetes.io/pod-scale-up-delay"
	for name, tc := range map[string]struct {
		flag       time.Duration
		annotation string
		age        time.Duration
		young      time.Duration // how much longer
	}{
		"without a delay none is young":             {0, "", 0, 0},
		"nor by a clock that is behind":             {0, "", -time.Minute, 0},
		"younger than the flag says":                {time.Minute, "", 20 * time.Second, 40 * time.Second},
		"exactly as old":                            {time.Minute, "", time.Minute, 0},
		"its annotation asks for more":              {time.Minute, "5m", 2 * time.Minute, 3 * time.Minute},
		"its annotation asks for more without flag": {0, "5m", 2 * time.Minute, 3 * time.Minute},
		"an annotation below the flag says nothing": {time.Minute, "10s", 20 * time.Second, 40 * time.Second},
		"nor does one that is no duration":          {time.Minute, "soon", 20 * time.Second, 40 * time.Second},
		"nor does a negative one":                   {0, "-5m", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := policy.Default()
			p.Growth.PodDelay = tc.flag
			pod := Pod("p", func(p *corev1.Pod) { p.CreationTimestamp.Time = Start.Add(-tc.age) })
			if tc.annotation != "" {
				pod = Changed(pod, Annotated(delay, tc.annotation))
			}
			until, young := p.Young(pod, Start)
			if young != (tc.young > 0) || young && !until.Equal(Start.Add(tc.young)) {
				t.Errorf("young: %t until %s, want for %s more", young, until, tc.young)
			}
		})
	}
}

func TestPodsBelowTheCutoffAreExpendable(t *testing.T) {
	for name, tc := range map[string]struct {
		priority *int32
		want     bool
	}{
		"no priority":      {nil, false},
		"the usual one":    {new(int32(0)), false},
		"at the cutoff":    {new(int32(-10)), false},
		"below the cutoff": {new(int32(-11)), true},
	} {
		pod := Pod("p")
		pod.Spec.Priority = tc.priority
		if got := policy.Default().Expendable(pod); got != tc.want {
			t.Errorf("%s: expendable %t, want %t", name, got, tc.want)
		}
	}
}

// TestExpendablePodsBelongToTheirNode: a pod below the cutoff goes with its machine, whoever it is of, unless it is marked to stay.
func TestExpendablePodsBelongToTheirNode(t *testing.T) {
	priority := func(is int32) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.Priority = &is } }
	for name, c := range map[string]struct {
		changes []func(*corev1.Pod)
		belongs bool
	}{
		"of nobody":                {[]func(*corev1.Pod){priority(-11)}, true},
		"of a Job":                 {[]func(*corev1.Pod){priority(-11), OwnedBy("Job", "j")}, true},
		"at the cutoff":            {[]func(*corev1.Pod){priority(-10)}, false},
		"marked not to be evicted": {[]func(*corev1.Pod){priority(-11), Annotated("cluster-autoscaler.kubernetes.io/safe-to-evict", "false")}, false},
		"a daemon's that works":    {[]func(*corev1.Pod){priority(-11), OwnedBy("DaemonSet", "d"), Annotated("karpenter.sh/do-not-disrupt", "true")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := policy.Default().Belongs(Pod("p", c.changes...), policy.Where{}, Start); got != c.belongs {
				t.Errorf("belongs to its node: %v, want %v", got, c.belongs)
			}
		})
	}
}

// TestASchedulerHasLongerForABacklog: an idle scheduler has ten minutes, and one with 100,000 pods before it half an hour more.
func TestASchedulerHasLongerForABacklog(t *testing.T) {
	for waiting, want := range map[int]time.Duration{1: 10 * time.Minute, 500: 10*time.Minute + 10*time.Second, 100_000: 10*time.Minute + 2000*time.Second} {
		if got := policy.Binds(waiting); got != want {
			t.Errorf("with %d pods that wait: %s, want %s", waiting, got, want)
		}
	}
}
