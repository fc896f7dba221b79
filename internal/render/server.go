package render

import (
	"strings"

	"sluice.dev/sluice/internal/azure/catalog"
	"sluice.dev/sluice/internal/clusterfile"
)

// identity is who the server is.
type identity struct {
	id        string   // the expression of its id; "" for the server's own
	principal string   // the expression of its object id
	client    string   // the expression of its client id; "" for the server's own
	waits     []string // what must be there before principal is known
	made      bool
}

func (m *maker) identity() identity {
	f := m.f
	machine := resourceID(kindMachine, f.ServerName())
	if f.Identity.Kind == clusterfile.SystemAssigned {
		return identity{
			principal: call("reference", machine, quote(computeVersion), quote("full")) + ".identity.principalId",
			waits:     []string{machine},
		}
	}
	who := identity{id: quote(f.Identity.ID)}
	if f.Identity.ID == "" {
		made := m.add(resource{kind: kindIdentity, version: identityVersion, name: f.ServerName(), body: m.located()})
		who.id, who.waits, who.made = made.id(), []string{made.id()}, true
	}
	who.principal = call("reference", who.id, quote(identityVersion)) + ".principalId"
	who.client = call("reference", who.id, quote(identityVersion)) + ".clientId"
	return who
}

// wire is the identity as a machine has it.
func (i identity) wire() object {
	if i.id == "" {
		return object{{"type", "SystemAssigned"}}
	}
	id := i.id
	if strings.HasPrefix(id, "'") {
		id = strings.Trim(id, "'")
	} else {
		id = expr(id)
	}
	return object{{"type", "UserAssigned"}, {"userAssignedIdentities", object{{id, object{}}}}}
}

// vault makes the Key Vault with the key of the door. Its name must be free in all of Azure.
func (m *maker) vault() resource {
	if m.f.Secrets != clusterfile.KeyVault {
		return resource{}
	}
	const most = 24 // characters of a vault's name: so many of the cluster's are left beside a dash and the suffix of 13
	short := strings.TrimRight(m.f.Name[:min(len(m.f.Name), most-14)], "-")
	m.variables = append(m.variables, pair{"vault", expr(call("concat", quote(short+"-"), variable("suffix")))})
	vault := m.add(resource{
		kind: kindVault, version: vaultVersion, name: variable("vault"),
		body: m.located(pair{"properties", object{
			{"tenantId", expr("subscription().tenantId")},
			{"sku", object{{"family", "A"}, {"name", "standard"}}},
			{"enableRbacAuthorization", true}, {"softDeleteRetentionInDays", 7}, {"publicNetworkAccess", "Enabled"},
		}}),
	})
	m.add(resource{
		kind: kindSecret, version: vaultVersion, name: call("concat", variable("vault"), quote("/"+JoinSecret)),
		condition: call("not", call("empty", parameter(ParameterKey))), dependsOn: []string{vault.id()},
		body: object{{"tags", m.tags(pair{JoinTag, expr(parameter(ParameterFingerprint))})}, {"properties", object{
			{"value", expr(parameter(ParameterKey))}, {"contentType", "application/x-pem-file"},
			{"attributes", object{{"enabled", true}}},
		}}},
	})
	m.output("keyVault", expr(variable("vault")))
	return vault
}

