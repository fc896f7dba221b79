package certify_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice.dev/sluice/internal/certify"
)

var update = flag.Bool("update", false, "rewrite docs/reference/azure-facts.md")

func read(t *testing.T, page ...string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(append([]string{"..", "..", "docs"}, page...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestEachProbeIsComplete holds what a probe says of itself.
func TestEachProbeIsComplete(t *testing.T) {
	safety := read(t, "safety.md")
	names := map[string]bool{}
	for _, p := range certify.Probes() {
		switch {
		case !regexp.MustCompile(`^[a-z]+(-[a-z0-9]+)+$`).MatchString(p.Name) || names[p.Name]:
			t.Errorf("%q: the name is not in kebab case, or not the only one", p.Name)
		case !sentence(p.Fact):
			t.Errorf("%s: the fact is no sentence of at most 30 words: %s", p.Name, p.Fact)
		case !source(p.Source):
			t.Errorf("%s: the source %q is no address", p.Name, p.Source)
		case len(p.Promises) == 0 || !slices.IsSorted(p.Promises):
			t.Errorf("%s: the promises %q", p.Name, p.Promises)
		case p.Run == nil:
			t.Errorf("%s: it asks nothing", p.Name)
		}
		for _, id := range p.Promises {
			if !strings.Contains(safety, "\n| "+id+" |") {
				t.Errorf("%s: %s is no promise of docs/safety.md", p.Name, id)
			}
		}
		names[p.Name] = true
	}
	for _, f := range certify.NotProbedFacts() {
		if !sentence(f.Fact) || !source(f.Source) || f.Why == "" {
			t.Errorf("%+v", f)
		}
	}
}

func sentence(s string) bool { return strings.HasSuffix(s, ".") && len(strings.Fields(s)) <= 30 }

func source(s string) bool {
	return strings.HasPrefix(s, "https://") || s == "observed by nobody" || s == "documented; page not checked"
}

// TestThePageOfAzureFactsIsCurrent keeps docs/reference/azure-facts.md, which is made here of the probes and the records, true.
func TestThePageOfAzureFactsIsCurrent(t *testing.T) {
	records, err := certify.Records()
	if err != nil {
		t.Fatal(err)
	}
	want := pageOf(records)
	page := filepath.Join("..", "..", "docs", "reference", "azure-facts.md")
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if read(t, "reference", "azure-facts.md") != want {
		t.Error("docs/reference/azure-facts.md is not current: run go test ./internal/certify -run PageOfAzureFacts -update")
	}
}

// TestThePageTellsWhatRecordsSaw makes the page of records that are not in the repository.
func TestThePageTellsWhatRecordsSaw(t *testing.T) {
	name := certify.Probes()[0].Name
	record := func(cloud string, v certify.Verdict) *certify.Record {
		return &certify.Record{Cloud: cloud, Date: "2026-05-01", Region: "northeurope", Results: []certify.Result{
			{Name: name, Verdict: v, Seen: map[string]string{"status": "410", "code": "Gone"}},
		}}
	}
	for want, records := range map[string][]*certify.Record{
		"agrees: northeurope 2026-05-01 |":                                {record("AzurePublicCloud", certify.Agrees)},
		"**differs**: northeurope 2026-05-01 (code: Gone, status: 410) |": {record("AzurePublicCloud", certify.Differs)},
		"**not yet seen** |":                                              {record("another", certify.Agrees), record("AzurePublicCloud", certify.NotSeen)},
	} {
		first := ""
		for line := range strings.Lines(pageOf(records)) {
			if strings.HasPrefix(line, "| "+name+" |") {
				first = strings.TrimSpace(line)
			}
		}
		if !strings.HasSuffix(first, "| "+want) {
			t.Errorf("the line ends otherwise than in %q: %s", want, first)
		}
	}
}

// pageOf is the page. Records of simulators are no evidence.
func pageOf(records []*certify.Record) string {
	var b strings.Builder
	b.WriteString("# What sluice believes of Azure\n\nThis page is made by `go test ./internal/certify -run PageOfAzureFacts -update`. " +
		"Every fact is tried on azuresim at each change. `sluice certify` tries it in a subscription of yours; " +
		"its record, put into `internal/certify/records`, fills the last column.\n\n" +
		"A fact is documented by Microsoft, or reported by somebody who saw it. \"Observed by nobody\" is what sluice concludes. " +
		"What a link leads to was read, and holds the fact or the main part of it.\n\n" +
		"## Probes\n\n| probe | fact | source | promises that lean on it | azuresim | Azure |\n|---|---|---|---|---|---|\n")
	for _, p := range certify.Probes() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | agrees | %s |\n", p.Name, p.Fact, cited(p.Source), strings.Join(p.Promises, ", "), inAzure(p.Name, records))
	}
	b.WriteString("\n## What is not tried\n\n| fact | source | why not |\n|---|---|---|\n")
	for _, f := range certify.NotProbedFacts() {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", f.Fact, cited(f.Source), f.Why)
	}
	return b.String()
}

func cited(source string) string {
	if !strings.HasPrefix(source, "https://") {
		return source
	}
	word := "documented"
	if strings.HasPrefix(source, "https://github.com/") {
		word = "reported"
	}
	return "[" + word + "](" + source + ")"
}

// inAzure is what the records of Azure itself saw of a probe.
func inAzure(name string, records []*certify.Record) string {
	var all []string
	for _, r := range records {
		for _, is := range r.Results {
			at := r.Region + " " + r.Date
			switch {
			case is.Name != name || !strings.HasPrefix(r.Cloud, "Azure"):
			case is.Verdict == certify.Agrees:
				all = append(all, "agrees: "+at)
			case is.Verdict == certify.Differs:
				var saw []string
				for k, v := range is.Seen {
					saw = append(saw, k+": "+strings.ReplaceAll(v, "|", "\\|"))
				}
				slices.Sort(saw)
				all = append(all, "**differs**: "+at+" ("+strings.Join(saw, ", ")+")")
			}
		}
	}
	if len(all) == 0 {
		return "**not yet seen**"
	}
	return strings.Join(all, "; ")
}
