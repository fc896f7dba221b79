package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	compute    = "/subscriptions/" + subscription + "/resourceGroups/render/providers/Microsoft.Compute/"
	network    = "/subscriptions/" + subscription + "/resourceGroups/render/providers/Microsoft.Network/"
	version    = "?api-version=2024-07-01"
	serverID   = compute + "virtualMachines/render-server"
	publicPath = network + "publicIPAddresses/render-server" + version
	private    = "10.0.0.4" // the server's

	// The pools: one of a uniform scale set and one of a flexible set, whose machines are virtual machines with names by chance.
	uniform  = "agents"
	flexible = "loose"

	machineImage = "/subscriptions/" + subscription + "/resourceGroups/images/providers/Microsoft.Compute/images/kubernetes"
)

var pools = []string{uniform, flexible}

func (s *story) play(ctx context.Context, o options) error {
	for _, part := range []func(context.Context, options) error{
		s.file, s.up, s.agents, s.pods, s.logs, s.burst, s.idle, s.diagnostics, s.restart, s.gone, s.end,
	} {
		if err := part(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// file has the operator write the cluster file.
func (s *story) file(ctx context.Context, o options) error {
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHNhbXBsZXNhbXBsZXNhbXBsZXNhbXBsZXNhbXBsZXNh operator\n"
	if err := os.WriteFile(filepath.Join(s.operator.dir, "key.pub"), []byte(key), 0o600); err != nil {
		return err
	}
	if _, err := s.operator.run(ctx, "sluice", "cluster", "init", "--name=render", "--region=westeurope", "--distribution=kubeadm", "--allow-from=198.51.100.0/24",
		"--ssh-public-key=key.pub", "--image="+sluiceImage); err != nil {
		return err
	}
	file, err := os.ReadFile(filepath.Join(s.operator.dir, "cluster.yaml"))
	if err != nil {
		return err
	}
	rest := string(file[strings.Index(string(file), "pools:"):])
	if err := s.operator.edit("cluster.yaml",
		[2]string{"# image: Canonical:ubuntu-24_04-lts:server:latest", "image: " + machineImage},
		[2]string{"  # install: download              # or image: the image has the binaries", "  install: image\n  cni: none"},
		[2]string{"10.10.0.0/16", "10.0.0.0/16"}, [2]string{"10.10.0.0/20", "10.0.0.0/20"},
		[2]string{"# storage:                         # what outlives the cluster", "storage: {resourceGroup: render-storage, disks: [{name: assets, sizeGiB: 512}]}"},
		[2]string{"azureDisk: true", "azureDisk: false"},
		[2]string{"dataDiskGiB: 64 ", "dataDiskGiB: 8 "},
		[2]string{rest, `pools:
  - {name: agents, size: Standard_D2s_v5, min: 1, max: 2, labels: {pool: agents}}
  - {name: loose, size: Standard_D2s_v5, min: 1, max: 2, orchestration: flexible, zones: ["1"], labels: {pool: loose}}

sluice:
  image: ` + sluiceImage + `
  settings: # of a farm that changes within minutes
    scan-interval: 2s
    scale-down-unneeded-time: 8s
    scale-down-delay-after-add: 5s
    node-delete-delay-after-taint: 1s
    load-balancer-exclusion-delay: 0s
    attest-certificates: ` + rootsFile + `
`},
	); err != nil {
		return err
	}
	if err := s.cloud(ctx, o); err != nil {
		return err
	}
	s.step("the operator has written cluster.yaml")
	return nil
}

// up makes the cluster, waits for it and fetches its kubeconfig.
func (s *story) up(ctx context.Context, _ options) error {
	s.routes()
	go func() {
		if err := s.forward(publicPath, private, 6443); err != nil && s.life.Err() == nil {
			s.say("the public address: %v", err)
		}
	}()
	if _, err := s.operator.run(ctx, "sluice", "cluster", "up", "--yes"); err != nil {
		return err
	}
	s.step("the cluster is there: a control plane, an agent in each of two pools, and the operator's kubeconfig")
	rest, err := clientcmd.BuildConfigFromFlags("", filepath.Join(s.operator.dir, "render.kubeconfig"))
	if err != nil {
		return err
	}
	rest.Dial, rest.QPS, rest.Burst = s.host.Dial, 100, 100
	s.kube, err = kubernetes.NewForConfig(rest)
	return err
}

// routes is the route table of the machines' network: each machine has the pods of its own number.
func (s *story) routes() {
	a := netip.MustParseAddr(private)
	for range 12 {
		n := a.As4()[3]
		if err := s.host.Route(netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 42, n, 0}), 24), a); err != nil {
			s.say("route to the pods of %s: %v", a, err)
		}
		a = a.Next()
	}
}

