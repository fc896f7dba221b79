package report

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/controlplane/controlplanetest"
)

func TestARealAPIServerTakesStatusAndEvents(t *testing.T) {
	client, err := kubernetes.NewForConfig(controlplanetest.Start(t))
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: StatusNamespace}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil && !strings.Contains(err.Error(), "already exists") {
		t.Fatal(err)
	}

	w := growing()
	w.group("spare", 0, 2, 1)
	w.pod("big-0", "3", "spare-0")
	w.cordon("spare-0", "underused", 20*time.Second)
	status, events := &Status{Client: client}, &Events{Client: client, Instance: "sluice-0"}
	for range 2 { // creates, then updates
		entry := w.decide(accepted())
		if err := status.Report(context.Background(), entry); err != nil {
			t.Error(err)
		}
		if err := events.Report(context.Background(), entry); err != nil {
			t.Error(err)
		}
		w.groups[0].Max++
	}
	m, err := client.CoreV1().ConfigMaps(StatusNamespace).Get(t.Context(), cluster.StatusName, metav1.GetOptions{})
	if err != nil || !strings.Contains(m.Data["status"], "maxSize: 4\n") {
		t.Errorf("status %v, %v", m.Data, err)
	}
	list, err := client.CoreV1().Events("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, e := range list.Items {
		if e.Source.Component == "sluice" {
			seen[e.InvolvedObject.Kind+" "+e.Reason] = true
			if e.InvolvedObject.UID == "" {
				t.Errorf("%s names a %s without its UID", e.Name, e.InvolvedObject.Kind)
			}
		}
	}
	for _, want := range []string{"ConfigMap ScaledUpGroup", "Pod TriggeredScaleUp", "Pod NotTriggerScaleUp", "Node ScaleDownAbandoned"} {
		if !seen[want] {
			t.Errorf("no event %s among %v", want, seen)
		}
	}
}
