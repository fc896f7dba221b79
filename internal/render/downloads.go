package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice.dev/sluice/internal/clusterfile"
)

// download is a manifest of a release that the server fetches and applies. It applies none whose bytes are others than those of this table: a tag can be
// moved, and who serves it can be somebody else.
//
// make manifests-check holds the table to what Go's module proxy keeps of the same tag, which Go's checksum database vouches for.
type download struct {
	module, version, path string // as the module proxy has it
	sum                   string // SHA-256
	images                []string
}

const (
	flannelModule = "github.com/flannel-io/flannel"
	diskModule    = "sigs.k8s.io/azuredisk-csi-driver"
	fileModule    = "sigs.k8s.io/azurefile-csi-driver"
)

// The registry of the drivers.
const driverImages = "mcr.microsoft.com/oss/v2/kubernetes-csi/"

// downloads are the manifests that the files of this version of sluice need, in the order in which they are applied.
var downloads = []download{
	{flannelModule, "v" + flannelRelease, "Documentation/kube-flannel.yml", "0bd380eb4954227c903bdea96dc9254650badd2d45ebe31978a47c3ffe2e9727", []string{
		"ghcr.io/flannel-io/flannel-cni-plugin:v1.9.1-flannel1", "ghcr.io/flannel-io/flannel:v0.28.4",
	}},

	{diskModule, diskRelease, "deploy/v1.34.0/csi-azuredisk-driver.yaml", "e9d47846ae9ac890be1d524b08211c42a16f55361e5ae8a3dd6114c1d996edc1", nil},
	{diskModule, diskRelease, "deploy/v1.34.0/rbac-csi-azuredisk-controller.yaml", "7525ad7b338c9f794b18122bd022d1701edca1b98bf761c7e9255f00b588b24b", nil},
	{diskModule, diskRelease, "deploy/v1.34.0/rbac-csi-azuredisk-node.yaml", "ce96533b7eeaa439b2ccb6664e8843591090e3de97be49dfcba2c87796033038", nil},
	{diskModule, diskRelease, "deploy/v1.34.0/csi-azuredisk-controller.yaml", "487064236848ec02b2b9f67dfe565509dca3295dbca12a59774edbef22e24beb", []string{
		driverImages + "azuredisk-csi:v1.34.0", driverImages + "csi-attacher:v4.10.0", driverImages + "csi-provisioner:v6.1.0",
		driverImages + "csi-resizer:v2.0.0", driverImages + "csi-snapshotter:v8.4.0", driverImages + "livenessprobe:v2.17.0",
	}},
	{diskModule, diskRelease, "deploy/v1.34.0/csi-azuredisk-node.yaml", "72ef8a3e43862b5df6507ba574c0b2005b17a32908f3972edc552392f652d278", []string{
		driverImages + "azuredisk-csi:v1.34.0", driverImages + "csi-node-driver-registrar:v2.15.0", driverImages + "livenessprobe:v2.17.0",
	}},

	{fileModule, fileRelease, "deploy/v1.34.0/csi-azurefile-driver.yaml", "62aa8ef5fd713b3245389a3e035bf99bc4dbddec8e573c1c94826dd990199335", nil},
	{fileModule, fileRelease, "deploy/v1.34.0/rbac-csi-azurefile-controller.yaml", "aad3f4469ba16655adb934cfec0a7c3844a8d452d3866a53f7490370f2499321", nil},
	{fileModule, fileRelease, "deploy/v1.34.0/rbac-csi-azurefile-node.yaml", "f94b8b20aa9688562b9a32def88997065abf8b017164c32ddde80741298db916", nil},
	{fileModule, fileRelease, "deploy/v1.34.0/csi-azurefile-controller.yaml", "17589b42d9b6e52e345b55eefd75a4ec32019562dd71862c3577f5b7884b05a1", []string{
		driverImages + "azurefile-csi:v1.34.0", driverImages + "csi-provisioner:v5.3.0", driverImages + "csi-resizer:v1.14.0",
		driverImages + "csi-snapshotter:v8.3.0", driverImages + "livenessprobe:v2.17.0",
	}},
	{fileModule, fileRelease, "deploy/v1.34.0/csi-azurefile-node.yaml", "32fdd8f33eccf0f90ff5469d3435653d68e12f8f46333c91ee3a3ca84df4d4ff", []string{
		driverImages + "azurefile-csi:v1.34.0", driverImages + "csi-node-driver-registrar:v2.15.0", driverImages + "livenessprobe:v2.17.0",
	}},
}