// secrets are what no custom data may hold: private keys, and bootstrap tokens of any kind.
var secrets = regexp.MustCompile(`PRIVATE KEY|\b[a-z0-9]{6}\.[a-z0-9]{16}\b|K10[0-9a-f]{64}::`)

// agents waits for the machines that the pools have from the beginning.
func (s *story) agents(ctx context.Context, _ options) error {
	s.first = map[string]machine{}
	for _, pool := range pools {
		all := s.machines(pool)
		if len(all) != 1 {
			return fmt.Errorf("pool %s has %d machines, and its min is 1", pool, len(all))
		}
		s.first[pool] = all[0]
		if err := s.ready(ctx, all[0].node, corev1.ConditionTrue); err != nil {
			return err
		}
		s.step("%s is a Ready node", all[0].node)
		if err := s.known(ctx, pool, all[0]); err != nil {
			return err
		}
	}
	for _, m := range s.azure.Machines() {
		p, _ := s.azure.Provision(m.ID)
		if found := secrets.Find(p.CustomData); found != nil || len(p.CustomData) == 0 {
			return fmt.Errorf("%s boots with %d bytes of custom data, and a secret is in them: %q", m.Name, len(p.CustomData), found)
		}
	}
	s.step("no machine has a secret in its custom data")
	if err := until(ctx, "CoreDNS to be Ready", func() (bool, error) {
		d, err := s.kube.AppsV1().Deployments("kube-system").Get(ctx, "coredns", metav1.GetOptions{})
		return err == nil && d.Status.ReadyReplicas == *d.Spec.Replicas, err
	}); err != nil {
		return err
	}
	s.step("CoreDNS is Ready")
	_, err := s.operator.run(ctx, "kubectl", "get", "nodes,pods", "-A", "-o", "wide")
	return err
}

// known holds that a node is known by its machine's id and by what its machine is.
func (s *story) known(ctx context.Context, pool string, m machine) error {
	var node *corev1.Node
	if err := until(ctx, "node "+m.node+" to be initialized", func() (found bool, err error) {
		if node, err = s.kube.CoreV1().Nodes().Get(ctx, m.node, metav1.GetOptions{}); err != nil {
			return false, err
		}
		return !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
			return t.Key == "node.cloudprovider.kubernetes.io/uninitialized"
		}), nil
	}); err != nil {
		return err
	}
	if want := "azure://" + m.id; !strings.EqualFold(node.Spec.ProviderID, want) {
		return fmt.Errorf("node %s has the provider id %s, and its machine is %s", m.node, node.Spec.ProviderID, want)
	}
	zone := map[string]string{uniform: "0", flexible: "westeurope-1"}[pool] // in no zone it is the fault domain
	for label, want := range map[string]string{
		"pool": pool, corev1.LabelInstanceTypeStable: "Standard_D2s_v5", corev1.LabelTopologyRegion: "westeurope", corev1.LabelTopologyZone: zone,
	} {
		if is := node.Labels[label]; is != want {
			return fmt.Errorf("node %s has the label %s=%s, want %s", m.node, label, is, want)
		}
	}
	s.step("%s is known by its machine's id, with size, region and zone", m.node)
	return nil
}

