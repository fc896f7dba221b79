package cluster

import (
	"fmt"
	"strings"
)

// Server is what an API server says of itself.
type Server struct {
	Version string    // as it calls it, such as "v1.31.14"; "" when it says none
	Newer   bool      // its minor is newer than that of Rules
	Rules   string    // the minor of Kubernetes whose scheduler judges pods in sluice, such as "1.36"
	Without []Without // APIs that it does not serve, or not in a version that sluice knows
}

// Without is an API that sluice knows and that the API server does not serve as sluice knows it.
type Without struct {
	API    string   // as kubectl takes it, such as "resourceslices.v1.resource.k8s.io"
	Others []string // versions of it that the API server does serve
	Loss   string   // what is done without it
}

// Judged says by whose rules pods are judged; "" when the version of the API server is not known.
func (s Server) Judged() string {
	switch {
	case s.Version == "":
		return ""
	case s.Newer:
		return fmt.Sprintf("the API server has Kubernetes %s, sluice is older: pods are judged by the rules of %s", s.Version, s.Rules)
	}
	return fmt.Sprintf("the API server has Kubernetes %s; pods are judged by the rules of %s", s.Version, s.Rules)
}

// Unread are those of which the API server serves other versions: what is in them is there, and not seen.
func (s Server) Unread() (all []Without) {
	for _, w := range s.Without {
		if len(w.Others) > 0 {
			all = append(all, w)
		}
	}
	return all
}

// Absent are those that the API server does not serve at all.
func (s Server) Absent() (all []Without) {
	for _, w := range s.Without {
		if len(w.Others) == 0 {
			all = append(all, w)
		}
	}
	return all
}

// String says what is not read or not served, and what is done without it.
func (w Without) String() string {
	if len(w.Others) == 0 {
		return fmt.Sprintf("%s is not served: %s", w.API, w.Loss)
	}
	return fmt.Sprintf("%s is served as %s alone: %s", w.API, strings.Join(w.Others, " and "), w.Loss)
}
