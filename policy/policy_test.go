package policy_test

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

func TestWhichPodsKeepTheirNode(t *testing.T) {
	volume := func(v corev1.Volume) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.Volumes = append(p.Spec.Volumes, v) }
	}
	scratch := corev1.Volume{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
	memory := corev1.Volume{Name: "shm", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}}
	host := corev1.Volume{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{}}}
	system := func(p *corev1.Pod) { p.Namespace = "kube-system" }
	aged := func(age time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.CreationTimestamp.Time = Start.Add(-age) }
	}
	safe := "cluster-autoscaler.kubernetes.io/safe-to-evict"
	cases := map[string]struct {
		pod    *cluster.Pod
		change func(*policy.Policy)
		want   reason.Code // "" when it may go
	}{
		"a ReplicaSet's pod may go":                     {Pod("p"), nil, ""},
		"a StatefulSet's pod may go":                    {Pod("p", OwnedBy("StatefulSet", "db")), nil, ""},
		"a Job's pod stays":                             {Pod("p", OwnedBy("Job", "j")), nil, reason.PodOfJob},
		"a bare pod stays":                              {Pod("p", OwnedBy("", "")), nil, reason.PodBare},
		"a pod of an unknown controller stays":          {Pod("p", OwnedBy("Game", "g")), nil, reason.PodCustomOwner},
		"a pod marked unsafe stays":                     {Pod("p", Annotated(safe, "false")), nil, reason.PodNotSafeToEvict},
		"a pod to be left to its end stays":             {Pod("p", Annotated(safe, "on-completion")), nil, reason.PodNotSafeToEvict},
		"a bare pod marked safe may go":                 {Pod("p", OwnedBy("", ""), Annotated(safe, "true")), nil, ""},
		"a pod marked do-not-disrupt stays":             {Pod("p", Annotated("karpenter.sh/do-not-disrupt", "true")), nil, reason.PodDoNotDisrupt},
		"do-not-disrupt wins over safe":                 {Pod("p", Annotated("karpenter.sh/do-not-disrupt", "true"), Annotated(safe, "true")), nil, reason.PodDoNotDisrupt},
		"do-not-disrupt for longer than numbers go":     {Pod("p", aged(2*time.Hour), Annotated("karpenter.sh/do-not-disrupt", "99999999h")), nil, reason.PodDoNotDisrupt},
		"do-not-disrupt in a unit that is none":         {Pod("p", Annotated("karpenter.sh/do-not-disrupt", "30d")), nil, ""},
		"do-not-disrupt written large":                  {Pod("p", Annotated("karpenter.sh/do-not-disrupt", "True")), nil, reason.PodDoNotDisrupt},
		"safe-to-evict=False":                           {Pod("p", Annotated(safe, "False")), nil, reason.PodNotSafeToEvict},
		"do-not-disrupt=false says nothing":             {Pod("p", Annotated("karpenter.sh/do-not-disrupt", "false")), nil, ""},
		"do-not-disrupt for an hour, ten minutes in":    {Pod("p", aged(10*time.Minute), Annotated("karpenter.sh/do-not-disrupt", "1h")), nil, reason.PodDoNotDisrupt},
		"do-not-disrupt for an hour, two hours in":      {Pod("p", aged(2*time.Hour), Annotated("karpenter.sh/do-not-disrupt", "1h")), nil, ""},
		"a pod with an emptyDir stays":                  {Pod("p", volume(scratch)), nil, reason.PodLocalStorage},
		"a pod with a hostPath stays":                   {Pod("p", volume(host)), nil, reason.PodLocalStorage},
		"an emptyDir in memory is no storage":           {Pod("p", volume(memory)), nil, ""},
		"an emptyDir given up by name is no storage":    {Pod("p", volume(scratch), Annotated("cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes", "logs,scratch")), nil, ""},
		"local storage may be ignored":                  {Pod("p", volume(scratch)), func(p *policy.Policy) { p.Removal.Skip.LocalStorage = false }, ""},
		"a young system pod stays":                      {Pod("p", system), nil, reason.PodOfSystem},
		"a system pod of an hour may go":                {Pod("p", system, aged(time.Hour)), nil, ""},
		"system pods may be treated like any other pod": {Pod("p", system), func(p *policy.Policy) { p.Removal.Skip.SystemPods = false }, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := policy.Default()
			if c.change != nil {
				c.change(p)
			}
			why, keeps := p.Keeps(c.pod, policy.Where{}, Start)
			if keeps != (c.want != "") || why.Code != c.want {
				t.Errorf("keeps=%t %q, want %q", keeps, why.Code, c.want)
			}
		})
	}
}

func TestSenselessSettingsAreNamed(t *testing.T) {
	if err := policy.Default().Check(); err != nil {
		t.Fatalf("the defaults: %v", err)
	}
	cases := map[string]func(*policy.Policy){
		"--max-node-provision-time":              func(p *policy.Policy) { p.Growth.Node.ProvisionTime = 0 },
		"--max-node-startup-time":                func(p *policy.Policy) { p.Growth.Node.StartupTime = 0 },
		"--max-drain-time":                       func(p *policy.Policy) { p.Removal.Drain.Deadline = -1 },
		"--scale-down-unneeded-time":             func(p *policy.Policy) { p.Removal.UnneededTime = -1 },
		"--max-nodes-total":                      func(p *policy.Policy) { p.Growth.Max.Nodes = -1 },
		"--max-scale-down-parallelism":           func(p *policy.Policy) { p.Removal.Parallelism = 0 },
		"--max-drain-parallelism":                func(p *policy.Policy) { p.Removal.Drain.Parallelism = 0 },
		"--max-node-group-backoff-duration":      func(p *policy.Policy) { p.Growth.Backoff.Max = time.Second },
		"--scale-down-utilization-threshold":     func(p *policy.Policy) { p.Removal.Utilization.Threshold = 50 },
		"--scale-down-utilization-threshold=NaN": func(p *policy.Policy) { p.Removal.Utilization.Threshold = math.NaN() },
		"--max-total-unready-percentage":         func(p *policy.Policy) { p.Health.UnreadyPercent = 101 },
		"--node-group-backoff-reset-timeout":     func(p *policy.Policy) { p.Growth.Backoff.Reset = 0 },
		"--initial-node-group-backoff-duration":  func(p *policy.Policy) { p.Growth.Backoff.Initial = 0 },
		"--cores-total":                          func(p *policy.Policy) { p.Removal.Keep.Cores, p.Growth.Max.Cores = 8, 4 },
	}
	for flag, spoil := range cases {
		p := policy.Default()
		spoil(p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s: error %v, want one that names the flag", flag, err)
		}
	}
	limitless := policy.Default()
	limitless.Removal.Keep.Cores = 8
	if err := limitless.Check(); err != nil {
		t.Errorf("a minimum without a maximum: %v", err)
	}
}

func TestAGroupsOwnOptionsWin(t *testing.T) {
	r := policy.Default().Removal
	if got := r.Of(cluster.Options{}); !reflect.DeepEqual(got, r) {
		t.Errorf("without options %+v, want the policy's %+v", got, r)
	}
	got := r.Of(cluster.Options{Threshold: new(0.1), GPUThreshold: new(0.2), Unneeded: new(time.Minute), Unready: new(2 * time.Minute)})
	want := r
	want.Utilization.Threshold, want.Utilization.GPUThreshold, want.UnneededTime, want.UnreadyTime = 0.1, 0.2, time.Minute, 2*time.Minute
	if !reflect.DeepEqual(got, want) {
		t.Errorf("options make %+v, want %+v", got, want)
	}
}
