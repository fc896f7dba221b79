package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"sluice.dev/sluice/internal/azuresim"
)

// cloudPrograms are cloud-provider-azure's, with the names that their images have before the version.
var cloudPrograms = map[string]string{
	"cloud-controller-manager": "mcr.microsoft.com/oss/kubernetes/azure-cloud-controller-manager:",
	"cloud-node-manager":       "mcr.microsoft.com/oss/kubernetes/azure-cloud-node-manager:",
}

const (
	imagesGroup = "/subscriptions/" + subscription + "/resourceGroups/images"
	identityID  = imagesGroup + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/render"
)

// identityTemplate is what a deployment makes the identity from.
const identityTemplate = `{"properties": {"mode": "Incremental", "template": {
	"$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", "contentVersion": "1.0.0.0",
	"resources": [{
		"type": "Microsoft.ManagedIdentity/userAssignedIdentities", "apiVersion": "2023-01-31", "name": "render", "location": "westeurope"}]}}}`

// cloud decides who the cluster is in Azure, and who tells its nodes where they are: the machines themselves, or cloud-provider-azure.
func (s *story) cloud(ctx context.Context, o options) error {
	if o.cloudProvider == "" {
		return s.operator.edit("cluster.yaml", [2]string{"cloudProvider: true", "cloudProvider: false"})
	}
	deployment := imagesGroup + "/providers/Microsoft.Resources/deployments/identity?api-version=2021-04-01"
	if err := s.send(ctx, http.MethodPut, deployment, identityTemplate, nil); err != nil {
		return err
	}
	if err := until(ctx, "the identity", func() (bool, error) {
		all, err := s.groups(ctx)
		return len(all["images"]) == 1, err
	}); err != nil {
		return err
	}
	// The cloud controller reads Azure's zones, and does not start without. No role of the cluster's resource group allows it.
	if err := s.azure.AddRoleAssignment(azuresim.RoleAssignment{
		Role: "Reader", Principal: identityID, Scope: "/subscriptions/" + subscription,
	}); err != nil {
		return err
	}
	const system = "kind: system                     # or user, with the id of one that is there"
	if err := s.operator.edit("cluster.yaml", [2]string{system, "kind: user\n  id: " + identityID}); err != nil {
		return err
	}
	pulled, err := s.operator.run(ctx, "sluice", "cluster", "render", "--images")
	for _, name := range cloudPrograms {
		if name += o.cloudProvider; err == nil && !strings.Contains(pulled, name) {
			err = fmt.Errorf("the cluster's machines pull no %s: hack/boot/cloudprovider has another version than sluice", name)
		}
	}
	return err
}
