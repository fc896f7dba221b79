package catalog

import (
	"fmt"
	"strconv"
	"strings"
)

// FromCapabilities is a size as Azure's list of resource SKUs describes it, by the names of that list (API version 2021-07-01). The
// error names the capability that is missing or unreadable: without CPU and memory a size is of no use.
func FromCapabilities(name, family string, capability map[string]string) (Size, error) {
	s := Size{Name: name, Family: family, Arch: "amd64", Spot: strings.EqualFold(capability["LowPriorityCapable"], "true")}
	if strings.EqualFold(capability["CpuArchitectureType"], "arm64") {
		s.Arch = "arm64"
	}
	var fault error
	number := func(capabilityName string, required bool) float64 {
		text, there := capability[capabilityName]
		n, err := strconv.ParseFloat(text, 64)
		switch {
		case !there && !required:
			return 0
		case err != nil || !(n >= 0 && n <= 1<<40) || required && n == 0:
			if fault == nil {
				fault = fmt.Errorf("size %s: capability %s is %q and must be a number", name, capabilityName, text)
			}
			return 0
		}
		return n
	}
	s.QuotaVCPUs = int(number("vCPUs", true))
	s.VCPUs = s.QuotaVCPUs
	if available := int(number("vCPUsAvailable", false)); available > 0 {
		s.VCPUs = available
	}
	s.MemoryMiB = int64(number("MemoryGB", true) * 1024) // GB is GiB here: 0.5, 218.75
	s.GPUs = int(number("GPUs", false))
	s.MaxDataDisks = int(number("MaxDataDiskCount", false))
	s.ResourceDiskMiB = int64(number("MaxResourceVolumeMB", false))
	return s, fault
}
