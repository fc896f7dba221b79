package render

import (
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice.dev/sluice/internal/clusterfile"
)

// The files that machines get. The scripts have no words filled in: what differs from machine to machine is in /etc/sluice/machine.env.
//
//go:embed machine
var machine embed.FS

// joinScript is what a machine runs to be let in.
//
//go:embed join.py
var joinScript string

// Releases of what kubeadm's machines and the addons consist of. NB: none is newer than the oldest Kubernetes that a file may name allows.
const (
	containerdRelease = "2.2.3"
	runcRelease       = "1.4.3"
	pluginsRelease    = "1.9.1"
	flannelRelease    = "0.28.4"
	providerRelease   = "v1.34.1"
	diskRelease       = "v1.34.0"
	fileRelease       = "v1.34.0"

	sandboxImage = "registry.k8s.io/pause:3.10.1" // of that containerd
)

// machineFile is a file that cloud-init writes.
type machineFile struct {
	path, mode, text string
}

// embedded is one of the files of folder machine.
func embedded(name string) string {
	text, err := machine.ReadFile("machine/" + name)
	if err != nil {
		panic("render: " + err.Error()) // the files are part of the program
	}
	return string(text)
}

// word is one of /etc/sluice/machine.env, as a shell and systemd read it.
type word struct{ name, value string }

func environment(words []word) string {
	var b strings.Builder
	for _, w := range words {
		fmt.Fprintf(&b, "%s='%s'\n", w.name, strings.ReplaceAll(w.value, "'", `'\''`))
	}
	return b.String()
}

// commonWords are those of servers and agents.
func commonWords(f *clusterfile.File) []word {
	words := []word{
		{"DISTRIBUTION", f.Distribution.Kind}, {"VERSION", f.Distribution.Version}, {"INSTALL", f.Distribution.Install}, {"CNI", f.Distribution.CNI},
		{"MIRROR", f.Mirror}, {"SERVER", f.Server.Address}, {"PODS", f.Network.Pods}, {"SERVICES", f.Network.Services},
		{"CLOUD_PROVIDER", fmt.Sprint(f.Addons.CloudProvider)},
	}
	if f.Distribution.Kind == clusterfile.Kubeadm {
		words = append(words, word{"CONTAINERD", containerdRelease}, word{"RUNC", runcRelease}, word{"PLUGINS", pluginsRelease}, word{"FLANNEL", flannelRelease})
	}
	return words
}

// commonFiles are those of servers and agents.
func commonFiles(f *clusterfile.File) []machineFile {
	files := []machineFile{
		{"/usr/local/lib/sluice/common.sh", "0644", embedded("common.sh")},
		{"/usr/local/lib/sluice/" + f.Distribution.Kind + ".sh", "0644", embedded(f.Distribution.Kind + ".sh")},
		{"/usr/local/sbin/sluice-join", "0755", joinScript},
	}
	if f.Distribution.Kind == clusterfile.Kubeadm && f.Distribution.Install == clusterfile.Download {
		files = append(files,
			machineFile{"/etc/systemd/system/containerd.service", "0644", embedded("containerd.service")},
			machineFile{"/etc/systemd/system/kubelet.service", "0644", embedded("kubelet.service")})
	}
	return files
}

// poolCloudInit is what the machines of a pool are told at their first boot. The fingerprint of the door is filled in by the template.
func poolCloudInit(f *clusterfile.File, p *clusterfile.Pool) []byte {
	var labels []string
	for _, key := range slices.Sorted(maps.Keys(p.Labels)) {
		labels = append(labels, key+"="+p.Labels[key])
	}
	words := append(commonWords(f),
		word{"DOOR", fmt.Sprintf("https://%s:%d", f.Server.Address, clusterfile.JoinPort)}, word{"FINGERPRINT", "@@fingerprint@@"},
		word{"NODE_LABELS", strings.Join(labels, ",")}, word{"NODE_TAINTS", strings.Join(p.Taints, ",")})
	files := append([]machineFile{{"/etc/sluice/machine.env", "0644", environment(words)}}, commonFiles(f)...)
	files = append(files,
		machineFile{"/usr/local/sbin/sluice-agent", "0755", embedded("agent.sh")},
		machineFile{"/etc/systemd/system/sluice-agent.service", "0644", embedded("sluice-agent.service")})
	if f.Distribution.Kind == clusterfile.K3s {
		files = append(files, machineFile{"/etc/systemd/system/k3s-agent.service", "0644", embedded("k3s-agent.service")})
	}
	return cloudConfig(files, "sluice-agent.service")
}

