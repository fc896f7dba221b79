package azure

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/setting"
)

func TestKeysAreDecodedInTheOrderOfClusterAutoscaler(t *testing.T) {
	for tag, want := range map[string][2]string{ // as a label or taint, as a resource
		"pool":                    {"pool", "pool"},
		"example.com_pool":        {"example.com/pool", "example.com/pool"},
		"example.com_pool~2name":  {"example.com/pool_name", "example.com/pool/name"},
		"~2":                      {"_", "/"},
		"a~22":                    {"a_2", "a/2"},
		"nvidia.com_mig-1g.5gb":   {"nvidia.com/mig-1g.5gb", "nvidia.com/mig-1g.5gb"},
		"ephemeral-storage":       {"ephemeral-storage", "ephemeral-storage"},
		"node-role.k8s.io_worker": {"node-role.k8s.io/worker", "node-role.k8s.io/worker"},
	} {
		if got := [2]string{decodeKey(tag), decodeResource(tag)}; got != want {
			t.Errorf("%s: %q, want %q", tag, got, want)
		}
	}
}

func TestOptionsOfAGroupAreReadFromItsTags(t *testing.T) {
	for name, tc := range map[string]struct {
		tag, value string
		want       cluster.Options
		fault      string
	}{
		"a threshold":             {"scaledownutilizationthreshold", "0.65", cluster.Options{Threshold: new(0.65)}, ""},
		"a threshold of GPUs":     {"scaledowngpuutilizationthreshold", "0", cluster.Options{GPUThreshold: new(0.0)}, ""},
		"how long unneeded":       {"scaledownunneededtime", "1h30m", cluster.Options{Unneeded: new(90 * time.Minute)}, ""},
		"how long unready":        {"scaledownunreadytime", "90s", cluster.Options{Unready: new(90 * time.Second)}, ""},
		"any letter case":         {"ScaleDownUnreadyTime", "90s", cluster.Options{Unready: new(90 * time.Second)}, ""},
		"no number":               {"scaledownutilizationthreshold", "half", cluster.Options{}, "the flag's value stays; give a share from 0 to 1"},
		"more than all":           {"scaledownutilizationthreshold", "50", cluster.Options{}, "give a share from 0 to 1"},
		"not a number at all":     {"scaledowngpuutilizationthreshold", "NaN", cluster.Options{}, "give a share from 0 to 1"},
		"a duration without unit": {"scaledownunneededtime", "600", cluster.Options{}, "the flag's value stays; give a duration"},
		"a negative duration":     {"scaledownunneededtime", "-1m", cluster.Options{}, "give a duration"},
		"an unknown option":       {"scaleupeagerly", "yes", cluster.Options{}, "there are scaledownunneededtime, scaledownunreadytime, scaledownutilizationthreshold and scaledowngpuutilizationthreshold"},
	} {
		t.Run(name, func(t *testing.T) {
			tag := optionTag + tc.tag
			got := readTags(map[string]string{tag: tc.value})
			if d := cmp.Diff(tc.want, got.options); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			switch {
			case tc.fault == "" && len(got.faults) > 0:
				t.Errorf("faults %q, want none", got.faults)
			case tc.fault != "" && (len(got.faults) != 1 || !strings.HasPrefix(got.faults[0], "tag "+tag+"="+tc.value+" has no effect: ") || !strings.Contains(got.faults[0], tc.fault)):
				t.Errorf("faults %q, want one that says %q", got.faults, tc.fault)
			}
		})
	}
}

