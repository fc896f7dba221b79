package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice.dev/sluice/internal/azure/config"
)

// TestSignInOverridesTheEnvironment holds who asks Azure for each flag beside what an environment may have.
func TestSignInOverridesTheEnvironment(t *testing.T) {
	whole := []string{"ARM_TENANT_ID=t", "ARM_CLIENT_ID=c", "ARM_CLIENT_SECRET=s"}
	const half = "aadClientSecret (ARM_CLIENT_SECRET) or aadClientCertPath"
	application := config.Identity{Tenant: "t", Client: "c", Secret: "s"}
	for name, tc := range map[string]struct {
		flag string
		env  []string
		want config.Identity
		err  string
	}{
		"az beside an application":                    {signInAz, whole, config.Identity{CLI: true}, ""},
		"az beside a client alone":                    {signInAz, []string{"ARM_CLIENT_ID=c"}, config.Identity{CLI: true}, ""},
		"az beside half an application of the SDK":    {signInAz, []string{"AZURE_TENANT_ID=t", "AZURE_CLIENT_ID=c"}, config.Identity{CLI: true}, ""},
		"az beside a pod's token":                     {signInAz, []string{"AZURE_TENANT_ID=t", "AZURE_CLIENT_ID=c", "AZURE_FEDERATED_TOKEN_FILE=/token"}, config.Identity{CLI: true}, ""},
		"machine beside an application":               {signInMachine, whole, config.Identity{}, ""},
		"machine beside half an application":          {signInMachine, []string{"AZURE_TENANT_ID=t", "AZURE_CLIENT_ID=c"}, config.Identity{}, ""},
		"machine with an identity of its own":         {signInMachine, append([]string{"ARM_USER_ASSIGNED_IDENTITY_ID=u"}, whole...), config.Identity{UserAssigned: "u"}, ""},
		"environment":                                 {signInEnvironment, whole, application, ""},
		"environment that chooses the machine":        {signInEnvironment, append([]string{"ARM_USE_MANAGED_IDENTITY_EXTENSION=true"}, whole...), application, ""},
		"environment without any":                     {signInEnvironment, nil, config.Identity{}, "--sign-in=environment: set ARM_TENANT_ID, ARM_CLIENT_ID and ARM_CLIENT_SECRET"},
		"environment with half of one":                {signInEnvironment, []string{"AZURE_TENANT_ID=t", "AZURE_CLIENT_ID=c"}, config.Identity{}, half},
		"auto with an application":                    {signInAny, whole, application, ""},
		"auto with half of one":                       {signInAny, []string{"AZURE_TENANT_ID=t", "AZURE_CLIENT_ID=c"}, config.Identity{}, "; --sign-in=az and --sign-in=machine pass over it"},
		"another flag, before what the variables say": {"az-cli", []string{"ARM_CLIENT_ID=c"}, config.Identity{}, "--sign-in=az-cli: give auto, az, environment or machine"},
	} {
		t.Run(name, func(t *testing.T) {
			nowhere(t)
			for _, pair := range tc.env {
				k, v, _ := strings.Cut(pair, "=")
				t.Setenv(k, v)
			}
			b := builder{signIn: tc.flag, subscription: subscription}
			o, err := b.options(t.Context(), "farm", "westeurope")
			switch {
			case tc.err == "" && (err != nil || o.Identity != tc.want):
				t.Errorf("%s signs in, %v; want %s", o.Identity, err, tc.want)
			case tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)):
				t.Errorf("the error is %v, want %s", err, tc.err)
			}
		})
	}
}

// TestAzSignsInBesideAnApplicationOfTheEnvironment has an az that refuses what the real one refuses: a tenant beside a subscription.
func TestAzSignsInBesideAnApplicationOfTheEnvironment(t *testing.T) {
	f := newFarm(t)
	f.azure.AnyToken = true
	bin := t.TempDir()
	must(t, os.WriteFile(filepath.Join(bin, "az"), []byte(`#!/bin/sh
case "$*" in
*--tenant*) echo 'ERROR: Please specify only one of subscription and tenant, not both' >&2; exit 1;;
*"get-access-token"*"`+subscription+`"*) echo '{"accessToken":"a.b.c","expires_on":4102444800,"expiresOn":"2100-01-01 00:00:00.000000"}';;
*) echo "ERROR: $*" >&2; exit 1;;
esac
`), 0o700)) //nolint:gosec // it is run
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("ARM_TENANT_ID", tenant)
	t.Setenv("ARM_CLIENT_ID", client)
	arm := f.serve(f.azure)
	sluice(t.Context(), "certify", "--plan", "--sign-in=az", "--subscription="+subscription, "--record="+filepath.Join(t.TempDir(), "record.json"),
		"--azure-resource-manager-endpoint="+arm, "--azure-authority-host="+arm).expect(t, exitNothing, "at most two at a time")
}
