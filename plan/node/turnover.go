package node

import (
	"sluice.dev/sluice/cluster"
)

// OfJob says whether pods of the class belong to a Job.
func OfJob(of *cluster.Class) bool {
	o := of.Owner()
	return o != nil && o.Kind == "Job"
}
