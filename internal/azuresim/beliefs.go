package azuresim

// Beliefs are facts of Azure as they could be otherwise than this simulator has them, for whoever wants to see what notices that. The zero value
// is what is believed.
type Beliefs struct {
	LowerRefused bool // a capacity below the number of live instances is refused with 409
	Unguarded    bool // nobody looks at If-Match
	TagsKeepETag bool // a write of tags alone does not move the entity tag
	UIDFollowsID bool // the lowest free instance id comes again, and the vmId with it
	DeadAccepted bool // the delete of an instance that is gone is accepted, and does nothing
}
