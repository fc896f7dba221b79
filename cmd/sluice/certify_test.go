package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/certify"
)

// lab is an Azure behind sockets in which nobody has certified yet. It returns a call of certify, and the file of its record.
func lab(in context.Context, t *testing.T, before func(*http.Request)) (*farm, func(...string) said, string) {
	t.Helper()
	f := newFarm(t)
	arm := f.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before != nil {
			before(r)
		}
		f.azure.ServeHTTP(w, r)
	}))
	record := filepath.Join(t.TempDir(), "record.json")
	return f, func(more ...string) said {
		return sluice(in, append([]string{
			"certify", "--sign-in=machine", "--subscription=" + subscription, "--azure-metadata-endpoint=" + f.serve(f.azure.Metadata("server-0")),
			"--azure-resource-manager-endpoint=" + arm, "--azure-authority-host=" + arm, "--record=" + record,
		}, more...)...)
	}, record
}

// nothingOf holds that nothing of a run is in Azure or beside the record.
func nothingOf(t *testing.T, f *farm, record string) {
	t.Helper()
	for _, r := range f.azure.ScaleSets() {
		if strings.Contains(r.ID, certify.GroupPrefix) {
			t.Errorf("there is %s", r.ID)
		}
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(record), "*.ledger.json*")); err != nil || len(left) > 0 {
		t.Errorf("there is %q, %v", left, err)
	}
}

// changesOf counts the requests that have changed something.
func changesOf(f *farm) (n int) {
	for _, r := range f.azure.Requests() {
		if r.Method != http.MethodGet && !strings.HasSuffix(r.Kind, " token") {
			n++
		}
	}
	return n
}

const groupProbe = "refusals-bear-a-code"

func TestCertifySaysWhatItCostsBeforeItMakesAnything(t *testing.T) {
	f, certify, record := lab(t.Context(), t, nil)
	certify("--plan").expect(t, exitNothing, "at most two at a time, Standard_", "USD", "sluice-certify-... in westeurope")
	certify().expect(t, exitActs, "USD", "nothing was changed: --yes does it")
	if n := changesOf(f); n > 0 {
		t.Errorf("%d requests were no reads", n)
	}
	nothingOf(t, f, record)
	certify("--list").expect(t, exitNothing, groupProbe, "S-04")
}

func TestCertifyAsksRecordsAndRemoves(t *testing.T) {
	f, certify, record := lab(t.Context(), t, nil)
	certify("--yes", "--only="+groupProbe).expect(t, exitNothing, "agrees    "+groupProbe, "resource group sluice-certify-", "is removed", "1 agree, 0 differ")
	nothingOf(t, f, record)
	text, err := os.ReadFile(record)
	must(t, err)
	if strings.Contains(string(text), subscription) || !strings.Contains(string(text), `"cloud": "another"`) {
		t.Errorf("the record: %s", text)
	}
	certify("--yes").complains(t, record+" is there already; move it away")
	must(t, os.Remove(record))

	f.azure.Inject(azuresim.Fault{Kind: "GET virtualMachineScaleSets", Header: []azuresim.Header{{Name: "X-Ms-Error-Code", Value: "Other"}}})
	certify("--yes", "--only="+groupProbe).expect(t, exitActs, "differs   "+groupProbe, "1 differ", "sluice believes: A refusal", "header: Other", "S-21, S-33 of docs/safety.md lean on it")
	nothingOf(t, f, record)
}

// TestCertifyIsInterruptedAndRemoves ends the process's context when the network is asked for.
func TestCertifyIsInterruptedAndRemoves(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	f, certify, record := lab(ctx, t, func(r *http.Request) {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "virtualNetworks") {
			interrupt()
		}
	})
	got := certify("--yes", "--only="+groupProbe)
	if got.code != exitError || !strings.HasSuffix(got.complaint, "sluice: the run was interrupted, and leaves no record\n") {
		t.Errorf("exit %d, %s", got.code, got.complaint)
	}
	nothingOf(t, f, record)
	if _, err := os.Stat(record); err == nil {
		t.Error("there is a record of an interrupted run")
	}
}

