package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"sluice.dev/sluice/deploy"
	"sluice.dev/sluice/internal/clusterfile"
)

// manifests are what the server applies once its API server answers.
func manifests(f *clusterfile.File) ([]machineFile, error) {
	deployment, err := sluiceDeployment(f)
	if err != nil {
		return nil, err
	}
	files := []machineFile{
		{"/etc/sluice/manifests/rbac.yaml", "0644", string(deploy.RBAC)},
		{"/etc/sluice/manifests/join.yaml", "0644", string(deploy.Join)},
		{"/etc/sluice/manifests/sluice.yaml", "0644", deployment},
		{"/etc/sluice/manifests/service.yaml", "0644", string(deploy.Service)},
	}
	if f.Addons.CloudProvider {
		text := strings.NewReplacer("@@cloudProvider@@", providerRelease, "@@cluster@@", f.Name, "@@pods@@", f.Network.Pods).Replace(embedded("cloud-provider.yaml"))
		for name, by := range f.Images {
			text = strings.ReplaceAll(text, "image: "+name+"\n", "image: "+by+"\n")
		}
		files = append(files, machineFile{"/etc/sluice/manifests/cloud-provider.yaml", "0644", text})
	}
	return files, nil
}

// sluiceDeployment is deploy/deployment.yaml for this cluster: one replica, since there is one server and the door has one port there. It is in the
// server's own network: the door looks at the address that a machine comes from, and machines join before the pods have a network. Without the
// key it opens no door, and acts all the same. The door is told no pools: the server is told all this once, and pools come later.
func sluiceDeployment(f *clusterfile.File) (string, error) {
	var d map[string]any
	if err := yaml.Unmarshal(deploy.Deployment, &d); err != nil {
		return "", fmt.Errorf("read deploy/deployment.yaml: %w", err)
	}
	spec := d["spec"].(map[string]any)
	spec["replicas"] = 1
	spec["strategy"] = map[string]any{"type": "Recreate"}
	pod := spec["template"].(map[string]any)["spec"].(map[string]any)
	delete(pod["affinity"].(map[string]any), "podAntiAffinity")
	for _, key := range []string{"node.cloudprovider.kubernetes.io/uninitialized", "node.kubernetes.io/not-ready"} {
		pod["tolerations"] = append(pod["tolerations"].([]any), map[string]any{"key": key, "operator": "Exists"})
	}
	pod["hostNetwork"], pod["dnsPolicy"] = true, "Default"
	pod["volumes"] = []any{map[string]any{"name": "join", "secret": map[string]any{"secretName": JoinSecret, "optional": true}}}
	c := pod["containers"].([]any)[0].(map[string]any)
	c["image"] = pinned(f, f.Sluice.Image)
	arguments := []any{
		"run", "--address=:8085", "--leader-elect=true",
		"--node-group-auto-discovery=label:" + tagEnabled + "=true," + tagCluster + "=" + f.Name,
		fmt.Sprintf("--join-address=:%d", clusterfile.JoinPort),
		fmt.Sprintf("--join-server=https://%s:%d", f.Server.Address, clusterfile.APIPort),
		"--join-distribution=" + f.Distribution.Kind,
	}
	for _, name := range slices.Sorted(maps.Keys(f.Sluice.Settings)) {
		arguments = append(arguments, "--"+name+"="+f.Sluice.Settings[name])
	}
	c["args"] = arguments
	for _, port := range c["ports"].([]any) { // in the host's network both are the same
		port.(map[string]any)["hostPort"] = port.(map[string]any)["containerPort"]
	}
	c["ports"] = append(c["ports"].([]any), map[string]any{"name": "join", "containerPort": clusterfile.JoinPort, "hostPort": clusterfile.JoinPort})
	c["volumeMounts"] = []any{map[string]any{"name": "join", "mountPath": "/etc/sluice/join", "readOnly": true}}
	if f.Identity.Kind == clusterfile.UserAssigned {
		c["env"] = []any{
			map[string]any{"name": "ARM_USE_MANAGED_IDENTITY_EXTENSION", "value": "true"},
			map[string]any{"name": "ARM_USER_ASSIGNED_IDENTITY_ID", "value": "@@clientId@@"},
		}
	}
	text, err := yaml.Marshal(d)
	if err != nil {
		return "", fmt.Errorf("write the Deployment of sluice: %w", err)
	}
	return string(text), nil
}

// azureJSON is the configuration of the cloud controller and of the drivers. Load balancers hold the addresses of nodes: so they write into no model of a
// scale set, which is sluice's to change.
func azureJSON(f *clusterfile.File) string {
	client := ""
	if f.Identity.Kind == clusterfile.UserAssigned {
		client = "@@clientId@@"
	}
	network, group, subnet := f.Name, f.ResourceGroup, "machines"
	if f.Network.SubnetID != "" {
		parts := strings.Split(f.Network.SubnetID, "/")
		group, network, subnet = parts[4], parts[8], parts[10]
	}
	return string(object{
		{"cloud", "AzurePublicCloud"}, {"tenantId", "@@tenantId@@"}, {"subscriptionId", "@@subscriptionId@@"},
		{"resourceGroup", f.ResourceGroup}, {"location", f.Region}, {"vmType", "vmss"},
		{"vnetName", network}, {"vnetResourceGroup", group}, {"subnetName", subnet},
		{"securityGroupName", f.Name + "-nodes"}, {"securityGroupResourceGroup", f.ResourceGroup},
		{"useManagedIdentityExtension", true}, {"userAssignedIdentityID", client}, {"useInstanceMetadata", true},
		{"loadBalancerSku", "standard"}, {"loadBalancerBackendPoolConfigurationType", "nodeIP"}, {"enableVmssFlexNodes", true},
		{"disableAvailabilitySetNodes", false},
	}.bytes())
}
