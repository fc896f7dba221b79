package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// StackCloud is the name of a cloud whose endpoints are its owner's: Azure Stack Hub, or any other custom set.
const StackCloud = "AzureStackCloud"

// ADFS is the tenant of an authority that is AD FS.
const ADFS = "adfs"

// Cloud is where one Azure is reached. Endpoints have no trailing slash.
type Cloud struct {
	Name            string // canonical for the public ones
	ResourceManager string // "https://management.azure.com"
	Audience        string // whom a token for Resource Manager is for; it may end in a slash, which then belongs to it
	Authority       string // "https://login.microsoftonline.com"
	ADFS            bool   // the authority is AD FS and no Entra ID
}

// clouds are Microsoft's own, as azcore and go-autorest have them.
var clouds = []Cloud{
	{"AzurePublicCloud", "https://management.azure.com", "https://management.azure.com", "https://login.microsoftonline.com", false},
	{"AzureUSGovernmentCloud", "https://management.usgovcloudapi.net", "https://management.core.usgovcloudapi.net", "https://login.microsoftonline.us", false},
	{"AzureChinaCloud", "https://management.chinacloudapi.cn", "https://management.core.chinacloudapi.cn", "https://login.chinacloudapi.cn", false},
}

// aliases are other names of them in lower case, from go-autorest, azclient, the az command line and Resource Manager's own metadata.
var aliases = map[string]string{
	"azurecloud": "AzurePublicCloud", "azurepublic": "AzurePublicCloud", "azureusgovernment": "AzureUSGovernmentCloud",
	"azuregovernmentcloud": "AzureUSGovernmentCloud", "azuregovernment": "AzureUSGovernmentCloud", "azurechina": "AzureChinaCloud",
}

// KnownCloud is one of Microsoft's own clouds by name or alias, in any letter case.
func KnownCloud(name string) (Cloud, bool) {
	if full, ok := aliases[strings.ToLower(name)]; ok {
		name = full
	}
	for _, c := range clouds {
		if strings.EqualFold(c.Name, name) {
			return c, true
		}
	}
	return Cloud{}, false
}

// ParseEnvironment reads the file that AZURE_ENVIRONMENT_FILEPATH names, called file in errors.
func ParseEnvironment(data []byte, file string) (Cloud, error) {
	var w struct {
		Name              string `json:"name"`
		ResourceManager   string `json:"resourceManagerEndpoint"`
		ServiceManagement string `json:"serviceManagementEndpoint"`
		ActiveDirectory   string `json:"activeDirectoryEndpoint"`
		TokenAudience     string `json:"tokenAudience"`
	}
	if json.Unmarshal(data, &w) != nil {
		return Cloud{}, fmt.Errorf("AZURE_ENVIRONMENT_FILEPATH=%s: it must be a JSON object with resourceManagerEndpoint, activeDirectoryEndpoint and tokenAudience as strings", file)
	}
	c := Cloud{Name: w.Name, ResourceManager: w.ResourceManager, Audience: w.TokenAudience}
	if c.Name == "" {
		c.Name = StackCloud
	}
	if c.Audience == "" {
		c.Audience = w.ServiceManagement
	}
	if err := c.complete(w.ActiveDirectory, "resourceManagerEndpoint", "activeDirectoryEndpoint", "tokenAudience"); err != nil {
		return Cloud{}, fmt.Errorf("AZURE_ENVIRONMENT_FILEPATH=%s: %w", file, err)
	}
	return c, nil
}

// description is one cloud in the answer of GET /metadata/endpoints: an entry of the list of api-version 2019-05-01, or the whole
// object of 2015-01-01, which has neither name nor resourceManager.
type description struct {
	Name            string `json:"name"`
	ResourceManager string `json:"resourceManager"`
	Authentication  struct {
		LoginEndpoint    string   `json:"loginEndpoint"`
		Audiences        []string `json:"audiences"`
		IdentityProvider string   `json:"identityProvider"`
	} `json:"authentication"`
}

// ParseMetadata finds the cloud with a name in what endpoint answered to GET /metadata/endpoints. A list of one needs no name, and
// [StackCloud] is a name that fits any single one.
func ParseMetadata(data []byte, endpoint, name string) (Cloud, error) {
	fail := func(format string, args ...any) (Cloud, error) {
		return Cloud{}, fmt.Errorf("resourceManagerEndpoint=%s: its /metadata/endpoints %s", endpoint, fmt.Sprintf(format, args...))
	}
	var found description
	var all []description
	switch {
	case json.Unmarshal(data, &all) == nil:
		var names []string
		hit := -1
		for i, e := range all {
			names = append(names, e.Name)
			if hit < 0 && sameCloud(e.Name, name) {
				hit = i
			}
		}
		if hit < 0 && len(all) == 1 && (name == "" || name == StackCloud) {
			hit = 0
		}
		switch {
		case len(all) == 0:
			return fail("describes no cloud: correct the endpoint, or describe the cloud in the file that AZURE_ENVIRONMENT_FILEPATH names")
		case hit < 0:
			return fail("describes no cloud %q: set cloud (ARM_CLOUD) to one of %s", name, strings.Join(names, ", "))
		}
		found = all[hit]
	case json.Unmarshal(data, &found) == nil:
	default:
		return fail("answers neither a list nor an object of endpoints: correct the endpoint, or describe the cloud in the file that AZURE_ENVIRONMENT_FILEPATH names")
	}
	c := Cloud{Name: found.Name, ResourceManager: found.ResourceManager}
	if c.Name == "" {
		c.Name = name
	}
	if c.Name == "" {
		c.Name = StackCloud
	}
	if known, ok := KnownCloud(c.Name); ok {
		c.Name = known.Name
	}
	if c.ResourceManager == "" {
		c.ResourceManager = endpoint
	}
	c.ADFS = strings.EqualFold(found.Authentication.IdentityProvider, ADFS)
	for _, a := range found.Authentication.Audiences {
		if c.Audience == "" {
			c.Audience = strings.TrimSpace(a)
		}
	}
	if err := c.complete(found.Authentication.LoginEndpoint, "resourceManager", "authentication.loginEndpoint", "authentication.audiences"); err != nil {
		return fail("is of no use for cloud %s: %v", c.Name, err)
	}
	return c, nil
}

func sameCloud(a, b string) bool {
	if x, ok := KnownCloud(a); ok {
		y, _ := KnownCloud(b)
		return x == y
	}
	return strings.EqualFold(a, b)
}

// complete checks the endpoints, and reads AD FS off the authority's path. The words are the fields' names where they come from.
func (c *Cloud) complete(authority, managerField, authorityField, audienceField string) error {
	c.ResourceManager = strings.TrimRight(strings.TrimSpace(c.ResourceManager), "/")
	authority = strings.TrimRight(strings.TrimSpace(authority), "/")
	if at := len(authority) - len("/"+ADFS); at > 0 && strings.EqualFold(authority[at:], "/"+ADFS) {
		authority, c.ADFS = authority[:at], true
	}
	c.Authority = authority
	for _, e := range []struct{ field, value string }{{managerField, c.ResourceManager}, {authorityField, c.Authority}} {
		if u, err := url.Parse(e.value); err != nil || u.Host == "" || u.User != nil {
			return fmt.Errorf("%s is %q and must be a URL such as https://management.local.azurestack.external", e.field, brief(e.value))
		}
	}
	if c.Audience == "" {
		return errors.New(audienceField + " is empty, so that no token can be asked for: give the audience of the cloud's Resource Manager")
	}
	return nil
}