// pods runs a Deployment and reaches it through its Service.
func (s *story) pods(ctx context.Context, o options) error {
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
						Name: "hello", Image: s.pause, ImagePullPolicy: corev1.PullNever, Args: []string{"serve", ":8080"},
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
	if o.cloudProvider != "" {
		service.Spec.Type = corev1.ServiceTypeLoadBalancer
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
		resp, err := client.Get("http://" + private + ":30080/")
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
	if o.cloudProvider == "" {
		return nil
	}
	if err := until(ctx, "the cloud controller's load balancer", func() (bool, error) {
		service, err := s.kube.CoreV1().Services("default").Get(ctx, "hello", metav1.GetOptions{})
		return err == nil && len(service.Status.LoadBalancer.Ingress) > 0, err
	}); err != nil {
		return err
	}
	s.step("the cloud controller has made a load balancer")
	return nil
}

// logs reads what the pods wrote.
func (s *story) logs(ctx context.Context, _ options) error {
	pods, err := s.kube.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=hello"})
	if err != nil {
		return err
	}
	for _, p := range pods.Items { // by a certificate of the kubelet's that the door approves after the machine has joined
		if err := until(ctx, fmt.Sprintf("the log of %s on %s", p.Name, p.Spec.NodeName), func() (bool, error) {
			_, err := s.kube.CoreV1().Pods("default").GetLogs(p.Name, &corev1.PodLogOptions{}).DoRaw(ctx)
			return err == nil, err
		}); err != nil {
			return err
		}
	}
	s.step("both pods' logs are read")
	return nil
}

// diagnostics reads the agents' boots where their operator would.
func (s *story) diagnostics(ctx context.Context, _ options) error {
	for _, pool := range pools {
		m := s.first[pool]
		var uris struct{ SerialConsoleLogBlobURI string }
		if err := s.ask(ctx, http.MethodPost, m.id+"/retrieveBootDiagnosticsData"+version, &uris); err != nil {
			return err
		}
		resp, err := s.azure.Client("").Get(uris.SerialConsoleLogBlobURI)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			return err
		}
		for _, line := range []string{"Datasource DataSourceAzure", "sluice-join: admitted as node " + m.node} {
			if !strings.Contains(string(text), line) {
				return fmt.Errorf("boot diagnostics have no %q:\n%s", line, text)
			}
		}
		s.step("boot diagnostics show the boot of %s: %d lines", m.node, strings.Count(string(text), "\n"))
	}
	return nil
}

// restart switches the agents off and on: they come back from their own disks as the nodes that they were.
func (s *story) restart(ctx context.Context, _ options) error {
	before := map[string]*corev1.Node{}
	for _, pool := range pools {
		node, err := s.kube.CoreV1().Nodes().Get(ctx, s.first[pool].node, metav1.GetOptions{})
		if err != nil {
			return err
		}
		before[pool] = node
		if err := s.ask(ctx, http.MethodPost, s.first[pool].id+"/powerOff"+version, nil); err != nil {
			return err
		}
	}
	for _, pool := range pools {
		id := s.first[pool].id
		if err := until(ctx, "the machine to be off", func() (bool, error) { return !s.host.Running(id), nil }); err != nil {
			return err
		}
		if err := s.ask(ctx, http.MethodPost, id+"/start"+version, nil); err != nil {
			return err
		}
	}
	for _, pool := range pools {
		name := s.first[pool].node
		if err := until(ctx, "the node of another boot", func() (bool, error) {
			node, err := s.kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
			return err == nil && node.UID == before[pool].UID && node.Status.NodeInfo.BootID != before[pool].Status.NodeInfo.BootID, err
		}); err != nil {
			return err
		}
		if err := s.ready(ctx, name, corev1.ConditionTrue); err != nil {
			return err
		}
		s.step("switched off and on, %s is Ready again, from its own disk", name)
	}
	return nil
}

