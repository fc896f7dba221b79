package render

import "strings"

// storage makes disks and shares in the resource group that outlives the cluster, and gives the server's identity the rights that the drivers need there.
func (m *maker) storage(who identity) {
	f, s := m.f, &m.f.Storage
	if !f.HasStorage() {
		return
	}
	var all []resource
	for _, d := range s.Disks {
		all = append(all, resource{
			kind: kindDisk, version: diskVersion, name: d.Name,
			body: m.located(pair{"sku", object{{"name", d.Type}}}).with(zones(d.Zone), pair{"properties", object{
				{"creationData", object{{"createOption", "Empty"}}}, {"diskSizeGB", d.SizeGiB},
			}}),
		})
	}
	if len(s.Disks) > 0 && f.Addons.AzureDisk {
		all = append(all, virtualMachineContributor.of(f.Name, parameter("principalId"), "", resourceGroupID, nil))
	}
	if len(s.Shares) > 0 {
		account := call("concat", quote("st"), call("uniqueString", resourceGroupID))
		made := resource{
			kind: kindAccount, version: storageVersion, name: account,
			body: m.located(pair{"sku", object{{"name", "Standard_LRS"}}}, pair{"kind", "StorageV2"}, pair{"properties", object{
				{"minimumTlsVersion", "TLS1_2"}, {"allowBlobPublicAccess", false}, {"supportsHttpsTrafficOnly", true}, {"largeFileSharesState", "Enabled"},
			}}),
		}
		all = append(all, made)
		for _, share := range s.Shares {
			all = append(all, resource{
				kind: kindShare, version: storageVersion, name: strings.TrimSuffix(account, ")") + ", " + quote("/default/"+share.Name) + ")",
				dependsOn: []string{made.id()}, body: object{{"properties", object{{"shareQuota", share.SizeGiB}}}},
			})
		}
		if f.Addons.AzureFile {
			all = append(all, storageAccountContributor.of(f.Name, parameter("principalId"), "", resourceGroupID, nil))
		}
	}
	m.nested(m.name("storage"), "", s.ResourceGroup, who, all)
}
