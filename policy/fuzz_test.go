package policy_test

import (
	"testing"
	"time"

	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/policy"
)

// FuzzPodAnnotations puts any text into what a pod may say of itself. Whatever is not understood says nothing: the pod keeps what it has.
func FuzzPodAnnotations(f *testing.F) {
	for _, seed := range []string{"", "true", "false", "on-completion", "now", "never", "10m", "-10m", "2562047h47m16.854775807s", "1e9h", "NaN", "\xff"} {
		f.Add(seed, "", int64(0))
		f.Add("", seed, int64(90))
	}
	f.Fuzz(func(t *testing.T, one, other string, seconds int64) {
		p := policy.Default()
		pod := Pod("render", OwnedBy("Job", "render"), Annotated("karpenter.sh/do-not-disrupt", one), Annotated("cluster-autoscaler.kubernetes.io/safe-to-evict", other),
			Annotated("sluice.dev/evict-work", other), Annotated("sluice.dev/checkpoint-grace", one), Annotated("cluster-autoscaler.kubernetes.io/pod-scale-up-delay", other))
		_, keeps := p.Keeps(pod, policy.Where{}, Start)
		if one == "true" && !keeps {
			t.Error("a pod that is not to be disrupted is given up")
		}
		deadline := Start.Add(time.Duration(min(max(seconds, 0), 1e6)) * time.Second)
		if last := p.LastCall(pod, deadline); last.After(deadline) {
			t.Errorf("the last call at %s is after the end at %s", last, deadline)
		}
		if grace := p.GraceBefore(pod, Start, deadline); grace < 0 {
			t.Errorf("%s to stop", grace)
		}
	})
}

// FuzzRules gives any text to the flags that name a rule for work: what is understood is written as it was meant.
func FuzzRules(f *testing.F) {
	for _, seed := range []string{"namespace/render=2h", "agents=never", "agents=now", "=", "namespace/=1h", "a=b=c", "a=-1h"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := policy.ParseWorkRule(text)
		if err != nil {
			return
		}
		again, err := policy.ParseWorkRule(r.String())
		if err != nil || again != r {
			t.Errorf("%q is %+v, written %q and read %+v (%v)", text, r, r.String(), again, err)
		}
	})
}
