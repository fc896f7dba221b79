// Package deploy holds the manifests that a cluster needs to run sluice, for programs that apply them.
package deploy

import _ "embed"

// RBAC is the service account kube-system/sluice with exactly the rights that sluice uses, as YAML documents.
//
//go:embed rbac.yaml
var RBAC []byte

// Namespace and ServiceAccount name the identity that [RBAC] describes.
const (
	Namespace      = "kube-system"
	ServiceAccount = "sluice"
)

// Deployment runs sluice in the cluster, as a YAML document. Its image is a placeholder.
//
//go:embed deployment.yaml
var Deployment []byte

// Service leads to the sluice of [Deployment], for whoever asks it through the API server, as YAML documents.
//
//go:embed service.yaml
var Service []byte

// WebAuthorization are the rights that --web-authorization needs, and the role of those who may read, as YAML documents.
//
//go:embed web-authorization.yaml
var WebAuthorization []byte

// Join are the rights that letting machines join needs, of sluice and of machines with a token of the door, as YAML documents.
//
//go:embed join.yaml
var Join []byte

// Reader is the Role of those who ask the running sluice through the API server, as YAML document.
//
//go:embed reader.yaml
var Reader []byte

// AzureRole is the definition of an Azure role with exactly the actions that sluice uses on scale sets, as az role definition create takes it.
// AzureRolePools is that of what it uses besides on availability sets. Their assignable scope is a placeholder: the subscription
// 00000000-0000-0000-0000-000000000000.
var (
	//go:embed azure-role.json
	AzureRole []byte
	//go:embed azure-role-availability-sets.json
	AzureRolePools []byte
)

// Agent is the DaemonSet of sluice's agent, its service account with exactly the rights that it uses, and the admission policy that keeps each
// agent to the notice on its own node, as YAML documents. Its image is a placeholder.
//
//go:embed agent.yaml
var Agent []byte

// Alerts are rules for Prometheus.
//
//go:embed monitoring/alerts.yaml
var Alerts []byte

// CapacityGate is the optional admission policy that puts pods behind the scheduling gate of sluice, as YAML documents: a
// MutatingAdmissionPolicy with its bindings to labelled namespaces and to labelled pods, sluice's right to patch pods, and the
// ValidatingAdmissionPolicy that keeps it to taking that gate away.
//
//go:embed capacity-gate.yaml
var CapacityGate []byte
