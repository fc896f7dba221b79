// Package render turns a cluster file into what Azure is given: a template of Resource Manager, its parameters, and the cloud-init of each machine. It
// reads nothing and asks nobody: the same file gives the same bytes.
//
// The template goes into one resource group and needs nothing of sluice afterwards: az deployment group create deploys it. It may be deployed again and
// again. What must not be written over then, the parameter "new" names: the server, whose custom data Azure lets nobody change, the capacity of pools,
// which sluice changes, and the pools' security group, which the cloud controller fills.
//
// No secret is in the template or in custom data. Machines join by what Azure attests of them; the key of the door by which they join is a secure
// parameter that becomes a secret in Key Vault.
package render

import (
	"errors"
	"fmt"
	"strings"

	"sluice.dev/sluice/internal/clusterfile"
)

// File is one file of a rendering, with its path below the folder that they go to.
type File struct {
	Path string
	Text []byte
}

// Rendering is what a cluster file becomes.
type Rendering struct {
	Template   []byte // of Resource Manager, at the scope of a resource group
	Parameters []byte // for every deployment
	First      []byte // besides, for the first one: it says that everything is new

	Server []byte            // cloud-init of the server; words between @@ are filled in by the template
	Pools  map[string][]byte // cloud-init of each pool's machines, by the pool's name
	order  []string
}

// The parameters of the template that a caller fills.
const (
	ParameterFingerprint = "joinFingerprint" // SHA-256 of the door's certificate, in hex
	ParameterKey         = "joinKey"         // secure: certificate and key in PEM; empty where the secret is there already
	ParameterNew         = "new"             // names of what is not there yet: NewServer, NewNetwork and names of pools
)

// Words of [ParameterNew]. No pool has these names.
const (
	NewServer  = "server"
	NewNetwork = "network"
)

// JoinTag is the tag of the server's machine that has the door's fingerprint, and JoinSecret the secret that has its key.
const (
	JoinTag    = "sluice-join"
	JoinSecret = "sluice-join"
)

// OutputAddress is the output of the template that has the server's public address, where it has one.
const OutputAddress = "publicAddress"

// mostCustomData is what Azure takes as custom data of a machine, before base64.
const mostCustomData = 65_535

// Render renders a file that [clusterfile.Parse] found no problem in.
func Render(f *clusterfile.File) (*Rendering, error) {
	if err := checkImages(f); err != nil {
		return nil, err
	}
	if f.Network.Subnet == "" {
		return nil, errors.New("network.subnet is not given beside subnetId: give its range there; check and up read it from Azure")
	}
	server, err := serverCloudInit(f)
	if err != nil {
		return nil, fmt.Errorf("render the server: %w", err)
	}
	r := &Rendering{Server: server, Pools: map[string][]byte{}}
	for i := range f.Pools {
		p := &f.Pools[i]
		r.Pools[p.Name] = poolCloudInit(f, p)
		r.order = append(r.order, p.Name)
	}
	for _, one := range r.machines() {
		if len(one.Text) > mostCustomData {
			return nil, fmt.Errorf("render %s: it has %d bytes, and Azure takes %d as custom data", one.Path, len(one.Text), mostCustomData)
		}
	}
	r.Template = template(f, r).bytes()
	r.Parameters = parameterFile(nil)
	r.First = parameterFile(object{{ParameterNew, object{{"value", append([]string{NewNetwork, NewServer}, r.order...)}}}})
	return r, nil
}

func parameterFile(values object) []byte {
	if values == nil {
		values = object{{ParameterFingerprint, object{{"value", strings.Repeat("0", 64)}}}}
	}
	return object{
		{"$schema", "https://schema.management.azure.com/schemas/2019-04-01/deploymentParameters.json#"},
		{"contentVersion", "1.0.0.0"},
		{"parameters", values},
	}.bytes()
}

func (r *Rendering) machines() (all []File) {
	all = append(all, File{"cloud-init/server.yaml", r.Server})
	for _, name := range r.order {
		all = append(all, File{"cloud-init/" + name + ".yaml", r.Pools[name]})
	}
	return all
}

// Files are all files of the rendering in their order.
func (r *Rendering) Files() []File {
	return append([]File{
		{"template.json", r.Template}, {"parameters.json", r.Parameters}, {"first.parameters.json", r.First},
	}, r.machines()...)
}
