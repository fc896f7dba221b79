package grow

import (
	"sluice.dev/sluice/reason"
)

// BlockedRead says why nothing may be written to the group for what is known of it, nil when it is known well. A back-off and a
// missing template forbid growth only.
func (st *Order) BlockedRead() *reason.Reason {
	if st.Blocked != nil {
		switch st.Blocked.Code {
		case reason.GroupAsked, reason.GroupUnreadable, reason.GroupIncomplete, reason.GroupContradicted:
			return st.Blocked
		}
	}
	return nil
}
