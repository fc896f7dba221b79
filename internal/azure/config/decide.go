package config

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// decide settles what depends on several settings.
func (d *draft) decide() error {
	for _, step := range []func() error{d.decideCloud, d.decideIdentity, d.decideKind} {
		if err := step(); err != nil {
			return err
		}
	}
	ttl := d.InstanceCacheTTL
	if ttl == 0 {
		ttl = cmp.Or(d.CacheTTL, time.Minute)
	}
	if d.InstanceCacheJitter > ttl {
		d.note("%s is more than the lists are kept: it counts as %d", d.said["vmssVmsCacheJitter"], ttl/time.Second)
		d.InstanceCacheJitter = ttl
	}
	return nil
}

func (d *draft) decideCloud() error {
	if c, ok := KnownCloud(d.Cloud); ok {
		d.Cloud = c.Name
	} else if strings.EqualFold(d.Cloud, StackCloud) {
		d.Cloud = StackCloud
	}
	if d.EnvironmentFile != "" && d.Cloud != "" && d.Cloud != StackCloud {
		d.note("%s has no effect: it is read for %s, and the cloud is %s", d.said["AZURE_ENVIRONMENT_FILEPATH"], StackCloud, d.Cloud)
		d.EnvironmentFile = ""
	}
	switch strings.ToLower(d.identitySystem) {
	case "", "azure_ad":
	case "adfs":
		d.tenant = ADFS
	default:
		return fmt.Errorf("%s: it must be azure_ad or adfs", d.said["identitySystem"])
	}
	return nil
}

// decideIdentity finds the credential that counts.
func (d *draft) decideIdentity() error {
	if d.IdentityEndpoint != "" && d.IdentityHeader == "" {
		d.note("%s has no effect without IDENTITY_HEADER: tokens come from instance metadata", d.said["IDENTITY_ENDPOINT"])
	}
	if d.IdentityEndpoint == "" || d.IdentityHeader == "" {
		d.IdentityEndpoint, d.IdentityHeader = "", ""
	}
	switch strings.ToLower(d.authMethod) {
	case "", "principal":
	case "cli":
		return fmt.Errorf("%s is refused: it signs in as the person at an az command line, and a pod has none; use a managed identity, workload identity or a service principal", d.said["authMethod"])
	default:
		return fmt.Errorf("%s: it must be principal", d.said["authMethod"])
	}
	if d.managed && d.workload {
		return fmt.Errorf("%s and %s exclude each other: choose managed identity or workload identity", d.said["useManagedIdentityExtension"], d.said["useFederatedWorkloadIdentityExtension"])
	}
	app := Identity{Tenant: d.tenant, Client: d.client}
	switch {
	case d.tokenFile != "" || d.workload:
		if d.managed {
			d.note("%s wins over %s: the federated token is used", d.said["aadFederatedTokenFile"], d.said["useManagedIdentityExtension"])
		}
		app.TokenFile = d.tokenFile
		return d.whole(app, "workload identity", "aadFederatedTokenFile (AZURE_FEDERATED_TOKEN_FILE)", d.tokenFile)
	case d.managed, d.secret == "" && d.certificate == "" && d.client == "":
		d.Identity = Identity{UserAssigned: d.userAssigned}
		return nil
	case d.secret != "":
		app.Secret = d.secret
	default:
		app.CertificateFile, app.CertificatePassword = d.certificate, d.certificatePassword
	}
	if d.userAssigned != "" {
		d.note("%s has no effect beside a service principal: for the managed identity set useManagedIdentityExtension (ARM_USE_MANAGED_IDENTITY_EXTENSION) to true", d.said["userAssignedIdentityID"])
	}
	return d.whole(app, "a service principal", "aadClientSecret (ARM_CLIENT_SECRET) or aadClientCertPath (ARM_CLIENT_CERT_PATH)", string(app.Secret)+app.CertificateFile)
}

// whole takes an application's identity when nothing of it is missing.
func (d *draft) whole(app Identity, what, proofKey, proof string) error {
	const tenant, client = "tenantId (ARM_TENANT_ID or AZURE_TENANT_ID)", "aadClientId (ARM_CLIENT_ID or AZURE_CLIENT_ID)"
	for _, part := range []struct{ key, value string }{{tenant, app.Tenant}, {client, app.Client}, {proofKey, proof}} {
		if part.value == "" {
			return fmt.Errorf("%s is not given: %s needs %s, %s and %s; for a managed identity set useManagedIdentityExtension (ARM_USE_MANAGED_IDENTITY_EXTENSION) to true",
				part.key, what, tenant, client, proofKey)
		}
	}
	d.Identity = app
	return nil
}

func (d *draft) decideKind() error {
	d.RefuseFlexible = d.flexible != nil && !*d.flexible
	d.AdmitFlexible = d.flexible != nil && *d.flexible
	d.NoLabelPredictions = d.predictions != nil && !*d.predictions
	switch d.VMType = strings.ToLower(d.vmType); d.VMType {
	case "", "vmss":
	case "vmssflex":
		d.RefuseFlexible = false
	case string(Standard):
		d.Kind = Standard
		if d.Deployment == "" {
			return fmt.Errorf("%s needs deployment (ARM_DEPLOYMENT), the name of the deployment that made the machines", d.said["vmType"])
		}
	case "aks":
		return fmt.Errorf("%s is refused: AKS scales its own pools; it must be vmss, vmssflex or standard", d.said["vmType"])
	default:
		return fmt.Errorf("%s: it must be vmss, vmssflex or standard", d.said["vmType"])
	}
	return nil
}
