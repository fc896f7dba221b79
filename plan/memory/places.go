package memory

import (
	"sluice.dev/sluice/cluster"
)

// Places are where a cycle saw room for the pods that wait. The next cycle lets them keep it for as long as they fit there. The machines that
// are coming were chosen for pods that share them in a certain way. Were these pods to look for room anew, each on the first machine that
// takes it, they would share otherwise, some would be left over, and further machines would be bought for them (S-34). A value is never changed.
type Places struct {
	// Nodes are names of nodes and, as [place.comingName] has them, of machines that are coming.
	Nodes []string `json:"nodes"`

	// Of has the places of pods by their class, those to be taken first in front: in turns the index of a node, and how many pods have room
	// on it.
	Of map[cluster.Key][]int32 `json:"of"`
}
