package place

// Recall is what placing knows of the last cycle.
type Recall struct {
	held  held
	names names
}
