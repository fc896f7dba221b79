package world

import (
	"fmt"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/internal/kubesim"
)

// What a scenario may ask for. More is a slip of the pen, or a file of somebody who means no good, and would take the memory and the patience of who plays
// it before it shows anything. The largest scenario that is played here, the soak, has 165,000 pods.
const (
	mostPods     = 200_000 // that controllers make, those of all statements and sections together
	mostMachines = 1000    // of one group, as Azure allows
	mostGroups   = 100
	mostOf       = 1_000_000            // of whatever else is counted
	mostLines    = 100_000              // of a script
	longest      = 366 * 24 * time.Hour // for a scenario, and anything in it
	leastPause   = time.Second          // between two cycles that nothing has called for
)

// mostIn are the settings that count what takes memory.
var mostIn = map[string]int{"replicas": mostPods, "pods": mostPods, "machines": mostMachines}

// counted reads a whole number from 0 to most.
func counted(said string, most int) (n int, ok bool) {
	n, err := strconv.Atoi(said)
	return n, err == nil && n >= 0 && n <= most
}

// timed reads a duration that a scenario may last. The error says what to give instead.
func timed(said string) (time.Duration, error) {
	d, err := time.ParseDuration(said)
	if err != nil || d < 0 || d > longest {
		return 0, fmt.Errorf("give a duration such as 90s or 10m, of at most %.0fh", longest.Hours())
	}
	return d, nil
}

// makes is how many pods a controller has, or makes until it is done, with the setting that says so; "" for what makes none by itself.
func makes(object kubesim.Object) (pods int64, setting string) {
	var said []*int32
	switch o := object.(type) {
	case *appsv1.Deployment:
		said, setting = []*int32{o.Spec.Replicas}, "replicas"
	case *appsv1.StatefulSet:
		said, setting = []*int32{o.Spec.Replicas}, "replicas"
	case *appsv1.ReplicaSet:
		if metav1.GetControllerOf(o) != nil {
			return 0, ""
		}
		said, setting = []*int32{o.Spec.Replicas}, "replicas"
	case *batchv1.Job:
		said, setting = []*int32{o.Spec.Parallelism, o.Spec.Completions}, "pods"
	default:
		return 0, ""
	}
	for _, n := range said {
		if n == nil {
			n = new(int32(1)) // what Kubernetes takes when nobody says
		}
		pods = max(pods, int64(*n))
	}
	return pods, setting
}

// room says whether a scenario may have a controller beside those that there are. One of the same name does not count beside itself.
func room(c *kubesim.Cluster, o kubesim.Object) error {
	pods, setting := makes(o)
	if setting == "" {
		return nil
	}
	have := made[*appsv1.Deployment](c, o) + made[*appsv1.StatefulSet](c, o) + made[*appsv1.ReplicaSet](c, o) + made[*batchv1.Job](c, o)
	if have+pods > mostPods {
		return fmt.Errorf("%s: %s=%d: a scenario may have %d pods, and has %d without these", o.GetName(), setting, pods, mostPods, have)
	}
	return nil
}

// made counts the pods that the controllers of a kind make, but for one of them.
func made[T kubesim.Object](c *kubesim.Cluster, but kubesim.Object) (n int64) {
	_, same := but.(T)
	for _, o := range kubesim.All[T](c, "") {
		if !same || o.GetNamespace() != but.GetNamespace() || o.GetName() != but.GetName() {
			pods, _ := makes(o)
			n += pods
		}
	}
	return n
}

// add makes an object that a scenario has room for.
func add(c *kubesim.Cluster, o kubesim.Object) (kubesim.Object, error) {
	if err := room(c, o); err != nil {
		return nil, err
	}
	return c.Create(o)
}