// TestCertifyCleansUpAfterAKill has a group and a ledger left, as a killed run leaves them.
func TestCertifyCleansUpAfterAKill(t *testing.T) {
	f, certify, record := lab(t.Context(), t, nil)
	ledger := strings.TrimSuffix(record, ".json") + ".ledger.json"
	must(t, os.WriteFile(ledger, []byte(`{"run":"0badcafe","began":"2026-03-02T09:00:00Z","subscription":"`+subscription+`","group":"sluice-certify-0badcafe","region":"westeurope"}`), 0o600))
	group := azuresim.ResourceGroup{Subscription: subscription, Name: "sluice-certify-0badcafe", Location: "westeurope", Tags: map[string]string{"sluice-certify": "0badcafe"}}
	must(t, f.azure.AddResourceGroup(group))
	certify("--yes").complains(t, "a run of 2026-03-02 09:00:00 has left things in Azure: sluice certify --clean --record="+record+" removes them")
	certify("--plan").expect(t, exitActs, "USD", "wrong     "+ledger+" says that a run of 2026-03-02 09:00:00 has left things in Azure")
	certify("--clean", "--subscription=00000000-0000-0000-0000-00000000000f").complains(t, "is about another one; leave the flag out")
	changed := changesOf(f)
	certify("--clean", "--plan").expect(t, exitActs, "goes      resource group sluice-certify-0badcafe\n", "goes      "+ledger+"\n")
	if _, err := os.Stat(ledger); err != nil || changesOf(f) > changed {
		t.Errorf("a plan has removed something: %v, %d requests", err, changesOf(f)-changed)
	}
	certify("--clean").expect(t, exitNothing, "resource group sluice-certify-0badcafe is removed", "nothing is left of the run of 2026-03-02")
	nothingOf(t, f, record)
	certify("--clean").expect(t, exitNothing, "no run has left anything that is known here")

	must(t, f.azure.AddResourceGroup(group))
	certify("--clean").expect(t, exitActs, "another run has made a resource group", "az group delete --subscription "+subscription+" --name sluice-certify-0badcafe")
	must(t, os.WriteFile(ledger, []byte(`{"run":"0badcafe"`), 0o600))
	certify("--clean").complains(t, ledger+" cannot be read as a ledger")
}

// TestCertifyLeavesARunThatGoesOnAlone asks for a removal when a run asks for its network.
func TestCertifyLeavesARunThatGoesOnAlone(t *testing.T) {
	var certify func(...string) said
	var beside []said
	f, certify, record := lab(t.Context(), t, func(r *http.Request) {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "virtualNetworks") {
			beside = append(beside, certify("--clean"), certify("--clean", "--plan"), certify("--yes"), certify("--plan"))
		}
	})
	certify("--yes", "--only="+groupProbe).expect(t, exitNothing, "1 agree, 0 differ", "virtualNetworks network is removed")
	if len(beside) != 4 {
		t.Fatalf("%d commands ran beside it, want 4", len(beside))
	}
	for _, got := range beside[:2] {
		got.complains(t, " goes on in another process: nothing of it is removed; Ctrl-C there removes what it made")
	}
	beside[2].complains(t, " goes on in another process: wait for its end, or give another --record")
	beside[3].expect(t, exitActs, "wrong     the run of ", " goes on in another process")
	nothingOf(t, f, record)
}

func TestCertifyPlansWhatIsInTheWay(t *testing.T) {
	f, certify, record := lab(t.Context(), t, nil)
	must(t, os.WriteFile(record, []byte("{}"), 0o600))
	must(t, f.azure.Deny(client, "Microsoft.Resources/subscriptions/resourceGroups/delete", "Microsoft.Network/virtualNetworks/write"))
	const rights = "2 rights are missing: Microsoft.Resources/subscriptions/resourceGroups/delete, Microsoft.Network/virtualNetworks/write; assign the role Contributor on the subscription"
	certify("--plan").expect(t, exitActs, "USD", "wrong     "+record+" is there already", "wrong     "+rights)
	must(t, os.Remove(record))
	certify("--plan").expect(t, exitActs, "wrong     "+rights)
	certify("--yes").complains(t, rights)
	if n := changesOf(f); n > 0 {
		t.Errorf("%d requests were no reads", n)
	}
	nothingOf(t, f, record)
	must(t, f.azure.Deny(client, "Microsoft.Authorization/permissions/read"))
	certify("--plan").expect(t, exitNothing, "USD")
}

func TestCertifyRefusesInSentences(t *testing.T) {
	f, certify, record := lab(t.Context(), t, nil)
	certify("--only=entity-tag").complains(t, "--only=entity-tag: there is no such probe; sluice certify --list names them")
	certify("--for=5s").complains(t, "--for=5s: give 1m to 4h")
	certify("--yes", "--region=westeurop").complains(t, "--region=westeurop: Azure sells no size there: give the name of a region such as westeurope")
	certify("--record=").complains(t, "--record is empty")
	certify("--yes", "--record="+filepath.Join(record, "absent", "record.json")).expect(t, exitError)
	f.azure.Quota = map[string]int{"lowPriorityCores": 0}
	certify("--yes").complains(t, "the quota of spot cores in westeurope is 0")
	must(t, f.azure.Deny(client, "Microsoft.Compute/skus/read"))
	certify("--yes").complains(t, "Microsoft.Compute/skus/read")
	if n := changesOf(f); n > 0 {
		t.Errorf("%d requests were no reads", n)
	}
	must(t, f.azure.Allow(client))
	must(t, f.azure.Deny(client, "Microsoft.Resources/subscriptions/resourceGroups/write"))
	f.azure.Quota = nil
	got := certify("--yes", "--only="+groupProbe)
	if got.code != exitError || !strings.Contains(got.complaint, "resourceGroups/write") {
		t.Errorf("exit %d, %s", got.code, got.complaint)
	}
	nothingOf(t, f, record)
}
