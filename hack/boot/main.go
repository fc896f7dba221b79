// Command boot plays a cluster's first hour in minutes: a simulated Azure whose machines really boot, by systemd and cloud-init; kubeadm makes a control
// plane on one of them and joins two others to it; pods run; a machine is switched off and one deleted. It prints every step with its time. It needs
// root, and says loudly what it left out where it cannot.
package main

import (
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/azuresim/host"
)

//go:embed server.yaml
var serverData string

//go:embed agent.yaml
var agentData string

// token lets agents join. It is worth nothing outside of the machines' network, which nothing leaves.
const token = "abcdef.0123456789abcdef"

func main() {
	if host.Stage() { // a machine begins here
		os.Exit(1)
	}
	var o options
	flag.StringVar(&o.binaries, "binaries", "bin/boot/bin", "`folder` with kubelet, kubeadm, the control plane, etcd and pause")
	flag.StringVar(&o.dir, "dir", "bin/boot", "`folder` for the machines and their image")
	flag.StringVar(&o.cache, "cache", "", "`folder` for the root file system; empty: sluice/boot in the user's cache")
	flag.StringVar(&o.version, "version", "", "Kubernetes' `version`, as the binaries tell it")
	flag.BoolVar(&o.keep, "keep", false, "leave the cluster up until Ctrl-C")
	flag.BoolVar(&o.prepare, "prepare", false, "only make the root file system, or say why machines cannot boot here")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(code(o.run(ctx)))
}

// code is the exit code: 3 where machines cannot boot, which hack/boot/run makes a success where the caller allows that nothing is tried.
func code(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errors.ErrUnsupported) && os.Getenv("ALLOW_SKIP") != "":
		fmt.Fprintf(os.Stderr, "\nboot: LEFT OUT, as ALLOW_SKIP allows: no machine booted, no kubelet ran, nothing was tried.\nboot: %v\n", err)
		return 3
	case errors.Is(err, errors.ErrUnsupported):
		fmt.Fprintf(os.Stderr, "\nboot: NOTHING WAS TRIED: %v\nboot: ALLOW_SKIP=1 lets this pass\n", err)
		return 3
	}
	fmt.Fprintln(os.Stderr, "\nboot:", err)
	return 1
}

type options struct {
	binaries, dir, cache, version string
	keep, prepare                 bool
}

func (o options) run(ctx context.Context) (err error) {
	if err := host.Able(); err != nil {
		return err
	}
	s := &story{start: time.Now(), last: time.Now()}
	if o.cache == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		o.cache = filepath.Join(cache, "sluice", "boot")
	}
	log, err := os.Create(filepath.Join(o.dir, "root.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	if o.prepare {
		fmt.Fprintln(os.Stderr, "boot: the root file system is in", o.cache, "or is made now, from Debian's packages, which takes minutes")
	}
	root, err := host.Root(ctx, o.cache, log)
	if err != nil {
		return fmt.Errorf("%w; see %s", err, log.Name())
	}
	if o.prepare {
		return nil
	}
	image, err := filepath.Abs(filepath.Join(o.dir, "image"))
	if err != nil {
		return err
	}
	if err := layer(image, o.binaries); err != nil {
		return err
	}
	if err := images(ctx, image, o.binaries, root, o.version, o.dir); err != nil {
		return err
	}
	s.step("the machine image is there")

	s.azure = &azuresim.Server{AnyToken: true, AwaitReports: true, Boot: azuresim.Fixed(10 * time.Second), Delete: azuresim.Fixed(3 * time.Second)}
	s.host, err = host.Open(host.Config{
		Dir: filepath.Join(o.dir, "machines"), Image: []string{image, root}, Metadata: s.azure.Metadata, Report: s.azure.Report, Say: s.say,
	})
	if err != nil {
		return err
	}
	s.azure.Console = s.host.ConsoleOf
	following, halt := context.WithCancel(context.Background())
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		host.Follow(following, s.azure, s.host, s.say)
	}()
	defer func() {
		if err != nil {
			s.consoles(o.dir)
		}
		halt()
		<-followed
		err = errors.Join(err, s.host.Close())
		s.step("all machines are gone")
	}()
	if err := s.play(ctx, o); err != nil {
		return err
	}
	fmt.Printf("\nboot: a control plane, two agents, pods, a power-off and a delete in %.0f s\n", time.Since(s.start).Seconds())
	if o.keep {
		fmt.Println("boot: the cluster is up until Ctrl-C")
		<-ctx.Done()
	}
	return nil
}