// server makes the server's machine, its interface with a fixed private address, and the disk of the cluster's data, which outlives it. The machine is
// made once: Azure lets nobody change custom data. It gives the id of the interface.
func (m *maker) server(at place, who identity, vault resource) string {
	f, s := m.f, &m.f.Server
	configuration := object{
		{"subnet", object{{"id", expr(at.subnet)}}}, {"privateIPAllocationMethod", "Static"}, {"privateIPAddress", s.Address}, {"primary", true},
	}
	security := m.serverSecurity()
	waits := append([]string{security.id()}, at.waits...)
	if s.PublicAddress {
		public := m.add(resource{
			kind: kindPublic, version: networkVersion, name: f.ServerName(),
			body: m.located(pair{"sku", object{{"name", "Standard"}}}).with(zones(s.Zone), pair{"properties", object{
				{"publicIPAllocationMethod", "Static"}, {"publicIPAddressVersion", "IPv4"},
			}}),
		})
		at.public = public.id()
		configuration = append(configuration, pair{"publicIPAddress", object{{"id", expr(public.id())}}})
		waits = append(waits, public.id())
		m.output(OutputAddress, expr(call("reference", public.id(), quote(networkVersion))+".ipAddress"))
	}
	m.output("address", s.Address)
	nic := m.add(resource{
		kind: kindInterface, version: networkVersion, name: f.ServerName(), dependsOn: waits,
		body: m.located(pair{"properties", object{
			{"networkSecurityGroup", object{{"id", expr(security.id())}}},
			{"ipConfigurations", list{object{{"name", "primary"}, {"properties", configuration}}}},
		}}),
	})
	disk := m.add(resource{
		kind: kindDisk, version: diskVersion, name: m.name("server-data"),
		body: m.located(pair{"sku", object{{"name", s.DataDiskType}}}).with(zones(s.Zone), pair{"properties", object{
			{"creationData", object{{"createOption", "Empty"}}}, {"diskSizeGB", s.DataDiskGiB},
		}}),
	})
	filled := map[string]string{"tenantId": "subscription().tenantId", "subscriptionId": "subscription().subscriptionId"}
	depends := []string{nic.id(), disk.id()}
	if who.made {
		depends = append(depends, who.waits...)
	}
	if who.client != "" {
		filled["clientId"] = who.client
	}
	if vault.kind != "" {
		filled["vaultUri"] = call("reference", vault.id(), quote(vaultVersion)) + ".vaultUri"
		depends = append(depends, vault.id())
	}
	if at.public != "" {
		filled["publicAddress"] = call("reference", at.public, quote(networkVersion)) + ".ipAddress"
		depends = append(depends, at.public)
	}
	m.variables = append(m.variables, pair{"server", literal(string(m.r.Server))})
	size, _ := catalog.Find(s.Size)
	storage := object{
		{"imageReference", imageReference(f.Image, size.Arch)},
		{"osDisk", object{
			{"createOption", "FromImage"}, {"caching", "ReadWrite"}, {"diskSizeGB", s.OSDiskGiB}, {"deleteOption", "Delete"},
			{"managedDisk", object{{"storageAccountType", "StandardSSD_LRS"}}},
		}},
		{"dataDisks", list{object{
			{"lun", 0}, {"createOption", "Attach"}, {"caching", "None"}, {"deleteOption", "Detach"}, {"managedDisk", object{{"id", expr(disk.id())}}},
		}}},
	}
	m.add(resource{
		kind: kindMachine, version: computeVersion, name: f.ServerName(), condition: isNew(NewServer), dependsOn: depends,
		body: object{{"location", f.Region}, {"tags", m.tags(pair{JoinTag, expr(parameter(ParameterFingerprint))})}}.with(zones(s.Zone),
			pair{"identity", who.wire()},
			pair{"properties", object{
				{"hardwareProfile", object{{"vmSize", s.Size}}},
				{"storageProfile", storage},
				{"osProfile", m.osProfile(pair{"computerName", f.ServerName()}, filledIn("server", string(m.r.Server), filled))},
				{"networkProfile", object{{"networkInterfaces", list{object{{"id", expr(nic.id())}, {"properties", object{{"deleteOption", "Detach"}}}}}}}},
				{"diagnosticsProfile", object{{"bootDiagnostics", object{{"enabled", true}}}}},
			}}),
	})
	m.keepFile()
	return nic.id()
}

// keepFile has Azure keep the file that the server is made of, which no later deployment tells it anew. It is the record of a deployment without resources:
// the machine's custom data, which Azure shows nobody, is of this file.
func (m *maker) keepFile() {
	m.add(resource{
		kind: kindDeployment, version: nestedVersion, name: m.f.ServerName(), condition: isNew(NewServer),
		body: object{{"properties", object{
			{"mode", "Incremental"}, {"expressionEvaluationOptions", object{{"scope", "inner"}}},
			{"template", object{
				{"$schema", templateSchema}, {"contentVersion", contentVersion},
				{"metadata", object{{MetadataFile, string(clusterfile.Write(*m.f))}}}, {"resources", list{}},
			}},
		}}},
	})
}

// zones is the member of a resource in a zone, without a value for one in none.
func zones(zone string) pair {
	if zone == "" {
		return pair{"zones", nil}
	}
	return pair{"zones", []string{zone}}
}

// osProfile is what machines of the server and of pools have in common, with who they are in front.
func (m *maker) osProfile(name pair, customData string) object {
	ssh := object{{"publicKeys", list{object{{"path", "/home/" + m.f.SSH.User + "/.ssh/authorized_keys"}, {"keyData", m.f.SSH.PublicKey}}}}}
	return object{
		name, {"adminUsername", m.f.SSH.User}, {"customData", customData},
		{"linuxConfiguration", object{{"disablePasswordAuthentication", true}, {"ssh", ssh}}},
	}
}

// filledIn is the cloud-init in a variable, with the words between @@ replaced by what only Azure knows. Words that the text does not have are left out, so
// that nothing waits for them.
func filledIn(name, text string, words map[string]string) string {
	e := variable(name)
	for _, word := range []string{"fingerprint", "tenantId", "subscriptionId", "clientId", "vaultUri", "publicAddress"} {
		if by := words[word]; by != "" && strings.Contains(text, "@@"+word+"@@") {
			e = call("replace", e, quote("@@"+word+"@@"), by)
		}
	}
	return expr(call("base64", e))
}