func TestSluicesOwnTagsSetWhatAGroupMayDo(t *testing.T) {
	workers, err := cluster.ParsePodSelector("render/app in (worker,farm)")
	if err != nil {
		t.Fatal(err)
	}
	week, night := schedule(t, "Mon-Fri 08:00-20:00 Europe/Berlin min=3 max=20"), schedule(t, "22:00-06:00 max=1")
	for name, tc := range map[string]struct {
		tag, value string
		want       cluster.Options
		fault      string
	}{
		"room for machines":                    {"headroom", "machines:2", cluster.Options{Headroom: &cluster.Headroom{Machines: 2}}, ""},
		"no room, against a flag":              {"headroom", "0", cluster.Options{Headroom: &cluster.Headroom{}}, ""},
		"in any letter case":                   {"Headroom", "cores:16", cluster.Options{Headroom: &cluster.Headroom{Cores: 16}}, ""},
		"no headroom":                          {"headroom", "some", cluster.Options{}, "give machines:N or cores:N"},
		"a schedule":                           {"schedule", "Mon-Fri 08:00-20:00 Europe/Berlin min=3 max=20", cluster.Options{Schedules: []cluster.Schedule{week}}, ""},
		"two, in their order":                  {"schedule", "Mon-Fri 08:00-20:00 Europe/Berlin min=3 max=20; 22:00-06:00 max=1", cluster.Options{Schedules: []cluster.Schedule{week, night}}, ""},
		"two, one of them wrong":               {"schedule", "8 to 20 min=3; 22:00-06:00 max=1", cluster.Options{Schedules: []cluster.Schedule{night}}, `8 to 20 min=3 has no effect: "8" are no hours`},
		"a ceiling":                            {"ceiling", "machines:20/10m", cluster.Options{Ceilings: []cluster.Ceiling{{Unit: cluster.CeilingMachines, Limit: 20, Window: 10 * time.Minute}}}, ""},
		"no ceiling":                           {"ceiling", "20", cluster.Options{}, "counts nothing that is known"},
		"daemons that work":                    {"daemon-work", "render/app in (farm,worker)", cluster.Options{DaemonWork: []cluster.PodSelector{workers}}, ""},
		"daemons of no namespace":              {"daemon-work", "app=worker; render/app in (farm,worker)", cluster.Options{DaemonWork: []cluster.PodSelector{workers, cluster.EveryPod}}, `app=worker has no effect: all pods of DaemonSets count as work there until it can be read; "app=worker" is no namespace`},
		"what removal does is no tag of these": {"removal", "delete", cluster.Options{}, ""},
		"a tag that nobody reads":              {"headrom", "machines:2", cluster.Options{}, "there are sluice.dev_schedule, sluice.dev_headroom, sluice.dev_ceiling, sluice.dev_daemon-work, sluice.dev_removal and sluice.dev_model"},
	} {
		t.Run(name, func(t *testing.T) {
			got := readTags(map[string]string{setting.Own + tc.tag: tc.value})
			if d := cmp.Diff(tc.want, got.options); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if tc.fault == "" && len(got.faults) > 0 || tc.fault != "" && (len(got.faults) != 1 || !strings.Contains(got.faults[0], tc.fault)) {
				t.Errorf("faults %q, want %q", got.faults, tc.fault)
			}
			if len(got.plain) > 0 {
				t.Errorf("labels %q from a tag of sluice's own", got.plain)
			}
		})
	}
}

func schedule(t *testing.T, text string) cluster.Schedule {
	t.Helper()
	s, err := cluster.ParseSchedule(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// FuzzTagsOfAnyKind gives tags of all kinds with any name and value: what is taken from them is what Kubernetes allows, and the rest is
// named.
func FuzzTagsOfAnyKind(f *testing.F) {
	for _, seed := range [][3]string{
		{labelTag, "example.com_pool~2name", "blue"}, {labelTag, "_", "x"}, {taintTag, "dedicated", "gpu:NoSchedule"}, {taintTag, "a", ":NoExecute"},
		{taintTag, "a", "b:c:NoSchedule"}, {resourceTag, "cpu", "15500m"}, {resourceTag, "nvidia.com_gpu", "-1"}, {resourceTag, "memory", "1e400"},
		{optionTag, "scaledownutilizationthreshold", "Inf"}, {optionTag, "scaledownunreadytime", "2540400h"}, {"", "owner", "me"}, {"", "", ""},
		{setting.Own, "schedule", "daily min=1; nightly max=2"}, {setting.Own, "ceiling", "usd:1/1h;"},
		{autoscalerTag, "enabled", "true"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, prefix, name, value string) {
		tag := prefix + name
		got := readTags(map[string]string{tag: value})
		for _, labels := range []map[string]string{got.plain, got.labels} {
			for k, v := range labels {
				if len(validation.IsQualifiedName(k)) > 0 || len(validation.IsValidLabelValue(v)) > 0 {
					t.Errorf("label %q=%q", k, v)
				}
			}
		}
		for _, taint := range got.taints {
			if len(validation.IsQualifiedName(taint.Key)) > 0 || taint.Effect != corev1.TaintEffectNoSchedule && taint.Effect != corev1.TaintEffectNoExecute && taint.Effect != corev1.TaintEffectPreferNoSchedule {
				t.Errorf("taint %+v", taint)
			}
		}
		for k, q := range got.resources {
			if q.Sign() < 0 || strings.Contains(string(k), "_") {
				t.Errorf("resource %s=%s", k, q.String())
			}
		}
		for _, share := range []*float64{got.options.Threshold, got.options.GPUThreshold} {
			if share != nil && (math.IsNaN(*share) || *share < 0 || *share > 1) {
				t.Errorf("share %v", *share)
			}
		}
		for _, span := range []*time.Duration{got.options.Unneeded, got.options.Unready} {
			if span != nil && *span < 0 {
				t.Errorf("duration %v", *span)
			}
		}
		effects := len(got.plain) + len(got.labels) + len(got.taints) + len(got.resources)
		if !cmp.Equal(got.options, cluster.Options{}) {
			effects++
		}
		special := strings.HasPrefix(tag, labelTag) || strings.HasPrefix(tag, taintTag) || strings.HasPrefix(tag, resourceTag) || strings.HasPrefix(tag, optionTag)
		if special && effects+len(got.faults) != 1 || !special && (effects > 1 || len(got.faults) > 0 && !strings.HasPrefix(tag, setting.Own)) {
			t.Errorf("tag %q=%q has %d effects and the faults %q", tag, value, effects, got.faults)
		}
	})
}
