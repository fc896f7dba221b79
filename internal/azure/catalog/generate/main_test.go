package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	sizesBefore = `# Azure virtual machine sizes. generated: 2026-01-01. source: before
name,family,vcpus,quota_vcpus,memory_mib,gpus,max_data_disks,resource_disk_mib,arch,spot
Standard_D16plds_v5,wrong,1,1,1,0,0,0,amd64,no
Standard_D2s_v5,standardDSv5Family,2,2,8192,0,4,0,amd64,yes
`
	pricesBefore = `# Azure list prices, Linux, pay as you go, USD an hour. generated: 2026-01-01. source: before
size,region,regular,spot,as_of
Standard_D2s_v5,eastus,0.096,,2026-01-01
Standard_D4s_v5,westeurope,9,,2026-01-01
`
)

// tables is a directory with both tables as they were before.
func tables(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"sizes.csv": sizesBefore, "prices.csv": pricesBefore} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func read(t *testing.T, elem ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestAnswersOfAzureReplaceWhatTheTablesSay(t *testing.T) {
	dir := tables(t)
	var out bytes.Buffer
	err := run([]string{"-dir", dir, "-date", "2026-11-21", "-skus", "testdata/skus*.json", "-prices", "testdata/prices*.json"}, &out)
	if err != nil {
		t.Fatal(err)
	}
	wantSizes := `# Azure virtual machine sizes. generated: 2026-11-21. source: Azure's list of resource SKUs; docs/reference/catalog.md
name,family,vcpus,quota_vcpus,memory_mib,gpus,max_data_disks,resource_disk_mib,arch,spot
Standard_D2s_v5,standardDSv5Family,2,2,8192,0,4,0,amd64,yes
Standard_D16plds_v5,standardDPLDSv5Family,16,16,32768,0,32,614400,arm64,yes
Standard_M8-2ms,standardMSFamily,2,8,224000,0,8,256000,amd64,yes
Standard_NC16as_T4_v3,Standard NCASv3_T4 Family,16,16,112640,1,32,360448,amd64,no
`
	if diff := cmp.Diff(wantSizes, read(t, dir, "sizes.csv")); diff != "" {
		t.Errorf("sizes.csv (-want +got):\n%s", diff)
	}
	wantPrices := `# Azure list prices, Linux, pay as you go, USD an hour. generated: 2026-11-21. source: Azure's retail price list; docs/reference/catalog.md
size,region,regular,spot,as_of
Standard_D2s_v5,eastus,0.096,,2026-01-01
Standard_D4s_v5,westeurope,0.23,0.046,2026-11-21
`
	if diff := cmp.Diff(wantPrices, read(t, dir, "prices.csv")); diff != "" {
		t.Errorf("prices.csv (-want +got):\n%s", diff)
	}
	if !strings.Contains(out.String(), "4 sizes, 3 of them read") || !strings.Contains(out.String(), "2 prices, 1 of them read") {
		t.Errorf("it said %q", out.String())
	}
}

func TestAFileThatIsNoAnswerChangesNothing(t *testing.T) {
	for what, c := range map[string]struct{ args []string }{
		"prices given as SKUs": {[]string{"-date", "2026-11-21", "-skus", "testdata/prices*.json"}},
		"SKUs given as prices": {[]string{"-date", "2026-11-21", "-prices", "testdata/skus-page.json"}},
		"no such file":         {[]string{"-date", "2026-11-21", "-prices", "testdata/none*.json"}},
		"no day":               {[]string{"-skus", "testdata/skus*.json"}},
		"nothing to read":      {[]string{"-date", "2026-11-21"}},
	} {
		t.Run(what, func(t *testing.T) {
			dir := tables(t)
			if err := run(append([]string{"-dir", dir}, c.args...), &bytes.Buffer{}); err == nil {
				t.Error("it said nothing")
			}
			if read(t, dir, "sizes.csv") != sizesBefore || read(t, dir, "prices.csv") != pricesBefore {
				t.Error("a table has changed")
			}
		})
	}
}
