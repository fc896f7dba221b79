package clusterfile

import (
	"net/netip"
	"slices"
)

// The ports of the server.
const (
	APIPort  = 6443 // of the API server, and of K3s's supervisor
	JoinPort = 7443 // of the door by which machines join
)

// ScaleSet is the name of a pool's scale set.
func (f *File) ScaleSet(p *Pool) string { return f.Name + "-" + p.Name }

// ServerName is the name of the server's machine, and of its node.
func (f *File) ServerName() string { return f.Name + "-server" }

// ImageOf is the image of a pool's machines.
func (f *File) ImageOf(p *Pool) string {
	if p.Image != "" {
		return p.Image
	}
	return f.Image
}

// HasStorage says whether the file asks for something in the resource group of storage.
func (f *File) HasStorage() bool { return len(f.Storage.Disks)+len(f.Storage.Shares) > 0 }

// OpenToAll says whether every address of the internet may reach SSH and the API server.
func (f *File) OpenToAll() bool {
	return f.Server.PublicAddress && slices.ContainsFunc(f.Server.AllowFrom, func(text string) bool {
		p, err := netip.ParsePrefix(text)
		return err == nil && p.Bits() == 0
	})
}

// first is the first address of a range that Azure gives: it keeps the first four, and the last.
func first(subnet netip.Prefix) netip.Addr {
	at := subnet.Masked().Addr()
	for range 4 {
		at = at.Next()
	}
	return at
}
