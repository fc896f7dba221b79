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

sluice reads the settings that cluster-autoscaler's Azure provider reads: the file that ` + "`--cloud-config`" + ` names, which
cloud-provider-azure and the CSI drivers share, and the environment. Of several sources the later wins: the default, the
file, older names of a key in the file, the environment; of several variables of a row the right one. Values are trimmed, and
blank ones are absent. Keys have any letter case, numbers and truths may be quoted. A value that cannot be read ends the start
with a sentence that names it; secrets are never shown. With nothing at all, sluice asks the machine it runs on.

*Standing*: **honoured**; **always**: done whatever the value says; **without effect**: read and checked, and
noted in the log when it is switched on or named;
**refused**: any value but the default ends the start, for the reason given.

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
certificate. With none the machine's own identity is used. Managed identity comes from instance metadata, or from
` + "`IDENTITY_ENDPOINT`" + ` and ` + "`IDENTITY_HEADER`" + ` where a platform sets them.

## Clouds

`)
	for _, c := range clouds {
		fmt.Fprintf(&b, "- `%s`: Resource Manager %s, authority %s, audience %s\n", c.Name, c.ResourceManager, c.Authority, c.Audience)
	}
	b.WriteString(`- ` + "`AzureStackCloud`" + `, and any other custom cloud: the file that ` + "`AZURE_ENVIRONMENT_FILEPATH`" + ` names, or else
  ` + "`resourceManagerEndpoint`" + `, whose ` + "`/metadata/endpoints`" + ` is asked for the entry named as ` + "`cloud`" + `

The file of a custom cloud is a JSON object: ` + code("name", "resourceManagerEndpoint", "activeDirectoryEndpoint", "tokenAudience") + ` (else
` + "`serviceManagementEndpoint`" + `). An authority that ends in ` + "`/adfs`" + ` is AD FS. Nothing is asked of any other host than
Resource Manager, the authority and instance metadata.

## Keys of other programs

Accepted in silence: ` + code(foreign...) + `.

A key that stands in neither list has no effect, and a warning names it.
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
