package node

func Btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
