// Package host boots the machines of a simulated Azure for real: systemd as the first process, cloud-init with its Azure datasource, and what the
// machine's custom data starts, on a Linux that its caller is root of.
//
// A machine is not virtual hardware but a set of namespaces over a root file system that all machines share, see [Root]. It has a network with the
// services that Azure gives to a machine: DHCP, instance metadata and the wire server. [Host.Follow] switches machines on, off and away as a
// [azuresim.Server] says that they are.
//
// Root in a machine is root of the host, kept from it by namespaces, private device nodes, read-only kernel settings and fewer capabilities. That
// holds off what a system does by mistake while it boots. It does not hold off an attacker, nor a privileged container that writes kernel settings:
// boot only what you trust.
//
// Every process is a child of the caller and ends with it. What stays when the caller is killed is files and empty cgroups, which [Clean] removes.
package host

import (
	"net/netip"
	"strings"
)

// Machine is what a machine is switched on with.
type Machine struct {
	ID       string     // its resource id
	VMID     string     // names its files, and is its machine id
	Name     string     // its host name
	Address  netip.Addr // in the host's network
	MAC      string     // of eth0: 00:0d:3a:...
	MemoryMB int        // that it has; 0: as much as the host
	User     string     // the administrator; "" means azureuser
	Data     []byte     // custom data as cloud-init takes it
	Disks    []Disk     // its data disks
}

// Disk is a data disk of a machine. What is written on it stays when the machine is deleted, for the next one that names it.
type Disk struct {
	ID     string
	LUN    int
	SizeGB int
}

func (m Machine) user() string {
	if m.User == "" {
		return "azureuser"
	}
	return m.User
}

// machineID is the machine's id as systemd writes it: 32 hexadecimal digits.
func (m Machine) machineID() string { return strings.ReplaceAll(m.VMID, "-", "") }
