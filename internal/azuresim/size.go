package azuresim

import (
	"regexp"
	"strconv"
	"strings"
)

// traits are what a machine of a size takes and can take.
type traits struct {
	vcpus     int
	family    string // of the quota; "" counts against no family's
	dataDisks int    // that can be attached; 0: as many as there are LUNs
}

// maxLUN is the highest logical unit number of a data disk.
const maxLUN = 63

// sizeName takes a size's name apart as the naming convention says: family,
// vCPUs, constrained vCPUs, additive features, version.
var sizeName = regexp.MustCompile(`(?i)^(?:Standard|Basic)_([A-Z]+)(\d+)(?:-\d+)?([a-z]*)(?:_[A-Z0-9]+)*?(?:_(v\d+))?$`)

// traits of a size: those that a scale set of that size was described with, those
// of the SKU, or else what the name says. Most sizes take two data disks for a vCPU.
func (st *store) traits(size string) traits {
	for _, ss := range st.sets {
		if strings.EqualFold(ss.size(), size) && ss.traits.vcpus > 0 {
			return ss.traits
		}
	}
	if k := st.skus.find(size); k != nil {
		return traits{vcpus: k.VCPUs, family: k.Family, dataDisks: k.MaxDataDisks}
	}
	m := sizeName.FindStringSubmatch(size)
	if m == nil {
		return traits{}
	}
	vcpus, _ := strconv.Atoi(m[2]) // digits; too many of them are a size nobody has
	return traits{
		vcpus:     vcpus,
		family:    "standard" + strings.ToUpper(m[1]+m[3]) + strings.ToLower(m[4]) + "Family",
		dataDisks: min(2*vcpus, maxLUN+1),
	}
}
