package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/kubesim"
)

const (
	subscription = "00000000-0000-0000-0000-000000000001"
	tenant       = "00000000-0000-0000-0000-000000000002"
	client       = "00000000-0000-0000-0000-000000000003" // of sluice's managed identity
	identity     = "/subscriptions/" + subscription + "/resourceGroups/farm/providers/Microsoft.ManagedIdentity/userAssignedIdentities/sluice"
)

// farm is an Azure and a Kubernetes behind sockets: one scale set, agents, with one machine of four cores, three of them in use.
type farm struct {
	t       *testing.T
	azure   *azuresim.Server
	cluster *kubesim.Cluster
	flags   []string // that point a command at it
}

func newFarm(t *testing.T) *farm {
	t.Helper()
	nowhere(t)
	f := &farm{t: t, azure: &azuresim.Server{}, cluster: &kubesim.Cluster{}}
	must(t, f.azure.AddIdentity(azuresim.Identity{ID: identity, TenantID: tenant, ClientID: client}))
	must(t, f.azure.AddMachine(azuresim.Machine{
		Subscription: subscription, ResourceGroup: "farm", Name: "server-0", Location: "westeurope", Identities: []string{identity},
	}))
	must(t, f.azure.AddScaleSet(azuresim.ScaleSet{
		Subscription: subscription, ResourceGroup: "farm", Name: "agents", Location: "westeurope",
		Size: "Standard_D4s_v5", VCPUs: 4, Family: "standardDSv5Family", Capacity: 1,
	}))
	for _, m := range f.azure.Machines() {
		if m.ScaleSet == "" {
			continue
		}
		must(t, f.cluster.Join(kubesim.Machine{
			Name: m.ComputerName, ProviderID: "azure://" + m.ID, SystemUUID: m.VMID, InternalIP: m.PrivateIP,
			Labels: map[string]string{
				corev1.LabelInstanceTypeStable: m.Size, corev1.LabelTopologyRegion: m.Location, corev1.LabelTopologyZone: "0",
			},
			Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi")},
		}))
	}
	f.pod("base")
	arm, metadata, api := f.serve(f.azure), f.serve(f.azure.Metadata("server-0")), f.serve(fromProtobuf(f.cluster))
	f.flags = []string{
		"--nodes=0:3:agents", "--kubeconfig=" + kubeconfig(t, api),
		"--azure-resource-manager-endpoint=" + arm, "--azure-authority-host=" + arm, "--azure-metadata-endpoint=" + metadata,
	}
	return f
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// serve has a handler answer on a loopback address until the test ends.
func (f *farm) serve(h http.Handler) string {
	s := httptest.NewServer(h)
	f.t.Cleanup(func() {
		s.CloseClientConnections() // a watch would keep it open
		s.Close()
	})
	return s.URL
}

// fromProtobuf lets a handler that reads JSON only have objects from client-go, which sends those of built-in kinds as protobuf.
func fromProtobuf(next http.Handler) http.Handler {
	known := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(known))
	utilruntime.Must(coordinationv1.AddToScheme(known))
	utilruntime.Must(eventsv1.AddToScheme(known))
	utilruntime.Must(authorizationv1.AddToScheme(known))
	utilruntime.Must(authenticationv1.AddToScheme(known))
	wire := protobuf.NewSerializer(known, known)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Content-Type") == runtime.ContentTypeProtobuf {
			sent, err := io.ReadAll(r.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			object, _, err := wire.Decode(sent, nil, nil)
			if err != nil {
				http.Error(w, err.Error(), http.StatusUnsupportedMediaType)
				return
			}
			text, err := json.Marshal(object)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
			r.Header.Set("Content-Type", runtime.ContentTypeJSON)
		}
		next.ServeHTTP(w, r)
	})
}

// pod creates a pod of three cores and lets the scheduler try it.
func (f *farm) pod(name string) {
	f.t.Helper()
	_, err := f.cluster.Create(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "registry.example/main:1",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}},
		}}},
	})
	must(f.t, err)
	for f.cluster.Step() {
	}
}

// args is a command line that is pointed at the farm. Flags that come later win.
func (f *farm) args(line ...string) []string {
	words := 0
	for words < len(line) && !strings.HasPrefix(line[words], "-") {
		words++
	}
	return append(append(append([]string{}, line[:words]...), f.flags...), line[words:]...)
}

// untouched holds that nobody asked Azure or Kubernetes to change anything, and that both were asked something.
func (f *farm) untouched() {
	f.t.Helper()
	for _, r := range f.cluster.Log() {
		f.t.Errorf("the API server was asked to %s %s %s/%s", r.Verb, r.Resource, r.Namespace, r.Name)
	}
	read := 0
	for _, r := range f.azure.Requests() {
		if r.Method != http.MethodGet {
			f.t.Errorf("Azure was asked to %s %s", r.Method, r.Path)
		}
		if r.ScaleSet == "agents" || strings.HasSuffix(r.Path, "/virtualMachineScaleSets") {
			read++
		}
	}
	if read == 0 {
		f.t.Error("Azure was not asked about scale sets: this shows nothing")
	}
}
