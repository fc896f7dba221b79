package main

import (
	"cmp"
	"encoding/json"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/setting"
)

// verbs are the root and every command below it.
func verbs(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		all = append(all, verbs(c)...)
	}
	return all
}

// TestHelpFitsTheScreen holds every line of every page to the width, but for what is there to be copied.
func TestHelpFitsTheScreen(t *testing.T) {
	for _, cmd := range verbs(root()) {
		for _, width := range []int{60, 80, 100, 200} {
			for _, all := range []bool{false, true} {
				text := helpOf(cmd, all, width)
				text = strings.NewReplacer(cmp.Or(cmd.Example, "none"), "x", "  "+cmd.UseLine()+"\n", "x\n").Replace(text)
				for _, line := range strings.Split(text, "\n") {
					if n := len([]rune(line)); n > min(width, widest) && strings.Contains(strings.TrimLeft(line, " "), " ") {
						t.Errorf("%s --help in %d columns has a line of %d: %s", cmd.CommandPath(), width, n, line)
					}
					if strings.TrimRight(line, " ") != line {
						t.Errorf("%s --help: blanks end the line %q", cmd.CommandPath(), line)
					}
				}
				if strings.Contains(text, "\n\n\n") || strings.Contains(text, "\x1b") {
					t.Errorf("%s --help has empty lines, or colours:\n%s", cmd.CommandPath(), text)
				}
			}
		}
	}
}

// shown are the flags that a page of help lists in its left column.
func shown(help string) (names []string) {
	_, help, _ = strings.Cut(help, "\nUsage:\n")
	for _, m := range regexp.MustCompile(`(?m)^(?:      |  -\w, )--([\w-]+)`).FindAllStringSubmatch(help, -1) {
		names = append(names, m[1])
	}
	return names
}

// TestHelpShowsTenFlagsOfRun names those that people use first. Ten are as many as one reads.
func TestHelpShowsTenFlagsOfRun(t *testing.T) {
	got := sluice(t.Context(), "run", "--help")
	got.expect(t, exitNothing, "Run the autoscaler until it is told to stop", "sluice run --nodes=1:10:agents", "flags more: sluice run --help-all")
	want := []string{
		"nodes", "node-group-auto-discovery", "max-nodes-total", "scale-down-unneeded-time", "scale-down-utilization-threshold", "cloud-config",
		"kubeconfig", "dry-run", "address", "journal",
	}
	if names := shown(got.out); !slices.Equal(names, want) {
		t.Errorf("help shows\n%q, want\n%q", names, want)
	}
}

// TestEveryFlagOfEveryVerbHasAGroup holds that what help with --help-all shows is all, once, and that no flag of run stands outside of the table of
// settings: there it would have no heading.
func TestEveryFlagOfEveryVerbHasAGroup(t *testing.T) {
	for _, cmd := range verbs(root()) {
		help := helpOf(cmd, true, 80)
		var want []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			switch {
			case f.Hidden || f.Name == "help":
			case app.Moot(f):
				if _, moot, _ := strings.Cut(help, "Accepted, without effect:"); strings.Count(" "+strings.Join(strings.Fields(moot), " ")+" ", " --"+f.Name+" ") != 1 {
					t.Errorf("%s --help-all does not name --%s among those without effect", cmd.CommandPath(), f.Name)
				}
			default:
				want = append(want, f.Name)
			}
		})
		got := shown(help)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s --help-all shows\n%q, want\n%q", cmd.CommandPath(), got, want)
		}
	}
	titles, flags := inSections(runCommand().Flags())
	if titles[0] == own {
		t.Errorf("--%s of run has no row in the table of settings", flags[0][0].Name)
	}
	for _, s := range setting.Table[:len(setting.Table)-1] {
		if !slices.Contains(titles, s.Title) {
			t.Errorf("run has no flag of the section %s", s.Title)
		}
	}
}

