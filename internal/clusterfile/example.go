package clusterfile

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Releases that a new file names.
const (
	K3sRelease     = "v1.36.3+k3s1"
	KubeadmRelease = "v1.37.2"
)

// SchemaFile is the name of the schema beside a file, for editors.
const SchemaFile = "cluster.schema.json"

// Start is what a new file says.
type Start struct {
	Name, Region, Distribution string
	PublicKey                  string // of OpenSSH
	AllowFrom                  []string
	Image                      string // of sluice
}

// Example is a commented file to begin with. It parses when what it is given is right.
func Example(s Start) []byte {
	release := K3sRelease
	if s.Distribution == Kubeadm {
		release = KubeadmRelease
	}
	reach := "  # publicAddress: true           # and the ranges that you come from:\n  # allowFrom: [203.0.113.0/24]\n"
	if len(s.AllowFrom) > 0 {
		reach = "  publicAddress: true\n  allowFrom: [" + strings.Join(quoted(s.AllowFrom), ", ") + "]\n"
	}
	return fmt.Appendf(nil, `# yaml-language-server: $schema=%s
# A cluster of one server and of pools that sluice scales. What is commented out shows a default, or what else there is.
# sluice cluster render shows what it becomes in Azure. docs/reference/cluster-file.md lists every field.
apiVersion: %s
kind: %s
name: %s
region: %s
# resourceGroup: %[4]s
# image: %[6]s

distribution:
  kind: %[7]s
  version: %[8]s
  # install: download              # or image: the image has the binaries

network:
  addresses: 10.10.0.0/16
  subnet: 10.10.0.0/20             # of the machines; inside addresses
  pods: 10.42.0.0/16
  services: 10.43.0.0/16
  # subnetId: /subscriptions/.../subnets/machines    # a subnet that is there: then no addresses

server:
  size: Standard_D2s_v5
  dataDiskGiB: 64                  # the cluster's data outlives the machine
  # zone: "1"
%[9]s
identity:
  kind: system                     # or user, with the id of one that is there

secrets: keyVault                  # or file: you put the key on the server

ssh:
  user: sluice
  publicKey: %[10]s

# storage:                         # what outlives the cluster
#   resourceGroup: %[4]s-storage
#   disks:
#     - {name: assets, sizeGiB: 512}
#   shares:
#     - {name: frames, sizeGiB: 1024}

addons:
  cloudProvider: true
  azureDisk: true
  azureFile: false

# mirror: mirror.example:5000      # for clusters without a way out

pools:
  - name: agents
    size: Standard_D4s_v5
    min: 1
    max: 10
    # zones: ["1", "2", "3"]
  - name: burst
    size: Standard_D8s_v5
    min: 0
    max: 50
    spot: {}                       # cheap machines, which Azure takes back
    # labels: {dedicated: render}
    # taints: ["dedicated=render:NoSchedule"]

sluice:
  image: %[11]s
  # settings:                      # names of flags of sluice run
  #   scale-down-unneeded-time: 10m
`, SchemaFile, APIVersion, Kind, quote(s.Name), quote(s.Region), DefaultImage, quote(s.Distribution), quote(release), reach, quote(s.PublicKey), quote(s.Image))
}

// quote writes a text so that YAML reads it as one.
func quote(text string) string {
	if plainText.MatchString(text) && text != "true" && text != "false" && text != "null" {
		return text
	}
	return strconv.Quote(text)
}

func quoted(all []string) (out []string) {
	for _, one := range all {
		out = append(out, quote(one))
	}
	return out
}

// plainText is a text that YAML cannot take for anything else.
var plainText = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9./+_-]*(:[a-z0-9][a-zA-Z0-9.+_-]*)*$`)
