package world_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"sluice.dev/sluice/internal/world"
)

// TestAScenarioAsksForNoMoreThanAMachineCanHold holds that a number that nobody meant is refused before anything is made of it, in one sentence that names
// the line, the field and the limit.
func TestAScenarioAsksForNoMoreThanAMachineCanHold(t *testing.T) {
	const group = "group agents size=Standard_D4s_v5 min=0 max=3 machines=1\n"
	deployed := func(kind, spec string) string {
		return group + "apply o.yaml\nadvance 1m\n-- o.yaml --\napiVersion: " + kind + "\nmetadata: {name: web}\nspec: {" + spec + ", selector: {matchLabels: {app: web}}, " +
			"template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: registry.example/web:1}]}}}\n"
	}
	for name, c := range map[string]struct {
		script string
		want   []string
	}{
		"a trillion pods of a Job":              {group + "job render pods=1000000000000\nadvance 1m\n", []string{"line 2", "pods=1000000000000", "from 0 to 200000"}},
		"more replicas than an int holds":       {group + "deployment web replicas=100000000000000000000\nadvance 1m\n", []string{"line 2", "replicas=1", "from 0 to 200000"}},
		"too many together":                     {group + "deployment web replicas=150000\njob render pods=50001\nadvance 1m\n", []string{"line 3", "render", "pods=50001", "200000", "has 150000"}},
		"too many once it is scaled":            {group + "deployment web\ndeployment api replicas=150000\nscale web 60000\nadvance 1m\n", []string{"line 4", "web", "replicas=60000", "200000", "has 150000"}},
		"scaled out of all bounds":              {group + "deployment web\nscale web 4294967297\nadvance 1m\n", []string{"line 3", "4294967297", "from 0 to 200000"}},
		"a Deployment in a section":             {deployed("apps/v1\nkind: Deployment", "replicas: 2000000000"), []string{"line 2", "o.yaml", "web", "replicas=2000000000", "200000"}},
		"a ReplicaSet in a section":             {deployed("apps/v1\nkind: ReplicaSet", "replicas: 2000000000"), []string{"line 2", "o.yaml", "replicas=2000000000", "200000"}},
		"a StatefulSet in a section":            {deployed("apps/v1\nkind: StatefulSet", "replicas: 2000000000"), []string{"line 2", "o.yaml", "replicas=2000000000", "200000"}},
		"a Job in a section":                    {deployed("batch/v1\nkind: Job", "completions: 2000000000"), []string{"line 2", "o.yaml", "pods=2000000000", "200000"}},
		"a buffer of a trillion":                {group + "buffer spare replicas=1000000000000\nadvance 1m\n", []string{"line 2", "replicas=", "from 0 to 200000"}},
		"a request for a trillion":              {group + "provisioningrequest big pods=1000000000000\nadvance 1m\n", []string{"line 2", "pods=", "from 0 to 200000"}},
		"machines without number":               {"group agents size=Standard_D4s_v5 max=3 machines=1000000000000\n", []string{"line 1", "machines=1000000000000", "from 0 to 1000"}},
		"a max that nobody can pay":             {"group agents size=Standard_D4s_v5 max=1000000000000\n", []string{"line 1", "max=1000000000000", "from 0 to 1000000"}},
		"a resize that nobody can pay":          {group + "advance 1s\nresize agents 1000000000000\n", []string{"line 3", "agents", "from 0 to 1000000"}},
		"groups without number":                 {groups(101), []string{"line 101", "g100", "at most 100 groups"}},
		"lines without number":                  {strings.Repeat("\n", 100_001), []string{"line 100001", "at most 100000 lines"}},
		"a kill that never comes":               {group + "advance 1s\nkill 1000000000000\n", []string{"line 3", "from 1 to 1000000"}},
		"a wait of a century":                   {group + "advance 876000h\n", []string{"line 2", "advance 876000h", "at most 8784h"}},
		"a year and a bit":                      {group + "policy scale-down-enabled=false\nadvance 10m\nadvance 8784h\n", []string{"line 4", "advance 8784h", "at most 8784h"}},
		"a wait for something for a century":    {group + "until group agents 3 within=876000h\n", []string{"line 2", "within=876000h", "at most 8784h"}},
		"cycles without a pause between them":   {"timing resync=1ns\n" + group + "advance 1h\n", []string{"line 1", "resync=1ns", "at least 1s"}},
		"a clock that is a century ahead":       {group + "advance 1s\nskew 876000h\n", []string{"line 3", "skew 876000h"}},
		"a fault that strikes a trillion times": {group + "fault list status=429 times=1000000000000\nadvance 1m\n", []string{"line 2", "times=", "from 0 to 1000000"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := world.Run(context.Background(), []byte(c.script), io.Discard, world.Options{NoJournal: true})
			if err == nil {
				t.Fatal("it was played")
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

func groups(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "group g%d size=Standard_D4s_v5 max=3\n", i)
	}
	return b.String()
}

// TestAScenarioHasWhatTheSoakTakes holds that the bounds are in nobody's way.
func TestAScenarioHasWhatTheSoakTakes(t *testing.T) {
	const script = "group agents size=Standard_D4s_v5 min=0 max=3 machines=1\ndeployment base replicas=150000\ndeployment burst replicas=50000\nscale burst 0\nscale base 200000\nscale base 0\nadvance 1s\n"
	if _, err := world.Run(context.Background(), []byte(script), io.Discard, world.Options{NoJournal: true}); err != nil {
		t.Error(err)
	}
}