// story is what is played, and when its last step was.
type story struct {
	azure       *azuresim.Server
	host        *host.Host
	kube        *kubernetes.Clientset
	start, last time.Time
}

// step says what has happened, at what time, and how long it took.
func (s *story) step(format string, args ...any) {
	now := time.Now()
	fmt.Printf("%6.1f s  %+5.1f  %s\n", now.Sub(s.start).Seconds(), now.Sub(s.last).Seconds(), fmt.Sprintf(format, args...))
	s.last = now
}

func (s *story) say(format string, args ...any) {
	fmt.Printf("%6.1f s         · %s\n", time.Since(s.start).Seconds(), fmt.Sprintf(format, args...))
}

// consoles keeps what the machines wrote, for whoever looks for what went wrong.
func (s *story) consoles(dir string) {
	for _, m := range s.azure.Machines() {
		text, _ := s.host.Console(m.ID)
		file := filepath.Join(dir, m.Name+".console.log")
		if os.WriteFile(file, []byte(text), 0o600) == nil {
			fmt.Fprintln(os.Stderr, "boot: the serial console of", m.Name, "is in", file)
		}
	}
}

const (
	subscription = "00000000-0000-0000-0000-000000000001"
	group        = "/subscriptions/" + subscription + "/resourceGroups/boot/providers/"
	version      = "?api-version=2024-07-01"
	setPath      = group + "Microsoft.Compute/virtualMachineScaleSets/agents"
)

