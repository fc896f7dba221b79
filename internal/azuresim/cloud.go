package azuresim

import (
	"net/http"
	"slices"
	"strings"
)

// publicAudiences are what tokens for Resource Manager of the clouds that
// Microsoft runs are issued for.
var publicAudiences = []string{
	"https://management.core.windows.net", "https://management.azure.com",
	"https://management.core.usgovcloudapi.net", "https://management.usgovcloudapi.net",
	"https://management.core.chinacloudapi.cn", "https://management.chinacloudapi.cn",
}

// audiences are those that the cloud announces.
func audiences(base string, announced []string) []string {
	if len(announced) > 0 {
		return announced
	}
	return []string{base, base + "/"}
}

// acceptsAudience reports whether a token for this audience is one for Resource
// Manager, with or without a final slash.
func acceptsAudience(base string, announced []string, audience string) bool {
	accepted := audiences(base, announced)
	if len(announced) == 0 {
		accepted = append(accepted, publicAudiences...)
	}
	return slices.ContainsFunc(accepted, func(a string) bool {
		return strings.EqualFold(strings.TrimRight(a, "/"), strings.TrimRight(audience, "/"))
	})
}

func cloudName(name string) string {
	if name != "" {
		return name
	}
	return "AzureCloud"
}

// endpoints describes the cloud, in the shapes of its three versions: an object
// of few fields (2015-01-01), a list of clouds (2019-05-01), and one cloud
// (2022-09-01).
func endpoints(q *request, _ string) answer {
	login, identity, tenant := q.base, "AAD", "common"
	if q.server.ADFS {
		login, identity, tenant = q.base+"/adfs", "ADFS", "adfs"
	}
	authentication := map[string]any{
		"loginEndpoint": login, "audiences": audiences(q.base, q.server.Audiences), "tenant": tenant, "identityProvider": identity,
	}
	version := q.query.Get("api-version")
	if version < "2019" {
		return answer{status: http.StatusOK, body: map[string]any{
			"galleryEndpoint": q.base, "graphEndpoint": q.base, "portalEndpoint": q.base, "authentication": authentication,
		}}
	}
	cloud := map[string]any{
		"name": cloudName(q.server.CloudName), "resourceManager": q.base, "authentication": authentication,
		"portal": q.base, "gallery": q.base, "media": q.base, "batch": q.base, "sqlManagement": q.base,
		"graph": q.base, "graphAudience": q.base, "microsoftGraphResourceId": q.base,
		"vmImageAliasDoc": q.base + "/aliases.json", "activeDirectoryDataLake": q.base,
		"appInsightsResourceId": q.base, "logAnalyticsResourceId": q.base, "ossrDbmsResourceId": q.base,
		"attestationResourceId": q.base, "synapseAnalyticsResourceId": q.base,
		"suffixes": map[string]any{
			"storage": "core.windows.net", "acrLoginServer": "azurecr.io", "keyVaultDns": "vault.azure.net", "mhsmDns": "managedhsm.azure.net",
			"sqlServerHostname": "database.windows.net", "mysqlServerEndpoint": "mysql.database.azure.com",
			"postgresqlServerEndpoint": "postgres.database.azure.com", "mariadbServerEndpoint": "mariadb.database.azure.com",
			"azureDataLakeStoreFileSystem": "azuredatalakestore.net", "azureDataLakeAnalyticsCatalogAndJob": "azuredatalakeanalytics.net",
			"storageSyncEndpointSuffix": "afs.azure.net", "azureFrontDoorEndpointSuffix": "azurefd.net",
			"synapseAnalytics": "dev.azuresynapse.net", "attestationEndpoint": "attest.azure.net",
		},
	}
	if version < "2022" {
		return answer{status: http.StatusOK, body: []any{cloud}}
	}
	return answer{status: http.StatusOK, body: cloud}
}
