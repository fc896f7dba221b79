package world_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"sluice.dev/sluice/internal/world"
)

// play runs a script and returns its transcript.
func play(t *testing.T, script string) string {
	t.Helper()
	r, err := world.Run(context.Background(), []byte(script), io.Discard, world.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Transcript
}

// TestStatementsMakeWhatTheySay holds the settings of pods and the kinds besides them to what the scheduler then does.
func TestStatementsMakeWhatTheySay(t *testing.T) {
	const group = "group agents size=Standard_D4s_v5 min=0 max=0 machines=0\nnode a cpu=4 disks=1 label=topology.kubernetes.io/zone=westeurope-1\n"
	const second = "node b cpu=4 disks=1 label=topology.kubernetes.io/zone=westeurope-2\n"
	for name, c := range map[string]struct {
		script string
		runs   []string
		waits  []string
	}{
		"a claim waits for its pod":                    {group + "storageclass d\npvc c class=d\npod p claim=c\n", []string{"p"}, nil},
		"an immediate claim pulls its pod to its zone": {group + second + "storageclass d binding=immediate zones=2\npvc c class=d\npod filler cpu=3 on=b\npod p cpu=2 claim=c\n", nil, []string{"p"}},
		"a claim with a zone holds its pod there":      {group + "pvc c zone=2\npod p claim=c\n", nil, []string{"p"}},
		"the default class serves claims without one":  {group + "storageclass d default=true\npvc c\npod p claim=c\n", []string{"p"}, nil},
		"disks bound what a node attaches":             {group + "storageclass d\npod p disk=d owner=none\npod q disk=d owner=none\n", []string{"p"}, []string{"q"}},
		"a priority makes room":                        {group + "pod low cpu=3 on=a\npod high cpu=3 priority=10\n", []string{"high"}, nil},
		"a class that never preempts makes none":       {group + "priorityclass calm 10 preempts=false\npod low cpu=3 on=a\npod high cpu=3 priority=calm\n", nil, []string{"high"}},
		"spread with a skew":                           {group + second + "cordon b\npod v label=app=w on=a\npod w spread=hostname:2\npod x label=app=w spread=hostname:2\n", []string{"w"}, []string{"x"}},
		"affinity about another app":                   {group + "pod p affinity=hostname:q\n", nil, []string{"p"}},
		"affinity about one that is there":             {group + "pod q on=a\npod p affinity=hostname:q\n", []string{"p"}, nil},
		"several host ports":                           {group + "pod p host-port=80 host-port=81\npod q host-port=81\n", []string{"p"}, []string{"q"}},
		"resources decide":                             {group + "node r cpu=4 resource=example.com/l=1\npod p resource=example.com/l=1\npod q resource=example.com/l=1\n", []string{"p"}, []string{"q"}},
		"another scheduler's pods are not placed":      {group + "pod p cpu=1 scheduler=volcano\nadvance 1s\nturn-down p\n", nil, []string{"p"}},
		"a taint keeps pods away":                      {group + "taint a k=v:NoSchedule\npod p cpu=1\npod q cpu=1 toleration=k\n", []string{"q"}, []string{"p"}},
		"a taint that is taken off does not":           {group + "taint a k=v:NoSchedule j:NoExecute\nuntaint a k j\npod p cpu=1\n", []string{"p"}, nil},
		"overhead counts":                              {group + "pod p cpu=3 overhead-cpu=2\n", nil, []string{"p"}},
		"half a gang waits":                            {group + "podgroup g min=2\npod p cpu=1 podgroup=g\n", nil, []string{"p"}},
		"a whole gang runs":                            {group + "podgroup g min=2\npod p cpu=1 podgroup=g\npod q cpu=1 podgroup=g\n", []string{"p", "q"}, nil},
		"a gang of the coscheduling plugin":            {group + "podgroup g min=2 api=coscheduling\npod p cpu=3 podgroup=g\npod q cpu=3 podgroup=g\n", nil, []string{"p", "q"}},
		"a buffer is no pod":                           {group + "buffer b replicas=3 cpu=1 limit=cpu=2\npod p cpu=4\n", []string{"p"}, nil},
		"a buffer of a deployment":                     {group + "deployment w cpu=1\nbuffer b of=w percentage=20\ndelete buffer b\npod p cpu=1\n", []string{"p"}, nil},
		"a request is no pod":                          {group + "provisioningrequest r class=check-capacity pods=3 cpu=1\npod p cpu=4\ndelete provisioningrequest r\n", []string{"p"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			script := c.script + "advance 1m\n"
			for _, p := range c.runs {
				script += "until pod " + p + " running within=1s\n"
			}
			for _, p := range c.waits {
				script += "until pod " + p + " pending within=1s\n"
			}
			play(t, script)
		})
	}
}

func TestCustomObjectsOfAFileAreApplied(t *testing.T) {
	said := play(t, `group agents size=Standard_D4s_v5 min=0 max=0 machines=0
node a cpu=4
apply gang.yaml
pod p cpu=1 podgroup=g
advance 1m
until pod p pending
-- gang.yaml --
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: g}
spec: {minMember: 2}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: disks}
provisioner: disk.csi.azure.com
`)
	if strings.Contains(said, "running") {
		t.Errorf("half a gang runs:\n%s", said)
	}
}
