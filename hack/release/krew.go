package main

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// krewFile is the manifest's name. krew wants the plugin's own, sluice: kubectl finds it as kubectl-sluice.
const krewFile = "sluice.yaml"

// krew is the manifest by which kubectl's plugin manager installs the binary of an archive as kubectl sluice. It names the address at which the
// archives are published, and their digests, by architecture.
func (b build) krew(archives map[string]entry) []byte {
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
    Also pauses node groups, and holds or drains nodes.
  caveats: |
    The running sluice is asked by the right to get services/proxy: see deploy/reader.yaml.
  platforms:
`, b.version)
	for _, architecture := range architectures {
		a := archives[architecture]
		folder := strings.TrimSuffix(a.name, ".tar.gz")
		fmt.Fprintf(&out, `    - selector:
        matchLabels:
          os: linux
          arch: %s
      uri: %s/%s
      sha256: %x
      files:
        - from: %s/sluice
          to: .
        - from: %s/LICENSE
          to: .
      bin: sluice
`, architecture, strings.TrimSuffix(b.url, "/"), a.name, sha256.Sum256(a.content), folder, folder)
	}
	return []byte(out.String())
}
