package world_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"sluice.dev/sluice/internal/world"
)

// TestBadScriptsNameLineAndWord holds what an author is told: the line, the word, and what is allowed in its place.
func TestBadScriptsNameLineAndWord(t *testing.T) {
	const group = "group agents size=Standard_D4s_v5 min=0 max=3 machines=1\n"
	for name, c := range map[string]struct {
		script string
		want   []string
	}{
		"a statement that is none":                {"# prose\n\nadvanse 3m\n", []string{"line 3", `"advanse"`, "advance"}},
		"a setting that is none":                  {"pod web-0 cpus=3\n", []string{"line 1", "pod", `"cpus"`, "cpu, devices, disk"}},
		"a quantity that is none":                 {"pod web-0 cpu=lots\nadvance 1m\n", []string{"line 1", "cpu=lots", "500m"}},
		"a name that is missing":                  {"pod cpu=1\n", []string{"line 1", "pod NAME"}},
		"a name too many":                         {"touch agents render\n", []string{"line 1", `"render"`, "touch GROUP"}},
		"a quote that is not closed":              {"fault grow message=\"too bad\n", []string{"line 1", "double quote"}},
		"a size that nobody knows":                {"group agents size=huge\n", []string{"line 1", "size=huge", "Standard_D4s_v5", "cpu and memory"}},
		"a min above the max":                     {"group agents size=Standard_D4s_v5 min=4 max=3\n", []string{"line 1", "max 3 is below min 4"}},
		"a flag that is none":                     {"policy scale-down=no\n", []string{"line 1", `"scale-down"`, "scale-down-enabled"}},
		"a flag's value that is none":             {"policy scale-down-unneeded-time=soon\n", []string{"line 1", "--scale-down-unneeded-time=soon", "a duration"}},
		"bounds that are none":                    {"policy cores-total=9:3\n", []string{"line 1", "--cores-total=9:3", "min:max"}},
		"a flag's value that makes no sense":      {"policy scale-down-utilization-threshold=7\n", []string{"line 1", "between 0 and 1"}},
		"a setup statement after the start":       {group + "advance 1m\ndry-run\n", []string{"line 3", "dry-run", "before the first advance"}},
		"a node that is not there":                {group + "pod web-0 on=agents_7\n", []string{"line 2", "agents_7"}},
		"a machine that is not there":             {group + "advance 1s\nsilence agents_7\n", []string{"line 3", "agents_7"}},
		"a pod that is not there":                 {group + "advance 1s\ndelete pod web-0\n", []string{"line 3", "web-0"}},
		"a group that is not there":               {group + "advance 1s\nresize agens 3\n", []string{"line 3", "agens"}},
		"a fault that is none":                    {group + "fault fire\n", []string{"line 2", `"fire"`, "never-joins"}},
		"a refusal without a status":              {group + "fault grow\n", []string{"line 2", "status=500"}},
		"a duration that is none":                 {group + "advance fast\n", []string{"line 2", "fast", "90s"}},
		"a state that is none":                    {group + "until pod web-0 happy\n", []string{"line 2", `"happy"`, "running"}},
		"something that never comes about":        {group + "until group agents 3 within=5m\n", []string{"line 2", "until group agents 3", "5m"}},
		"a file that is not there":                {group + "apply pods.yaml\n", []string{"line 2", "pods.yaml"}},
		"a taint that is none":                    {"node n taint=gpu\n", []string{"line 1", "taint=gpu", "NoSchedule"}},
		"a taint put on that is none":             {"node n\ntaint n gpu\n", []string{"line 2", `"gpu"`, "NoSchedule"}},
		"a taint that is not there":               {group + "untaint agents_0 gpu\n", []string{"line 2", "agents_0", "gpu"}},
		"a resource that is none":                 {"node n resource=gpu\n", []string{"line 1", "resource=gpu", "example.com/licence=2"}},
		"a pod that turns nobody down":            {group + "pod p\nturn-down p\n", []string{"line 3", "p", "scheduler=NAME"}},
		"a budget of nothing":                     {"budget web\n", []string{"line 1", "min-available"}},
		"a script in which no time passes":        {group, []string{"advance 10m"}},
		"a script without a group":                {"advance 1m\n", []string{"line 1", "no node group"}},
		"a second pod of the same name":           {group + "pod a cpu=1\npod a cpu=1\n", []string{"line 3", "already exists"}},
		"what waits and is asked for a bad limit": {group + "until group agents 1 within=never\n", []string{"line 2", "within=never"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := world.Run(context.Background(), []byte(c.script), io.Discard, world.Options{})
			if err == nil {
				t.Fatal("no error")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("the error is %q, which does not say %q", err, w)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has more than one line: %q", err)
			}
		})
	}
}

// TestHelpTeachesEveryStatement holds that whatever a script may say is in the help.
func TestHelpTeachesEveryStatement(t *testing.T) {
	help := world.Help()
	for _, word := range []string{"group NAME", "pod NAME", "advance DURATION", "fault WHAT", "never-joins", "dry-run", "until pod"} {
		if !strings.Contains(help, word) {
			t.Errorf("the help does not say %q", word)
		}
	}
}

func TestFixturesAreApplied(t *testing.T) {
	const file = `group agents size=Standard_D4s_v5 min=1 max=3 machines=1
apply pods.yaml
advance 10s
-- pods.yaml --
apiVersion: v1
kind: Pod
metadata: {name: one}
spec: {containers: [{name: main, image: registry.example/one:1}]}
---
apiVersion: v1
kind: Pod
metadata: {name: two, namespace: elsewhere}
spec: {containers: [{name: main, image: registry.example/two:1}]}
`
	r, err := world.Run(context.Background(), []byte(file), io.Discard, world.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"pod default/one            running    on agents_0", "pod elsewhere/two          running    on agents_0"} {
		if !strings.Contains(r.Transcript, want) {
			t.Errorf("the transcript does not say %q:\n%s", want, r.Transcript)
		}
	}
}
