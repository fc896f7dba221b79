package main

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// krewFile is the manifest's name. krew wants the plugin's own, sluice: kubectl finds it as kubectl-sluice.
const krewFile = "sluice.yaml"

// krew is the manifest by which kubectl's plugin manager installs the binary of an archive as kubectl sluice. It names the address at which the
// archives are published, and their digests, by platform.
func (b build) krew(archives map[platform]entry) []byte {
	var out strings.Builder
	fmt.Fprintf(&out, `apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: sluice
spec:
  version: %s
  shortDescription: Ask the node autoscaler sluice why
  description: |
    Asks the sluice that runs in a cluster, through the API server, what becomes of a
    pod, node, node group or machine, and why: kubectl sluice explain, kubectl sluice plan.
    kubectl sluice top shows nodes, machines and waiting pods on a terminal, and follows.
    Also pauses node groups, and holds or drains nodes.
  caveats: |
    The running sluice is asked by the right to get services/proxy: see deploy/reader.yaml.
  platforms:
`, b.version)
	for _, p := range platforms {
		a := archives[p]
		folder := strings.TrimSuffix(a.name, ".tar.gz")
		fmt.Fprintf(&out, `    - selector:
        matchLabels:
          os: %s
          arch: %s
      uri: %s/%s
      sha256: %x
      files:
        - from: %s/%s
          to: .
        - from: %s/LICENSE
          to: .
      bin: %s
`, p.os, p.architecture, strings.TrimSuffix(b.url, "/"), a.name, sha256.Sum256(a.content), folder, p.binary(), folder, p.binary())
	}
	return []byte(out.String())
}
