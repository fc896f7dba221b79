package azure

import (
	"cmp"
	"strings"

	"sluice.dev/sluice/internal/azure/config"
)

// clientOf is the kind of resource whose requests cloudProviderRateLimit counts together, by the name of its block; "" for requests that it
// does not limit. As elsewhere, the machines beneath a scale set are none of the kinds.
func clientOf(t target) string {
	switch name := t.class.name; {
	case strings.HasPrefix(name, "scale set "), name == machineDeletes.name:
		return "virtualMachineScaleSet"
	case strings.HasPrefix(name, "VM "):
		return "virtualMachine"
	case strings.HasPrefix(name, "size "):
		return "virtualMachineSizes"
	case strings.HasPrefix(name, "disk "):
		return "disk"
	case strings.HasPrefix(name, "network "):
		return "interface"
	case strings.HasPrefix(name, "deployment "):
		return "deployment"
	}
	return ""
}

// configured is the operator's own limit for a request, with the key of its bucket; "" for none. It holds beside Azure's, and is at least two at once.
func configured(r config.RateLimit, t target) (key string, l limit) {
	client := clientOf(t)
	if own, ok := r.Clients[client]; ok {
		r = own
	}
	if !r.Enabled || client == "" {
		return "", limit{}
	}
	if t.door.name == doorReads.name {
		return client + " reads by setting", limit{60 * cmp.Or(r.ReadQPS, 1), float64(cmp.Or(r.ReadBurst, 5))}
	}
	return client + " writes by setting", limit{60 * cmp.Or(r.WriteQPS, 1), float64(cmp.Or(r.WriteBurst, 5))}
}
