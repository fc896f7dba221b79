package kubesim_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sluice.dev/sluice/internal/kubesim"
)

func crowd(b *testing.B) *world {
	w := newWorld(b)
	for i := range 100 {
		w.join(fmt.Sprintf("n%03d", i), "32")
	}
	w.create(deployment("web", 3000, "1"))
	w.advance(time.Minute)
	return w
}

func BenchmarkStepAtRest(b *testing.B) {
	w := crowd(b)
	for b.Loop() {
		w.Step()
	}
}

// BenchmarkReplacePod is one pod deleted, replaced, placed and started among
// 3,000 on 100 nodes.
func BenchmarkReplacePod(b *testing.B) {
	w := crowd(b)
	for b.Loop() {
		p := kubesim.All[*corev1.Pod](w.Cluster, "default")[0]
		if err := w.Delete(p, nil); err != nil {
			b.Fatal(err)
		}
		w.advance(10 * time.Second)
	}
}

func BenchmarkListNodes(b *testing.B) {
	w := crowd(b)
	for b.Loop() {
		must(w.CoreV1().Nodes().List(ctx, metav1.ListOptions{}))
	}
}

func BenchmarkCrowdArrives(b *testing.B) {
	for b.Loop() {
		crowd(b)
	}
}
