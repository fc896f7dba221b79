// Command ccm drives cloud-provider-azure's own provider against azuresim, with the files that azuresim writes for it, and holds what it says against the
// simulated world. It contacts nothing but the simulator on loopback, and ends with 1 where something is not as it should be.
package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/cloud-provider-azure/pkg/provider"
)

//go:embed world.yaml
var world []byte

const group = "render"

func main() {
	klog.SetOutput(io.Discard)
	logging := flag.NewFlagSet("klog", flag.ExitOnError)
	klog.InitFlags(logging)
	_ = logging.Parse([]string{"--logtostderr=false", "--stderrthreshold=FATAL"})
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: ccm AZURESIM, the built program")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	wrong, err := run(ctx, os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "ccm-conformance:", err)
		wrong++
	}
	if wrong > 0 {
		os.Exit(1)
	}
}

// bench is a running azuresim and what was found wrong.
type bench struct {
	dir, control  string
	checks, wrong int
}

func (b *bench) check(what string, want, got any, err error) {
	b.checks++
	if w, g := fmt.Sprint(want), fmt.Sprint(got); err != nil || w != g {
		b.wrong++
		fmt.Printf("  WRONG  %s\n         want %s\n         got  %s, %v\n", what, w, g, err)
		return
	}
	fmt.Printf("  ok     %s\n", what)
}

func run(ctx context.Context, program string) (wrong int, err error) {
	dir, err := os.MkdirTemp("", "ccm-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	b := &bench{dir: dir}
	stop, err := b.start(ctx, program)
	if err != nil {
		return 0, err
	}
	defer stop()
	b.instances(ctx)
	b.lifecycle(ctx)
	b.network(ctx)
	b.services(ctx)
	fmt.Printf("%d checks, %d wrong\n", b.checks, b.wrong)
	return b.wrong, nil
}

// start runs azuresim and points this process at it, by what it prints and writes.
func (b *bench) start(ctx context.Context, program string) (stop func(), err error) {
	file := filepath.Join(b.dir, "world.yaml")
	if err := os.WriteFile(file, world, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, "--world="+file, "--listen=127.0.0.1:0", "--control=127.0.0.1:0", "--dir="+b.dir)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() { _ = cmd.Process.Signal(os.Interrupt); _ = cmd.Wait() }
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		switch {
		case len(words) == 2 && words[0] == "control":
			b.control = words[1]
		case len(words) > 1 && words[0] == "export" && strings.Contains(lines.Text(), "AZURE_ENVIRONMENT_FILEPATH"):
			for _, w := range words[1:] {
				name, value, _ := strings.Cut(w, "=")
				os.Setenv(name, value)
			}
		case len(words) > 0 && words[0] == "Ctrl-C":
			go io.Copy(io.Discard, out) //nolint:errcheck // nobody reads the rest
			return stop, nil
		}
	}
	stop()
	return nil, errors.New("azuresim ended before it was up")
}

// cloud is a provider that remembers nothing.
func (b *bench) cloud(ctx context.Context) (*provider.Cloud, error) {
	made, err := provider.NewCloudFromConfigFile(ctx, nil, filepath.Join(b.dir, "azure.json"), true)
	if err != nil {
		return nil, err
	}
	return made.(*provider.Cloud), nil
}

func node(name, machine string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.NodeSpec{ProviderID: "azure:///subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/render/providers/Microsoft.Compute/" + machine},
	}
}

func agent(n int) *corev1.Node {
	return node(fmt.Sprintf("agents00000%d", n), fmt.Sprintf("virtualMachineScaleSets/agents/virtualMachines/%d", n))
}

// instances asks what the node controllers ask of every node.
func (b *bench) instances(ctx context.Context) {
	began := time.Now()
	c, err := b.cloud(ctx)
	b.check("signs in with the files as they are", true, c != nil, err)
	if c == nil {
		return
	}
	flexible, err := b.machine("flex")
	b.check("the flexible set has a machine", nil, err, nil)
	for want, n := range map[string]*corev1.Node{
		"Standard_D4s_v5 westeurope-2 westeurope": agent(0),
		"Standard_D2s_v5 westeurope-1 westeurope": node("server-0", "virtualMachines/server-0"),
		"Standard_D8s_v5 0 westeurope":            node(flexible.ComputerName, "virtualMachines/"+flexible.Name),
	} {
		exists, err := c.InstanceExists(ctx, n)
		b.check(n.Name+" exists", true, exists, err)
		m, err := c.InstanceMetadata(ctx, n)
		b.check(n.Name+" is described", want, strings.Join([]string{m.InstanceType, m.Zone, m.Region}, " "), err)
		b.check(n.Name+" has its name and its address", 2, len(m.NodeAddresses), err)
	}
	exists, err := c.InstanceExists(ctx, agent(9))
	b.check("a machine that never was does not exist", false, exists, err)
	b.check("all of it within 20 s", true, time.Since(began) < 20*time.Second, nil)
}

