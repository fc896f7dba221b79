package kubelets_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"sluice.dev/sluice/internal/controlplane/kubelets"
)

// BenchmarkIdleNodes reports what a control plane and its simulated nodes cost while nothing happens: the time until all
// nodes have registered and are Ready, the processor time spent until then, the share of a core and the resident memory of the process, all components included. Run it with
// -benchtime=1x -run=^$: nodes of an earlier size stay.
func BenchmarkIdleNodes(b *testing.B) {
	for _, n := range []int{200, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				idleNodes(b, n)
			}
		})
	}
}

func idleNodes(b *testing.B, n int) {
	k := &kubelets.Kubelets{Client: client}
	ctx, cancel := context.WithCancel(b.Context())
	ran := make(chan error, 1)
	go func() { ran <- k.Run(ctx) }()
	defer func() { cancel(); <-ran }() //nolint:errcheck // it was told to stop

	begin, used := time.Now(), cpu(b)
	pool := fmt.Sprintf("idle-%d", n)
	for i := range n {
		err := k.Join(ctx, kubelets.Machine{Name: fmt.Sprintf("%s-%d", pool, i), Labels: map[string]string{"pool": pool}})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(time.Since(begin).Seconds(), "s-to-join")
	err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "pool=" + pool, ResourceVersion: "0"})
		ready := 0
		for _, node := range nodes.Items {
			for _, c := range node.Status.Conditions {
				if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue && len(node.Spec.Taints) == 0 {
					ready++
				}
			}
		}
		return ready == n, err
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(time.Since(begin).Seconds(), "s-to-ready")
	b.ReportMetric((cpu(b) - used).Seconds(), "cpu-s-to-ready")

	// Two renewals of every lease, after the work that the new nodes caused has settled.
	time.Sleep(10 * time.Second)
	from, began := cpu(b), time.Now()
	time.Sleep(40 * time.Second)
	b.ReportMetric((cpu(b)-from).Seconds()/time.Since(began).Seconds(), "cores-idle")
	b.ReportMetric(math.Round(residentMB(b)), "MB-resident")
	b.ReportMetric(0, "ns/op")
}

// cpu is the processor time this process has used.
func cpu(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func residentMB(b *testing.B) float64 {
	fields, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Skip(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(fields))[1])
	if err != nil {
		b.Fatal(err)
	}
	return float64(pages*os.Getpagesize()) / (1 << 20)
}
