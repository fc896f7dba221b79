package kube

import (
	"fmt"
	"strings"

	"sluice.dev/sluice/cluster"
)

// Right is a verb on a resource, as a ClusterRole grants it.
type Right = cluster.Right

// AccessError says which rights the API server denied.
type AccessError struct {
	Missing []Right // never empty
}

// Error names the rights and the remedy.
func (e *AccessError) Error() string {
	words := make([]string, len(e.Missing))
	for i, r := range e.Missing {
		words[i] = r.String()
	}
	return fmt.Sprintf("the API server denies the right to %s; grant it in the ClusterRole that sluice's service account is bound to (RBAC)", strings.Join(words, ", "))
}