// ask asks Resource Manager and decodes its answer.
func (s *story) ask(ctx context.Context, method, path, body string, into any) error {
	r, err := http.NewRequestWithContext(ctx, method, "https://management.azure.com"+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer anybody")
	r.Header.Set("Content-Type", "application/json")
	resp, err := s.azure.Client("").Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= http.StatusBadRequest {
		return errors.Join(fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text), err)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

// errFailed is a failure that no waiting mends.
var errFailed = errors.New("kubeadm has failed")

// until waits until something holds, which is asked for again and again.
func until(ctx context.Context, what string, holds func() (bool, error)) error {
	const most = 5 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for {
		ok, err := holds()
		if ok {
			return nil
		}
		if errors.Is(err, errFailed) {
			return fmt.Errorf("waited for %s: %w", what, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited for %s: %w", what, errors.Join(ctx.Err(), err))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (s *story) play(ctx context.Context, o options) error {
	for _, part := range []func(context.Context, options) error{s.server, s.agents, s.pods, s.diagnostics, s.powerOff, s.remove} {
		if err := part(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// said waits until a machine has written a text to its console.
func (s *story) said(ctx context.Context, id, text string) error {
	return until(ctx, fmt.Sprintf("%q on the console of %s", text, id), func() (bool, error) {
		console, _ := s.host.Console(id)
		if strings.Contains(console, "STORY: kubeadm init has failed") || strings.Contains(console, "STORY: kubeadm join has failed") {
			return false, errFailed
		}
		return strings.Contains(console, text), nil
	})
}

func (s *story) server(ctx context.Context, o options) error {
	if err := s.azure.AddScaleSet(azuresim.ScaleSet{
		Subscription: subscription, ResourceGroup: "boot", Name: "agents", Location: "westeurope", Size: "Standard_D2s_v5", VCPUs: 2, Family: "standardDSv5Family",
	}); err != nil {
		return err
	}
	nic := group + "Microsoft.Network/networkInterfaces/server-nic"
	var made struct {
		Properties struct {
			IPConfigurations []struct {
				Properties struct{ PrivateIPAddress string }
			}
		}
	}
	if err := s.ask(ctx, "PUT", nic+version, `{"location":"westeurope","properties":{"ipConfigurations":[{"name":"one","properties":{"subnet":{"id":"/subnets/one"}}}]}}`, &made); err != nil {
		return err
	}
	address := made.Properties.IPConfigurations[0].Properties.PrivateIPAddress
	s.routes(address)
	data := base64.StdEncoding.EncodeToString([]byte(strings.NewReplacer("ADDRESS", address, "TOKEN", token, "VERSION", o.version).Replace(serverData)))
	vm := group + "Microsoft.Compute/virtualMachines/server"
	if err := s.ask(ctx, "PUT", vm+version, fmt.Sprintf(`{"location":"westeurope","properties":{"hardwareProfile":{"vmSize":"Standard_D2s_v5"},
		"osProfile":{"computerName":"server","adminUsername":"sluice","customData":%q},
		"storageProfile":{"osDisk":{"createOption":"FromImage","deleteOption":"Delete"}},"networkProfile":{"networkInterfaces":[{"id":%q}]}}}`, data, nic), nil); err != nil {
		return err
	}
	s.step("Azure has made the server, at %s", address)
	if err := s.said(ctx, vm, "STORY: the machine has booted"); err != nil {
		return err
	}
	s.step("the server has booted, by cloud-init")
	if err := s.said(ctx, vm, "STORY: kubeadm init has ended"); err != nil {
		return err
	}
	s.step("kubeadm init has ended")
	config, err := s.host.ReadFile(vm, "etc/kubernetes/admin.conf")
	if err != nil {
		return err
	}
	rest, err := clientcmd.RESTConfigFromKubeConfig(config)
	if err != nil {
		return err
	}
	rest.Dial, rest.QPS, rest.Burst = s.host.Dial, 100, 100
	if s.kube, err = kubernetes.NewForConfig(rest); err != nil {
		return err
	}
	if err := s.ready(ctx, "server", corev1.ConditionTrue); err != nil {
		return err
	}
	s.step("the server is a Ready node")

	data = base64.StdEncoding.EncodeToString([]byte(strings.NewReplacer("ADDRESS", address, "TOKEN", token).Replace(agentData)))
	return s.ask(ctx, "PATCH", setPath+version, fmt.Sprintf(`{"properties":{"virtualMachineProfile":{"osProfile":{"computerNamePrefix":"agent","customData":%q}}}}`, data), nil)
}

// routes is the route table of the machines' network: each machine has the pods of its own number.
func (s *story) routes(first string) {
	a := netip.MustParseAddr(first)
	for range 3 {
		n := a.As4()[3]
		if err := s.host.Route(netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 244, n, 0}), 24), a); err != nil {
			s.say("route to the pods of %s: %v", a, err)
		}
		a = a.Next()
	}
}

// ready waits until a node's condition Ready is this.
func (s *story) ready(ctx context.Context, name string, want corev1.ConditionStatus) error {
	return until(ctx, fmt.Sprintf("node %s to be Ready=%s", name, want), func() (bool, error) {
		node, err := s.kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && (c.Status == want || want != corev1.ConditionTrue && c.Status != corev1.ConditionTrue) {
				return true, nil
			}
		}
		return false, nil
	})
}

func (s *story) agents(ctx context.Context, _ options) error {
	if err := s.ask(ctx, "PATCH", setPath+version, `{"sku":{"name":"Standard_D2s_v5","capacity":2}}`, nil); err != nil {
		return err
	}
	s.step("Azure makes two agents")
	for _, name := range []string{"agent000000", "agent000001"} {
		if err := s.ready(ctx, name, corev1.ConditionTrue); err != nil {
			return err
		}
		s.step("%s is a Ready node", name)
	}
	return nil
}

func (s *story) pods(ctx context.Context, _ options) error {
	labels := map[string]string{"app": "hello"}
	replicas := int32(2)
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "hello"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
						MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: labels},
					}},
					Containers: []corev1.Container{{
						Name: "hello", Image: "sluice.dev/boot/pause:1", ImagePullPolicy: corev1.PullNever, Command: []string{"pause", ":8080"},
						ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(8080)}}},
					}},
				},
			},
		},
	}
	if _, err := s.kube.AppsV1().Deployments("default").Create(ctx, deployment, metav1.CreateOptions{}); err != nil {
		return err
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "hello"},
		Spec:       corev1.ServiceSpec{Selector: labels, Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080), NodePort: 30080}}},
	}
	if _, err := s.kube.CoreV1().Services("default").Create(ctx, service, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := until(ctx, "two Ready pods", func() (bool, error) {
		d, err := s.kube.AppsV1().Deployments("default").Get(ctx, "hello", metav1.GetOptions{})
		return err == nil && d.Status.ReadyReplicas == replicas, err
	}); err != nil {
		return err
	}
	s.step("a Deployment of two is Ready")
	// A node port goes through kube-proxy of that machine, and to the pod of either.
	client := http.Client{Transport: &http.Transport{DialContext: s.host.Dial, DisableKeepAlives: true}, Timeout: 2 * time.Second}
	heard := map[string]bool{}
	if err := until(ctx, "both pods to answer at a node port", func() (bool, error) {
		server := s.azure.Machines()[0]
		resp, err := client.Get("http://" + server.PrivateIP + ":30080/")
		if err != nil {
			return false, err
		}
		defer resp.Body.Close()
		name, err := io.ReadAll(resp.Body)
		heard[string(name)] = true
		return len(heard) == 2, err
	}); err != nil {
		return err
	}
	s.step("both pods answer through the Service")
	pods, err := s.kube.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, p := range pods.Items {
		if _, err := s.kube.CoreV1().Pods("default").GetLogs(p.Name, &corev1.PodLogOptions{}).DoRaw(ctx); err != nil {
			return fmt.Errorf("the log of %s on %s: %w", p.Name, p.Spec.NodeName, err)
		}
	}
	return nil
}

