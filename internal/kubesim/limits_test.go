package kubesim_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/internal/kubesim"
)

// amount reads "cpu=1 memory=1Gi".
func amount(text string) corev1.ResourceList {
	if text == "" {
		return nil
	}
	l := corev1.ResourceList{}
	for _, word := range strings.Fields(text) {
		name, q, _ := strings.Cut(word, "=")
		l[corev1.ResourceName(name)] = resource.MustParse(q)
	}
	return l
}

func said(l corev1.ResourceList) string {
	var words []string
	for _, name := range []corev1.ResourceName{"cpu", "memory"} {
		if q, ok := l[name]; ok {
			words = append(words, string(name)+"="+q.String())
		}
	}
	return strings.Join(words, " ")
}

func TestLimitRangesCompletePodsAndRefuseThem(t *testing.T) {
	ofContainers := func(def, request, least, most string) corev1.LimitRangeItem {
		return corev1.LimitRangeItem{Type: corev1.LimitTypeContainer, Default: amount(def), DefaultRequest: amount(request), Min: amount(least), Max: amount(most)}
	}
	for name, c := range map[string]struct {
		item                     corev1.LimitRangeItem
		requests, limits         string
		wantRequests, wantLimits string
		refused                  string
	}{
		"a default request":                         {ofContainers("", "cpu=500m", "", ""), "", "", "cpu=500m", "", ""},
		"a default request where one is said":       {ofContainers("", "cpu=500m memory=1Gi", "", ""), "cpu=2", "", "cpu=2 memory=1Gi", "", ""},
		"a default request where a limit is said":   {ofContainers("", "cpu=500m", "", ""), "", "cpu=2", "cpu=2", "cpu=2", ""},
		"a default limit, which is requested":       {ofContainers("cpu=1", "", "", ""), "", "", "cpu=1", "cpu=1", ""},
		"a default limit below the request":         {ofContainers("cpu=1", "", "", ""), "cpu=2", "", "", "", "must be less than or equal to cpu limit of 1"},
		"a max, which is the default":               {ofContainers("", "", "", "memory=2Gi"), "", "", "memory=2Gi", "memory=2Gi", ""},
		"a request above the max":                   {ofContainers("", "", "", "cpu=2"), "", "cpu=3", "", "", "maximum cpu usage per Container is 2, but limit is 3"},
		"a min, which is the default request":       {ofContainers("", "", "cpu=100m", ""), "", "", "cpu=100m", "", ""},
		"a request below the min":                   {ofContainers("", "", "cpu=100m", ""), "cpu=50m", "", "", "", "minimum cpu usage per Container is 100m, but request is 50m"},
		"a max of whole pods":                       {corev1.LimitRangeItem{Type: corev1.LimitTypePod, Max: amount("cpu=2")}, "cpu=1", "cpu=3", "", "", "maximum cpu usage per Pod is 2, but limit is 3"},
		"a max of whole pods and no limit":          {corev1.LimitRangeItem{Type: corev1.LimitTypePod, Max: amount("cpu=2")}, "cpu=1", "", "", "", "maximum cpu usage per Pod is 2.  No limit is specified"},
		"huge pages without a limit":                {corev1.LimitRangeItem{}, "cpu=1 hugepages-2Mi=2Mi", "", "", "", "Limit must be set"},
		"huge pages with another limit":             {corev1.LimitRangeItem{}, "cpu=1 hugepages-2Mi=2Mi", "hugepages-2Mi=4Mi", "", "", "must be equal to hugepages-2Mi limit of 4Mi"},
		"huge pages alone":                          {corev1.LimitRangeItem{}, "", "hugepages-2Mi=4Mi", "", "", "HugePages require cpu or memory"},
		"an extended resource without a limit":      {corev1.LimitRangeItem{}, "example.com/licence=1", "", "", "", "Limit must be set"},
		"huge pages of which the limit is said":     {corev1.LimitRangeItem{}, "cpu=1", "hugepages-2Mi=4Mi", "cpu=1", "", ""},
		"a LimitRange that is about claims of disk": {corev1.LimitRangeItem{Type: corev1.LimitTypePersistentVolumeClaim, Max: amount("cpu=1")}, "cpu=2", "", "cpu=2", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if c.item.Type != "" {
				w.create(&corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "all"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{c.item}}})
			}
			p := pod("p", "1")
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: amount(c.requests), Limits: amount(c.limits)}
			_, err := w.CoreV1().Pods("default").Create(ctx, p, metav1.CreateOptions{})
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Fatalf("%v, want %q", err, c.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			r := w.pod("p").Spec.Containers[0].Resources
			if said(r.Requests) != c.wantRequests || said(r.Limits) != c.wantLimits {
				t.Errorf("requests %q, limits %q, want %q and %q", said(r.Requests), said(r.Limits), c.wantRequests, c.wantLimits)
			}
		})
	}
}

func TestALimitRangeLeavesPodsAloneThatAreThere(t *testing.T) {
	w := newWorld(t)
	w.join("a", "4")
	p := pod("p", "1")
	p.Spec.Containers[0].Resources = corev1.ResourceRequirements{}
	w.create(p)
	w.create(&corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "all"}, Spec: corev1.LimitRangeSpec{
		Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, Default: amount("cpu=8")}}}})
	w.advance(time.Minute)
	p = w.pod("p").DeepCopy()
	p.Labels["touched"] = "yes"
	if _, err := w.CoreV1().Pods("default").Update(ctx, p, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if r := w.pod("p").Spec.Containers[0].Resources; len(r.Requests) > 0 || w.pod("p").Status.Phase != corev1.PodRunning {
		t.Errorf("%s with %v", w.pod("p").Status.Phase, r)
	}
}

func TestHugePagesAreNoMemoryForOtherUses(t *testing.T) {
	w := newWorld(t)
	w.join("plain", "4")
	if err := w.Join(kubesim.Machine{Name: "dense", Capacity: amount("cpu=4 memory=16Gi hugepages-2Mi=4Gi")}); err != nil {
		t.Fatal(err)
	}
	for node, want := range map[string]string{"plain": "16Gi", "dense": "12Gi"} {
		n, _ := kubesim.Find[*corev1.Node](w.Cluster, "", node)
		if has, gives := n.Status.Capacity.Memory().String(), n.Status.Allocatable.Memory().String(); has != "16Gi" || gives != want {
			t.Errorf("%s gives %s of %s, want %s", node, gives, has, want)
		}
	}
	for name, asked := range map[string]string{"a": "3Gi", "b": "2Gi"} {
		p := pod(name, "1")
		p.Spec.Containers[0].Resources.Limits = amount("hugepages-2Mi=" + asked)
		w.create(p)
		w.advance(10 * time.Second)
	}
	if a, b := w.pod("a").Spec.NodeName, w.pod("b").Spec.NodeName; a+b != "dense" {
		t.Errorf("they are on %q and %q", a, b)
	}
}
