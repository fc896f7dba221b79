package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Markdown is docs/reference/azure-config.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString(`# azure.json and the environment

This page is made by ` + "`go test ./internal/azure/config -run Documentation -update`" + `.

sluice reads the settings that cluster-autoscaler's Azure provider reads: the file of ` + "`--cloud-config`" + `, which
cloud-provider-azure and the CSI drivers share, and the environment. The later source wins: default, file, older names of a key in the file,
environment. Where a row has several variables, the right one wins. Values are trimmed; blank values count as absent. Letter case of keys does not matter;
numbers and booleans may be quoted. A value that cannot be read ends the start, and the message names it. Secrets are never shown. Without any
setting, sluice asks the machine it runs on.

*Standing*: **honoured**; **always**: done whatever the value says; **without effect**: read and checked, and named in the log when it is
switched on; **refused**: any value but the default ends the start, for the reason given.

| Key | Environment | Type | Default | Standing | |
|---|---|---|---|---|---|
`)
	for _, s := range Settings {
		key := code(s.Key)
		if len(s.Older) > 0 {
			key += " (older: " + code(s.Older...) + ")"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s. |\n", key, code(s.Variables...), s.typeOf(), s.Default, s.Standing, strings.ToUpper(s.About[:1])+s.About[1:])
	}
	b.WriteString(`
## The environment, by name

| Variable | Key | Standing |
|---|---|---|
`)
	rows := map[string]string{}
	for _, s := range Settings {
		for _, v := range s.Variables {
			rows[v] = fmt.Sprintf("| %s | %s | %s |\n", code(v), code(s.Key), s.Standing)
		}
	}
	for _, v := range slices.Sorted(maps.Keys(rows)) {
		b.WriteString(rows[v])
	}
	b.WriteString(`
## Credentials

The first that is given counts: a federated token (workload identity), a managed identity, a client secret, a client
certificate. With none, the machine's own identity counts. Managed identity comes from instance metadata, or from
` + "`IDENTITY_ENDPOINT`" + ` and ` + "`IDENTITY_HEADER`" + ` where a platform sets them.

## Clouds

`)
	for _, c := range clouds {
		fmt.Fprintf(&b, "- `%s`: Resource Manager %s, authority %s, audience %s\n", c.Name, c.ResourceManager, c.Authority, c.Audience)
	}
	b.WriteString(`- ` + "`AzureStackCloud`" + `, and any other custom cloud: the file that ` + "`AZURE_ENVIRONMENT_FILEPATH`" + ` names, or else
  ` + "`resourceManagerEndpoint`" + `, whose ` + "`/metadata/endpoints`" + ` has the entry named in ` + "`cloud`" + `

The file of a custom cloud is a JSON object: ` + code("name", "resourceManagerEndpoint", "activeDirectoryEndpoint", "tokenAudience") + ` (else
` + "`serviceManagementEndpoint`" + `). An authority that ends in ` + "`/adfs`" + ` is AD FS. sluice contacts no other host than
Resource Manager, the authority and instance metadata.

## Keys of other programs

Accepted without a message: ` + code(foreign...) + `.

A key in neither list has no effect, and a warning names it.
`)
	return b.String()
}

func code(names ...string) string {
	var out []string
	for _, n := range names {
		if n != "" {
			out = append(out, "`"+n+"`")
		}
	}
	return strings.Join(out, ", ")
}