// burst asks of each pool for more than one machine has, and waits until that is done.
func (s *story) burst(ctx context.Context, _ options) error {
	two := int32(2)
	for _, pool := range pools {
		job := &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Name: "frames-" + pool},
			Spec: batchv1.JobSpec{
				Parallelism: &two, Completions: &two,
				Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever, NodeSelector: map[string]string{"pool": pool},
					Containers: []corev1.Container{{
						Name: "frame", Image: s.pause, ImagePullPolicy: corev1.PullNever, Args: []string{"sleep", "10s"},
						Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m")}},
					}},
				}},
			},
		}
		if _, err := s.kube.BatchV1().Jobs("default").Create(ctx, job, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	s.step("a Job for each pool wants two machines of it")
	s.second = map[string]machine{}
	for _, pool := range pools {
		if err := until(ctx, "a second machine of pool "+pool, func() (bool, error) {
			for _, m := range s.machines(pool) {
				if m != s.first[pool] {
					s.second[pool] = m
				}
			}
			return len(s.machines(pool)) == 2, nil
		}); err != nil {
			return err
		}
	}
	s.step("sluice has grown both scale sets to two")
	for _, pool := range pools {
		if err := s.ready(ctx, s.second[pool].node, corev1.ConditionTrue); err != nil {
			return err
		}
		s.step("%s is a Ready node", s.second[pool].node)
	}
	for _, pool := range pools {
		if err := until(ctx, "the Job to end", func() (bool, error) {
			j, err := s.kube.BatchV1().Jobs("default").Get(ctx, "frames-"+pool, metav1.GetOptions{})
			return err == nil && j.Status.Succeeded == two, err
		}); err != nil {
			return err
		}
	}
	s.step("the Jobs have ended")
	return nil
}

// machine is one of a pool.
type machine struct{ id, node string }

// machines are those of a pool.
func (s *story) machines(pool string) (all []machine) {
	for _, m := range s.azure.Machines() {
		if m.ScaleSet == "render-"+pool {
			all = append(all, machine{m.ID, strings.ToLower(m.ComputerName)})
		}
	}
	return all
}

// idle waits until sluice has removed the machines that nothing needs, and no others.
func (s *story) idle(ctx context.Context, _ options) error {
	for _, pool := range pools {
		gone := s.second[pool]
		if err := until(ctx, "machine "+gone.node+" to go", func() (bool, error) { return len(s.machines(pool)) < 2, nil }); err != nil {
			return err
		}
		if left := s.machines(pool); len(left) != 1 || left[0] != s.first[pool] {
			return fmt.Errorf("sluice has left the machines %v", left)
		}
		s.step("sluice has removed %s and no other", gone.node)
		if err := until(ctx, "the machine's disk to go", func() (bool, error) {
			_, there := s.host.Console(gone.id)
			return !there, nil
		}); err != nil {
			return err
		}
		if _, err := s.operator.run(ctx, "sluice", "explain", "node", gone.node); err != nil {
			return err
		}
	}
	return nil
}

// gone waits until sluice has removed the Nodes as well, which it does once it is sure that the machines are gone.
func (s *story) gone(ctx context.Context, _ options) error {
	for _, pool := range pools {
		if err := until(ctx, "the Node to go", func() (bool, error) {
			_, err := s.kube.CoreV1().Nodes().Get(ctx, s.second[pool].node, metav1.GetOptions{})
			return apierrors.IsNotFound(err), err
		}); err != nil {
			return err
		}
	}
	s.step("their Nodes are gone")
	return nil
}

// end takes the cluster down.
func (s *story) end(ctx context.Context, o options) error {
	if _, err := s.operator.run(ctx, "sluice", "cluster", "diff"); err != nil {
		return err
	}
	s.step("nothing differs from the file")
	if _, err := s.operator.run(ctx, "sluice", "cluster", "down", "--yes"); err != nil {
		return err
	}
	left, err := s.groups(ctx)
	if err != nil {
		return err
	}
	given, rightsGiven := []string{}, 1 // the operator's
	if o.cloudProvider != "" {
		given, rightsGiven = []string{"userAssignedIdentities render"}, 2
	}
	if want := map[string][]string{"images": given, "render-storage": {"disks assets"}}; !maps.EqualFunc(left, want, slices.Equal) {
		return fmt.Errorf("down has left %v, and not %v", left, want)
	}
	var rights struct {
		Value []struct{ ID string }
	}
	if err := s.ask(ctx, http.MethodGet, "/subscriptions/"+subscription+"/providers/Microsoft.Authorization/roleAssignments?api-version=2022-04-01", &rights); err != nil {
		return err
	}
	if len(rights.Value) != rightsGiven {
		return fmt.Errorf("down has left the rights %v", rights.Value)
	}
	s.step("the cluster is down, and the storage is left")
	return nil
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
