package chart

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
)

// kubeconfig is that of the control plane that all tests share.
var kubeconfig string

// TestMain runs the control plane that make chart-test has built, and which ends with its input. It says that it is the version of Kubernetes of which it
// is made: Helm asks.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // Helm tells of each link in the chart
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	os.Exit(func() int {
		binary := os.Getenv("SLUICE_CONTROLPLANE")
		if binary == "" {
			log.Print("SLUICE_CONTROLPLANE names no control plane: run make chart-test")
			return 1
		}
		cmd := exec.Command(binary)
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			log.Print(err)
			return 1
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			log.Print(err)
			return 1
		}
		if err := cmd.Start(); err != nil {
			log.Print(err)
			return 1
		}
		defer func() {
			_ = in.Close()
			_ = cmd.Wait()
		}()
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			log.Print("the control plane did not start: ", err)
			return 1
		}
		kubeconfig = strings.TrimSpace(line)
		return m.Run()
	}())
}

// A cluster is the control plane as an administrator has it.
type cluster struct {
	t       *testing.T
	client  *kubernetes.Clientset
	dynamic *dynamic.DynamicClient
}

func connect(t *testing.T) cluster {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return cluster{t, client, dynamic.NewForConfigOrDie(config)}
}

// resource is where objects of an object's kind are.
func (c cluster) resource(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.client.Discovery()))
	kind := o.GroupVersionKind()
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	if o.GetNamespace() != "" {
		return c.dynamic.Resource(mapping.Resource).Namespace(o.GetNamespace()), nil
	}
	return c.dynamic.Resource(mapping.Resource), nil
}

// gates says whether the API server has the kind of policy that the capacity gate is made of, which those of before 1.36 lack: see make skew.
func (c cluster) gates() bool {
	c.t.Helper()
	_, err := c.client.AdmissionregistrationV1().MutatingAdmissionPolicies().List(c.t.Context(), metav1.ListOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		c.t.Fatal(err)
	}
	if err != nil {
		c.t.Log("done without: the capacity gate")
	}
	return err == nil
}

// accepts says why the API server would not create the objects as they stand; fields that it does not know are refused. Nothing but namespaces is stored.
func (c cluster) accepts(objects []*unstructured.Unstructured) (refusals []string) {
	c.t.Helper()
	if len(objects) == 0 {
		return []string{"there is no object"}
	}
	for _, o := range objects {
		to, err := c.resource(o)
		if err == nil {
			look := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}
			if o.GetKind() == "Namespace" {
				look.DryRun = nil // what comes after it in the file is in it
			}
			_, err = to.Create(c.t.Context(), o, look)
		}
		if err != nil && !(o.GetKind() == "Namespace" && apierrors.IsAlreadyExists(err)) {
			refusals = append(refusals, fmt.Sprintf("%s %s: %v", o.GetKind(), o.GetName(), err))
		}
	}
	return refusals
}

// parse reads all objects of a YAML stream.
func parse(t *testing.T, stream []byte) (objects []*unstructured.Unstructured) {
	t.Helper()
	for d := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(stream), 4096); ; {
		o := &unstructured.Unstructured{}
		if err := d.Decode(&o.Object); err == io.EOF {
			return objects
		} else if err != nil {
			t.Fatal(err)
		}
		if len(o.Object) > 0 {
			objects = append(objects, o)
		}
	}
}

// names are the objects' kinds and names.
func names(objects []*unstructured.Unstructured) (all []string) {
	for _, o := range objects {
		all = append(all, o.GetKind()+" "+o.GetName())
	}
	slices.Sort(all)
	return all
}

// all names every object that is stored, but for those that come and go by themselves.
func (c cluster) all(ctx context.Context) []string {
	c.t.Helper()
	lists, err := c.client.Discovery().ServerPreferredResources()
	if err != nil {
		c.t.Fatal(err)
	}
	var all []string
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, r := range list.APIResources {
			if !slices.Contains(r.Verbs, "list") || r.Kind == "Event" || r.Kind == "Lease" || r.Kind == "ComponentStatus" {
				continue
			}
			items, err := c.dynamic.Resource(version.WithResource(r.Name)).List(ctx, metav1.ListOptions{})
			if err != nil {
				c.t.Fatal(r.Name, ": ", err)
			}
			for _, o := range items.Items {
				all = append(all, r.Kind+" "+o.GetNamespace()+"/"+o.GetName())
			}
		}
	}
	slices.Sort(all)
	return all
}

// eventually asks until so, for a minute.
func (c cluster) eventually(what string, so func() (bool, string)) {
	c.t.Helper()
	said := ""
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		var ok bool
		if ok, said = so(); ok {
			return
		}
	}
	c.t.Fatalf("%s did not come about: %s", what, said)
}
