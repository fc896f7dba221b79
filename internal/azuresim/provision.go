package azuresim

import (
	"encoding/base64"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Provision is what Azure boots a machine with, for a host on which it really boots. Resource Manager never shows the custom data again.
type Provision struct {
	ID, VMID     string
	ComputerName string
	Address      string // of its first interface
	MAC          string // of that, as Linux writes it
	MemoryMB     int    // of its size; 0: the size is not listed
	User         string // the administrator; "" where the model names none
	CustomData   []byte
	Disks        []ProvisionDisk // its data disks
}

// ProvisionDisk is a data disk of a machine that boots.
type ProvisionDisk struct {
	ID     string
	LUN    int
	SizeGB int
}

// Provision is what a machine boots with, by resource id or name. It reports false for one that is not there, and for custom data that is not base64,
// which Azure would have refused.
func (s *Server) Provision(vm string) (Provision, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.sweep(now)
	c, ok := s.store.computer(vm, now)
	if !ok {
		return Provision{}, false
	}
	p := Provision{
		ID: c.id, VMID: c.vmID, ComputerName: c.computerName, Address: c.ip, User: text(c.profile(), "osProfile", "adminUsername"),
	}
	if k := s.store.skus.find(c.size); k != nil {
		p.MemoryMB = int(k.MemoryGB * 1024)
	}
	var b [6]byte
	if _, err := fmt.Sscanf(mac(c.ip), "%02X%02X%02X%02X%02X%02X", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5]); err == nil {
		p.MAC = net.HardwareAddr(b[:]).String()
	}
	for _, v := range c.instance.dataDrives() {
		size, _ := strconv.Atoi(fmt.Sprint(dig(v.disk.model, "properties", "diskSizeGB"))) // 0: it was not said
		p.Disks = append(p.Disks, ProvisionDisk{v.disk.id(), v.lun, size})
	}
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text(c.profile(), "osProfile", "customData")), ""))
	p.CustomData = data
	return p, err == nil
}
