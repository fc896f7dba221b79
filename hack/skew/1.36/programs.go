//go:build tools

// Package programs holds the programs of Kubernetes 1.36 that hack/skew/run builds.
package programs

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
)
