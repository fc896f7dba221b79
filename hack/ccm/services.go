package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/cloud-provider-azure/pkg/provider"
)

const (
	cluster  = "farm"
	networks = "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/render/providers/Microsoft.Network/"
)

// loaded is a provider that makes load balancers with pools of this kind, for a cluster that has these Services.
func (b *bench) loaded(ctx context.Context, pools string, has ...runtime.Object) (*provider.Cloud, error) {
	raw, err := os.ReadFile(filepath.Join(b.dir, "azure.json"))
	if err != nil {
		return nil, err
	}
	config := map[string]any{}
	if err := json.Unmarshal(raw, &config); err != nil {
		return nil, err
	}
	config["loadBalancerSku"], config["loadBalancerBackendPoolConfigurationType"] = "standard", pools
	config["vnetName"], config["subnetName"], config["securityGroupName"] = cluster, "machines", "nodes"
	config["vnetResourceGroup"] = group
	if raw, err = json.Marshal(config); err != nil {
		return nil, err
	}
	file := filepath.Join(b.dir, pools+".json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return nil, err
	}
	made, err := provider.NewCloudFromConfigFile(ctx, nil, file, true)
	if err != nil {
		return nil, err
	}
	c := made.(*provider.Cloud)
	c.KubeClient = fake.NewClientset(has...)
	shared := informers.NewSharedInformerFactory(c.KubeClient, 0)
	c.SetInformers(shared)
	shared.Start(ctx.Done())
	shared.WaitForCacheSync(ctx.Done())
	return c, nil
}

func service(name string, port int32) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name[len(name)-1:] + "0000000-0000-0000-0000-000000000000")},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, SessionAffinity: corev1.ServiceAffinityNone, ClusterIP: "10.43.0.10", ClusterIPs: []string{"10.43.0.10"},
			IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyCluster,
			Ports: []corev1.ServicePort{{Name: "web", Protocol: corev1.ProtocolTCP, Port: port, TargetPort: intstr.FromInt32(port), NodePort: 30000 + port}},
		},
	}
}

// addressed is a node with the address that the cloud says it has.
func addressed(ctx context.Context, c *provider.Cloud, n *corev1.Node) (*corev1.Node, error) {
	m, err := c.InstanceMetadata(ctx, n)
	if err != nil {
		return nil, err
	}
	n.Status.Addresses = m.NodeAddresses
	return n, nil
}

// services has Services of type LoadBalancer come, change and go, over pools of both kinds.
func (b *bench) services(ctx context.Context) {
	c, err := b.cloud(ctx)
	if err != nil {
		b.check("signs in again", nil, err, nil)
		return
	}
	location, prefix := "westeurope", "10.0.0.0/8"
	_, err = c.NetworkClientFactory.GetSecurityGroupClient().CreateOrUpdate(ctx, group, "nodes", armnetwork.SecurityGroup{Location: &location, Properties: &armnetwork.SecurityGroupPropertiesFormat{}})
	b.check("a security group is made", nil, err, nil)
	subnet := "machines"
	_, err = c.NetworkClientFactory.GetVirtualNetworkClient().CreateOrUpdate(ctx, group, cluster, armnetwork.VirtualNetwork{Location: &location, Properties: &armnetwork.VirtualNetworkPropertiesFormat{
		AddressSpace: &armnetwork.AddressSpace{AddressPrefixes: []*string{&prefix}},
		Subnets:      []*armnetwork.Subnet{{Name: &subnet, Properties: &armnetwork.SubnetPropertiesFormat{AddressPrefix: &prefix}}},
	}})
	b.check("a network is made", nil, err, nil)
	for _, pools := range []string{"nodeIP", "nodeIPConfiguration"} {
		b.balance(ctx, pools)
	}
}

func (b *bench) balance(ctx context.Context, pools string) {
	say := func(what string) string { return pools + ": " + what }
	one, two := service("service-1", 80), service("service-2", 81)
	c, err := b.loaded(ctx, pools, one, two)
	if err != nil {
		b.check(say("signs in with a network"), nil, err, nil)
		return
	}
	var nodes []*corev1.Node
	for _, n := range []int{3, 4} {
		known, err := addressed(ctx, c, agent(n))
		if err != nil {
			b.check(say("a node has its addresses"), nil, err, nil)
			return
		}
		nodes = append(nodes, known)
	}
	members := func() (all []string, frontends, rules int, err error) {
		balancers, err := c.NetworkClientFactory.GetLoadBalancerClient().List(ctx, group)
		for _, lb := range balancers {
			frontends, rules = frontends+len(lb.Properties.FrontendIPConfigurations), rules+len(lb.Properties.LoadBalancingRules)
			for _, p := range lb.Properties.BackendAddressPools {
				for _, m := range p.Properties.BackendIPConfigurations {
					all = append(all, (*m.ID)[strings.LastIndex(*m.ID, "/virtualMachines/"):])
				}
				for _, m := range p.Properties.LoadBalancerBackendAddresses {
					all = append(all, *m.Properties.IPAddress)
				}
			}
		}
		return all, frontends, rules, err
	}
	hold := func(what string, wantMembers, wantFrontends, wantRules, wantAddresses int) {
		all, frontends, rules, err := members()
		b.check(say(what), fmt.Sprintf("%d members, %d frontends, %d rules", wantMembers, wantFrontends, wantRules), fmt.Sprintf("%d members, %d frontends, %d rules", len(all), frontends, rules), err)
		addresses, err := c.NetworkClientFactory.GetPublicIPAddressClient().List(ctx, group)
		b.check(say(what+", by its addresses"), wantAddresses, len(addresses), err)
	}
	status, err := c.EnsureLoadBalancer(ctx, cluster, one, nodes)
	b.check(say("a Service gets a load balancer"), nil, err, nil)
	if err != nil {
		return
	}
	b.check(say("and a public address"), true, len(status.Ingress) == 1 && strings.HasPrefix(status.Ingress[0].IP, "203.0.113."), nil)
	hold("both nodes are in its pool", 2, 1, 1, 1)
	rules, err := c.NetworkClientFactory.GetSecurityGroupClient().Get(ctx, group, "nodes")
	open := err == nil && rules.Properties != nil && len(rules.Properties.SecurityRules) > 0
	b.check(say("the security group lets it in"), true, open, err)
	again, err := c.EnsureLoadBalancer(ctx, cluster, one, nodes)
	b.check(say("once more changes nothing"), status, again, err)
	other, err := c.EnsureLoadBalancer(ctx, cluster, two, nodes)
	b.check(say("a second Service has an address of its own"), true, err == nil && len(other.Ingress) == 1 && other.Ingress[0].IP != status.Ingress[0].IP, err)
	hold("both share the load balancer", 2, 2, 2, 2)
	b.check(say("a node goes"), nil, c.UpdateLoadBalancer(ctx, cluster, one, nodes[:1]), nil)
	if pools == "nodeIP" { // the other kind waits for the machine itself to go
		hold("it is in the pool no more", 1, 2, 2, 2)
	}
	b.check(say("the first Service goes"), nil, c.EnsureLoadBalancerDeleted(ctx, cluster, one), nil)
	_, frontends, left, err := members()
	b.check(say("what the other has stays"), "1 frontends, 1 rules", fmt.Sprintf("%d frontends, %d rules", frontends, left), err)
	b.check(say("the second goes"), nil, c.EnsureLoadBalancerDeleted(ctx, cluster, two), nil)
	hold("nothing is left", 0, 0, 0, 0)
}