// machine is the first one whose name begins so, as the simulator sees it.
func (b *bench) machine(prefix string) (found struct{ Name, ComputerName, PowerState string }, err error) {
	machines := []struct{ Name, ComputerName, PowerState string }{}
	if err := b.get("/machines", &machines); err != nil {
		return found, err
	}
	for _, m := range machines {
		if strings.HasPrefix(m.Name, prefix) {
			return m, nil
		}
	}
	return found, errors.New("there is no machine " + prefix)
}

func (b *bench) get(path string, into any) error {
	r, err := http.Get("http://" + b.control + path)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	return json.NewDecoder(r.Body).Decode(into)
}

func (b *bench) act(act map[string]any) error {
	raw, err := json.Marshal(act)
	if err != nil {
		return err
	}
	r, err := http.Post("http://"+b.control+"/acts", "application/json", bytes.NewReader(raw))
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode >= http.StatusBadRequest {
		text, _ := io.ReadAll(r.Body)
		return errors.New(string(text))
	}
	return nil
}

// lifecycle has machines stop, go and come.
func (b *bench) lifecycle(ctx context.Context) {
	b.check("a machine is deallocated", nil, b.act(map[string]any{"do": "deallocate", "target": "agents_0"}), nil)
	for m, err := b.machine("agents_0"); err == nil && m.PowerState != "deallocated" && ctx.Err() == nil; m, err = b.machine("agents_0") {
		time.Sleep(time.Second)
	}
	c, err := b.cloud(ctx)
	if err != nil {
		b.check("signs in again", nil, err, nil)
		return
	}
	off, err := c.InstanceShutdown(ctx, agent(0))
	b.check("a deallocated machine is shut down", true, off, err)
	off, err = c.InstanceShutdown(ctx, agent(1))
	b.check("one that runs is not", false, off, err)

	var deletes sync.WaitGroup
	failed := make([]error, 2)
	machines := c.ComputeClientFactory.GetVirtualMachineScaleSetVMClient()
	for n := range failed {
		deletes.Go(func() { failed[n] = machines.Delete(ctx, group, "agents", fmt.Sprint(n+1)) })
		time.Sleep(time.Second)
	}
	deletes.Wait()
	b.check("two deletes, one for each machine, run beside each other", nil, errors.Join(failed...), nil)
	if c, err = b.cloud(ctx); err != nil {
		b.check("signs in again", nil, err, nil)
		return
	}
	for n, want := range map[int]bool{0: true, 1: false, 2: false, 3: true} {
		exists, err := c.InstanceExists(ctx, agent(n))
		b.check(fmt.Sprintf("of agent %d it is known whether it exists", n), want, exists, err)
	}
	b.check("the set grows", nil, b.act(map[string]any{"do": "set-capacity", "target": "agents", "capacity": 3}), nil)
	exists, err := c.InstanceExists(ctx, agent(4))
	b.check("the new machine is found by a provider that had not seen it", true, exists, err)
}

// network asks for what a cluster without a Service of type LoadBalancer has none of.
func (b *bench) network(ctx context.Context) {
	c, err := b.cloud(ctx)
	if err != nil {
		b.check("signs in again", nil, err, nil)
		return
	}
	balancers, err := c.NetworkClientFactory.GetLoadBalancerClient().List(ctx, group)
	b.check("there are no load balancers", 0, len(balancers), err)
	addresses, err := c.NetworkClientFactory.GetPublicIPAddressClient().List(ctx, group)
	b.check("there are no public addresses", 0, len(addresses), err)
	zones, err := c.ComputeClientFactory.GetProviderClient().GetVirtualMachineSupportedZones(ctx)
	b.check("the zones of the location are known", 3, len(zones["westeurope"]), err)
}
