package cluster

// ID tells this cluster from all others: the UID of the namespace kube-system, which lives as long as the cluster does. "" when it is not
// known.
func (o Objects) ID() string {
	for _, n := range o.Namespaces {
		if n.Name == PauseNamespace {
			return string(n.UID)
		}
	}
	return ""
}
