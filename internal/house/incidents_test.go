package house

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// incidents are the issues that taught the safety contract.
var incidents = []string{
	"AKS#4400", "aks-engine#3655", "autoscaler#1030", "autoscaler#1592", "autoscaler#1674", "autoscaler#1747", "autoscaler#2386", "autoscaler#2620", "autoscaler#2817",
	"autoscaler#3240", "autoscaler#3392", "autoscaler#4051", "autoscaler#4462", "autoscaler#5048", "autoscaler#5465", "autoscaler#5959", "autoscaler#7432", "autoscaler#7943",
	"autoscaler#8323", "autoscaler#9345", "autoscaler#9452", "cloud-provider-azure#635", "k3s#3973", "k8s#93287", "karpenter#1121", "karpenter#2388", "karpenter#701",
	"karpenter-aws#1905", "karpenter-azure#1907", "karpenter-azure#438", "karpenter-azure#543", "nomad-autoscaler#845", "rke2#2441",
}

var (
	incidentScenario = regexp.MustCompile(`\]\(\.\./\.\./(testdata/[^)]*)\)`)
	issue            = regexp.MustCompile(`^[a-zA-Z0-9-]+#[0-9]+$`)
)

// TestEveryIncidentHasItsScenario holds docs/explanation/incidents.md to the scenarios and tests that there are, to the contract, and to the list of incidents.
func TestEveryIncidentHasItsScenario(t *testing.T) {
	const page = "docs/explanation/incidents.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	contract, err := os.ReadFile("docs/safety.md")
	if err != nil {
		t.Fatal(err)
	}
	files := scenariosOfTheHouse(t)
	tests := testsOfTheHouse(t)
	told := map[string]bool{}
	for i, line := range strings.Split(string(text), "\n") {
		at := page + ":" + strconv.Itoa(i+1)
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| source ") {
			continue
		}
		if len(cells) != 4 {
			t.Errorf("%s: %d cells, want source, property, what happened, shown by", at, len(cells))
			continue
		}
		source := strings.TrimPrefix(cells[0], "| ")
		told[source] = true
		if issue.MatchString(source) && !slices.Contains(incidents, source) {
			t.Errorf("%s: %s is not in the list of incidents", at, source)
		}
		if !bytes.Contains(contract, []byte(cells[1])) {
			t.Errorf("%s: %s is not in docs/safety.md", at, cells[1])
		}
		shown := 0
		for _, m := range incidentScenario.FindAllStringSubmatch(cells[3], -1) {
			shown++
			if !slices.Contains(files, m[1]) {
				t.Errorf("%s: there is no %s", at, m[1])
			}
		}
		for _, m := range namedTest.FindAllStringSubmatch(cells[3], -1) {
			shown++
			if !tests[m[1]][m[2]] {
				t.Errorf("%s: %s has no %s", at, m[1], m[2])
			}
		}
		if shown == 0 {
			t.Errorf("%s: nothing shows what sluice does about %s", at, source)
		}
	}
	for _, source := range incidents {
		if !told[source] {
			t.Errorf("%s does not tell of %s", page, source)
		}
	}
}
