package chart

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/strvals"
)

// fence is a block of code in Markdown, its text captured.
var fence = regexp.MustCompile("(?s)\n```\n(.*?)\n```\n")

// TestTheGuidesBlocksWork takes every line that docs/how-to/install.md gives to copy: make has the target, the API server takes what kubectl applies, and Helm
// renders what it installs into something that the API server takes.
func TestTheGuidesBlocksWork(t *testing.T) {
	c := connect(t)
	guide, err := os.ReadFile("../../docs/how-to/install.md")
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]int{}
	for _, block := range fence.FindAllStringSubmatch(string(guide), -1) {
		for line := range strings.Lines(block[1]) {
			words := strings.Fields(strings.Split(line, " #")[0])
			tried[words[0]]++
			switch words[0] {
			case "make":
				if !strings.Contains(string(makefile), "\n"+words[1]+":") {
					t.Errorf("there is no make %s", words[1])
				}
			case "kubectl":
				if words[1] != "apply" {
					t.Errorf("%s: only apply is known here", line)
				}
				for i := 2; i+1 < len(words); i += 2 {
					objects := build
					if words[i] == "-f" {
						objects = func(t *testing.T, path string) []byte {
							text, err := os.ReadFile(path)
							if err != nil {
								t.Fatal(err)
							}
							return text
						}
					}
					for _, refusal := range c.accepts(parse(t, objects(t, "../../"+words[i+1]))) {
						t.Errorf("%s: %s", line, refusal)
					}
				}
			case "helm":
				v := values{}
				for i, word := range words {
					if word == "--set" {
						if err := strvals.ParseInto(words[i+1], v); err != nil {
							t.Fatal(err)
						}
					}
				}
				if words[1] != "install" || words[3] != "deploy/chart" {
					t.Errorf("%s: only install of deploy/chart is known here", line)
				}
				for _, refusal := range c.accepts(mustRender(t, words[2], "kube-system", v)) {
					t.Errorf("%s: %s", line, refusal)
				}
			}
		}
	}
	if tried["make"] == 0 || tried["kubectl"] < 2 || tried["helm"] == 0 {
		t.Errorf("tried %v, too few", tried)
	}
}