// TestAFlagThatMeansSomethingElseIsTheVerbsOwn holds that explain's journal stands in front, and its flags of the policy do not.
func TestAFlagThatMeansSomethingElseIsTheVerbsOwn(t *testing.T) {
	short := shown(sluice(t.Context(), "explain", "--help").out)
	for _, name := range []string{"journal", "server", "namespace", "kubeconfig", "nodes"} {
		if !slices.Contains(short, name) {
			t.Errorf("explain --help does not show --%s: %q", name, short)
		}
	}
	if slices.Contains(short, "gang-hold") || !slices.Contains(shown(sluice(t.Context(), "explain", "--help-all").out), "gang-hold") {
		t.Error("--gang-hold is not shown by --help-all alone")
	}
}

// TestHelpAllNeedsNothingElse holds that it is answered before arguments are looked at, and wherever help is.
func TestHelpAllNeedsNothingElse(t *testing.T) {
	sluice(t.Context(), "explain", "--help-all").expect(t, exitNothing, "Node groups:", "Accepted, without effect:")
	sluice(t.Context(), "run", "--nodes=1:2:a", "--help-all").expect(t, exitNothing, "Leader election:")
	sluice(t.Context(), "simulate", "--help-all").expect(t, exitNothing, "Statements:", "  advance DURATION\n      lets time pass")
	if short := sluice(t.Context(), "simulate", "--help"); strings.Contains(short.out, "lets time pass") || !strings.Contains(short.out, "More: sluice simulate --help-all") {
		t.Errorf("simulate --help:\n%s", short.out)
	}
	sluice(t.Context(), "help", "pause").expect(t, exitNothing, "Usage:\n  sluice pause [GROUP]")
}

func TestEveryVerbStandsInAGroup(t *testing.T) {
	help := sluice(t.Context(), "--help").out
	for _, c := range root().Commands() {
		if c.Hidden && c.Name() == "pool" { // a second way to a verb of cluster
			continue
		}
		if c.GroupID == "" {
			t.Errorf("%s is in no group: say in root in which", c.Name())
		}
		if strings.Count(help, "\n  "+c.Name()+" ") != 1 {
			t.Errorf("sluice --help does not list %s once", c.Name())
		}
	}
}

// TestVersionSaysWhatTheProgramIsMadeOf holds that a report of a fault needs one command.
func TestVersionSaysWhatTheProgramIsMadeOf(t *testing.T) {
	got := sluice(t.Context(), "version", "-o", "json")
	got.expect(t, exitNothing)
	var b build
	if err := json.Unmarshal([]byte(got.out), &b); err != nil || b.Version != version || b.Go != runtime.Version() || b.Platform != runtime.GOOS+"/"+runtime.GOARCH {
		t.Errorf("%v: %s", err, got.out)
	}
	info := &debug.BuildInfo{
		Deps:     []*debug.Module{{Path: "k8s.io/api", Version: "v0.36.3"}, {Path: "k8s.io/kubernetes", Version: "v1.36.3"}},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "adba6054c845"}},
	}
	if b := made(info, "v1.2.3"); b.Kubernetes != "v1.36.3" || b.Commit != "adba6054c845" {
		t.Errorf("with what the linker wrote down: %+v", b)
	}
	if b := made(nil, "v0.0.0-dev+0123456789ab.dirty"); b.Commit != "0123456789ab" || b.Kubernetes != unknown {
		t.Errorf("with the version alone: %+v", b)
	}
	if b := made(nil, "v1.2.3"); b.Commit != unknown {
		t.Errorf("with nothing: %+v", b)
	}
}

// mostWordsASentence is how long a sentence of help may be: it is read by who is tired, and learnt English late.
const mostWordsASentence = 20

// TestSentencesOfHelpAreShort holds what stands above the flags. A colon or semicolon ends a sentence, too, and so does an item of a list.
func TestSentencesOfHelpAreShort(t *testing.T) {
	ends := regexp.MustCompile(`[.;:]\s+|\n\n|\n  `)
	for _, cmd := range verbs(root()) {
		above := ""
		if cmd.HasParent() {
			above = cmd.Parent().Name()
		}
		if cmd.Name() == "completion" || above == "completion" {
			continue // those are cobra's words
		}
		for _, sentence := range ends.Split(cmp.Or(cmd.Long, cmd.Short), -1) {
			if words := len(strings.Fields(sentence)); words > mostWordsASentence {
				t.Errorf("%s --help has a sentence of %d words (most %d): %s", cmd.CommandPath(), words, mostWordsASentence, sentence)
			}
		}
	}
}
