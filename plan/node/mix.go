package node

// Btoi is 1 for true and 0 for false.
func Btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
