package node

// Believed is the capacity that a new request builds on: the last read's, or an accepted request's that it does not show yet.
func (d *View) Believed(st *GroupFacts) int {
	if m := d.Memory.Groups[st.ID]; m.Requested.After(st.Read.At) {
		return max(st.Promised(), m.Capacity)
	}
	return st.Promised()
}
