package report

import (
	"slices"

	"sluice.dev/sluice/plan/memory"
)

// Check is one property of the safety contract that the guard holds a write to right before it is sent.
type Check struct {
	Property string `json:"property"`
	Means    string `json:"means"` // what held, one clause
}

// checked are the properties that the guard looks at before each kind of write, in words of what holds when it is sent.
var checked = map[string][]Check{
	"DeleteInstances": {
		{"S-10", "the removal names its machine"},
		{"S-01", "the group was read after the last write to it"},
		{"S-02", "that read was complete, and no Ready node contradicts it"},
		{"S-11", "the list has the machine by its unique id, and it is not being deleted"},
		{"S-12", "no other node could be this machine"},
		{"S-13", "no node has registered for it meanwhile"},
		{"S-15", "no pod that has to end, or has to be evicted first, is on it"},
		{"S-16", "no pending pod counts on it, or has come and fits it"},
		{"S-17", "it is no server of the control plane"},
		{"S-18", "no person holds it or its group"},
		{"S-05", "the group's capacity is no lower than its machines"},
		{"S-06", "the group stays at or above its minimum"},
		{"S-44", "so many of its nodes stay Ready"},
		{"S-19", "the group's budget of removals allows it"},
		{"S-43", "it was not lost together with others"},
		{"S-45", "its pods did not vanish together with those of others"},
		{"S-35", "it is not starting still"},
		{"S-36", "nobody keeps changing the group's capacity the other way"},
	},
	"Cordon": {
		{"S-12", "the node is that machine and no other"},
		{"S-14", "the node is the one that was decided about"},
		{"S-16", "no pending pod counts on it, or has come and fits it"},
		{"S-17", "it is no server of the control plane"},
		{"S-18", "no person holds it or its group"},
	},
	"Evict": {
		{"S-14", "the pod is the one that was decided about"},
		{"S-15", "it may be evicted, and its budget allows it"},
		{"S-18", "no person holds the node or its group"},
	},
	"DeleteNode": {
		{"S-14", "its machine is gone for certain"},
		{"S-17", "it is no server of the control plane"},
		{"S-18", "no person has paused its group"},
		{"S-37", "no volume of another node is detached"},
	},
}

// always are the properties that it looks at before every write.
var always = []Check{
	{"S-20", "the API server spoke within the last minute, and shows what sluice wrote before"},
	{"S-22", "the cluster is the one that is meant"},
	{"S-23", "the leader lease outlasts the request"},
}

// Checks are what the guard has looked at before it let the deed through. Nil for what was not sent: a refusal says itself what did not hold.
func (d Deed) Checks() []Check {
	if d.Status() != memory.Accepted && d.Status() != memory.Failed {
		return nil
	}
	kind := d.Action
	if kind == "ParkInstances" {
		kind = "DeleteInstances"
	}
	if checked[kind] == nil {
		return nil
	}
	return slices.Concat(checked[kind], always)
}

// Sent says whether the deed is one of these kinds and was let through.
func (d Deed) Sent(kinds ...string) bool {
	return slices.Contains(kinds, d.Action) && len(d.Checks()) > 0
}