func (s *story) diagnostics(ctx context.Context, _ options) error {
	var uris struct{ SerialConsoleLogBlobURI string }
	if err := s.ask(ctx, "POST", setPath+"/virtualMachines/0/retrieveBootDiagnosticsData"+version, "", &uris); err != nil {
		return err
	}
	resp, err := s.azure.Client("").Get(uris.SerialConsoleLogBlobURI)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if !strings.Contains(string(text), "Datasource DataSourceAzure") || !strings.Contains(string(text), "STORY: kubeadm join has ended") {
		return fmt.Errorf("boot diagnostics do not show this boot:\n%s", text)
	}
	s.step("boot diagnostics show the agent's boot: %d lines", strings.Count(string(text), "\n"))
	return nil
}

func (s *story) powerOff(ctx context.Context, _ options) error {
	if err := s.ask(ctx, "POST", setPath+"/virtualMachines/0/powerOff"+version, "", nil); err != nil {
		return err
	}
	if err := until(ctx, "the machine to be off", func() (bool, error) { return !s.host.Running(setPath + "/virtualMachines/0"), nil }); err != nil {
		return err
	}
	s.step("agents_0 is off")
	if err := s.ready(ctx, "agent000000", corev1.ConditionUnknown); err != nil {
		return err
	}
	s.step("agent000000 is NotReady")
	if err := s.ask(ctx, "POST", setPath+"/virtualMachines/0/start"+version, "", nil); err != nil {
		return err
	}
	if err := s.ready(ctx, "agent000000", corev1.ConditionTrue); err != nil {
		return err
	}
	s.step("started again, from its own disk, it is Ready")
	return nil
}

func (s *story) remove(ctx context.Context, _ options) error {
	if err := s.ask(ctx, "DELETE", setPath+"/virtualMachines/1"+version, "", nil); err != nil {
		return err
	}
	if err := until(ctx, "the machine to be gone", func() (bool, error) {
		_, there := s.host.Console(setPath + "/virtualMachines/1")
		return !there, nil
	}); err != nil {
		return err
	}
	s.step("agents_1 is deleted, with its disk")
	return nil
}