// url is where the server fetches it: what GitHub serves of the tag.
func (d download) url() string {
	_, name, _ := strings.Cut(d.module, "/")
	if !strings.Contains(name, "/") {
		name = "kubernetes-sigs/" + name
	}
	return "https://raw.githubusercontent.com/" + name + "/" + d.version + "/" + d.path
}

// downloadsOf are those that a file's server applies.
func downloadsOf(f *clusterfile.File) (all []download) {
	wanted := map[string]bool{
		flannelModule: f.Distribution.Kind == clusterfile.Kubeadm && f.Distribution.CNI == clusterfile.Flannel,
		diskModule:    f.Addons.AzureDisk, fileModule: f.Addons.AzureFile,
	}
	for _, d := range downloads {
		if wanted[d.module] {
			all = append(all, d)
		}
	}
	return all
}

// sums is what the server holds its downloads to: a checksum and an address in each line.
func sums(all []download) string {
	var b strings.Builder
	for _, d := range all {
		fmt.Fprintf(&b, "%s  %s\n", d.sum, d.url())
	}
	return b.String()
}

// byTag are the images of a file's machines as sluice names them, before any is replaced.
func byTag(f *clusterfile.File) []string {
	all := []string{f.Sluice.Image}
	if f.Addons.CloudProvider {
		for _, name := range []string{"azure-cloud-controller-manager", "azure-cloud-node-manager"} {
			all = append(all, "mcr.microsoft.com/oss/kubernetes/"+name+":"+providerRelease)
		}
	}
	for _, d := range downloadsOf(f) {
		all = append(all, d.images...)
	}
	if f.Distribution.Kind == clusterfile.Kubeadm && f.Distribution.Install == clusterfile.Download {
		all = append(all, sandboxImage)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Images are the images that a file's machines pull, beside those that its distribution brings: see [DistributionImages].
func Images(f *clusterfile.File) []string {
	all := byTag(f)
	for i, name := range all {
		all[i] = pinned(f, name)
	}
	return all
}

// DistributionImages says where the images are listed that the distribution itself pulls. They are its release's.
func DistributionImages(f *clusterfile.File) string {
	if f.Distribution.Kind == clusterfile.K3s {
		return "https://github.com/k3s-io/k3s/releases/download/" + strings.ReplaceAll(f.Distribution.Version, "+", "%2B") + "/k3s-images.txt"
	}
	return "kubeadm config images list --kubernetes-version=" + f.Distribution.Version
}

// pinned is an image as the file wants it.
func pinned(f *clusterfile.File, name string) string {
	if by, ok := f.Images[name]; ok {
		return by
	}
	return name
}

// checkImages refuses a replacement of what nothing pulls: with another version of sluice a name has another tag, and its digest would be forgotten.
func checkImages(f *clusterfile.File) error {
	all := byTag(f)
	for _, name := range slices.Sorted(maps.Keys(f.Images)) {
		switch {
		case name == sandboxImage:
			return fmt.Errorf("images: %s is containerd's own, and stays", name)
		case !slices.Contains(all, name):
			return fmt.Errorf("images: no machine pulls %s; sluice cluster render --images lists what they pull", name)
		}
	}
	return nil
}

// replacements is the script of sed by which the server replaces images in what it has fetched; "" for none.
func replacements(f *clusterfile.File) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(f.Images)) {
		fmt.Fprintf(&b, "s|\\(image: *\\)%s$|\\1%s|\n", strings.ReplaceAll(name, ".", `\.`), f.Images[name])
	}
	return b.String()
}