// serverCloudInit is the same of the server.
func serverCloudInit(f *clusterfile.File) ([]byte, error) {
	words := commonWords(f)
	if f.Server.PublicAddress {
		words = append(words, word{"PUBLIC_ADDRESS", "@@publicAddress@@"})
	}
	if f.Secrets == clusterfile.KeyVault {
		words = append(words, word{"VAULT", "@@vaultUri@@"})
		if f.Identity.Kind == clusterfile.UserAssigned {
			words = append(words, word{"CLIENT", "@@clientId@@"})
		}
	}
	var addons []string
	for _, addon := range []struct {
		name, release string
		wanted        bool
	}{{"azuredisk", diskRelease, f.Addons.AzureDisk}, {"azurefile", fileRelease, f.Addons.AzureFile}} {
		if addon.wanted {
			addons = append(addons, addon.name+"@"+addon.release)
		}
	}
	words = append(words, word{"ADDONS", strings.Join(addons, " ")})
	files := append([]machineFile{{"/etc/sluice/machine.env", "0644", environment(words)}}, commonFiles(f)...)
	files = append(files,
		machineFile{"/usr/local/sbin/sluice-server", "0755", embedded("server.sh")},
		machineFile{"/usr/local/sbin/sluice-door", "0755", embedded("door.sh")},
		machineFile{"/etc/systemd/system/sluice-server.service", "0644", embedded("sluice-server.service")},
		machineFile{"/etc/systemd/system/sluice-door.service", "0644", embedded("sluice-door.service")})
	if f.Distribution.Kind == clusterfile.K3s {
		files = append(files, machineFile{"/etc/systemd/system/k3s.service", "0644", embedded("k3s-server.service")})
	}
	manifests, err := manifests(f)
	if err != nil {
		return nil, err
	}
	files = append(files, manifests...)
	if f.Addons.CloudProvider || len(addons) > 0 {
		files = append(files, machineFile{"/etc/sluice/azure.json", "0644", azureJSON(f)})
	}
	if len(addons) > 0 {
		files = append(files, machineFile{"/etc/sluice/on-the-server.yaml", "0644", embedded("on-the-server.yaml")})
	}
	for _, addon := range addons {
		name, _, _ := strings.Cut(addon, "@")
		files = append(files, machineFile{"/etc/sluice/class-" + name + ".yaml", "0644", embedded("class-" + name + ".yaml")})
	}
	if fetched := downloadsOf(f); len(fetched) > 0 {
		files = append(files, machineFile{"/etc/sluice/sums", "0644", sums(fetched)})
	}
	if script := replacements(f); script != "" {
		files = append(files, machineFile{"/etc/sluice/images.sed", "0644", script})
	}
	return cloudConfig(files, "sluice-server.service", "sluice-door.service"), nil
}

// cloudConfig writes files and starts units, without waiting for them: cloud-init has an end then, and the units try again by themselves.
func cloudConfig(files []machineFile, units ...string) []byte {
	var b strings.Builder
	b.WriteString("#cloud-config\nwrite_files:\n")
	for _, f := range files {
		fmt.Fprintf(&b, "- path: %s\n  permissions: %q\n  content: |\n", f.path, f.mode)
		for _, line := range strings.Split(strings.TrimRight(f.text, "\n"), "\n") {
			if line != "" {
				b.WriteString("    " + line)
			}
			b.WriteByte('\n')
		}
	}
	b.WriteString("runcmd:\n- [systemctl, daemon-reload]\n")
	for _, unit := range units {
		fmt.Fprintf(&b, "- [systemctl, enable, --now, --no-block, %s]\n", unit)
	}
	return []byte(b.String())
}
