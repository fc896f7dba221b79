package world

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"sluice.dev/sluice/journal"
)

// remains is what a scenario leaves: machines that count as capacity, and pods that have a node.
type remains struct{ machines, running int }

// ends plays a script and reads what is left from the last cycle.
func ends(t *testing.T, script string) remains {
	t.Helper()
	r, err := Run(context.Background(), []byte(script), io.Discard, Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, r.Transcript)
	}
	for _, broken := range r.Broken {
		t.Error(broken)
	}
	var left remains
	entries := journal.NewDecoder(bytes.NewReader(r.Journal))
	for {
		e, err := entries.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		left = remains{}
		for _, g := range e.Seen.Groups {
			left.machines += g.Capacity
		}
		for _, p := range e.Seen.Objects.Pods {
			if p.Node != "" {
				left.running++
			}
		}
	}
	if t.Failed() {
		t.Log(r.Transcript)
	}
	return left
}

// gangs are the ways to say that eight pods are one gang.
var gangs = map[string]string{
	"a PodGroup":                            "podgroup render min=8\njob render pods=8 cpu=3 podgroup=render\n",
	"a PodGroup of the coscheduling plugin": "podgroup render min=8 api=coscheduling\njob render pods=8 cpu=3 podgroup=render\n",
	"an annotation, behind the gate":        "job render pods=8 cpu=3 annotation=sluice.dev/gang=8 gate=sluice.dev/capacity\n",
}

// TestGangEndsWholeWhicheverMachineFails lets each machine of a gang fail in turn, in every way in which one can: the gang ends with all
// its pods running, on as many machines as they need.
func TestGangEndsWholeWhicheverMachineFails(t *testing.T) {
	for how, gang := range gangs {
		for _, fault := range []string{"fails", "never-joins", "never-boots"} {
			if fault != "fails" && how != "a PodGroup" {
				continue // to sluice a failure is the same however the gang is told
			}
			for machine := range 8 {
				t.Run(fmt.Sprintf("%s, machine %d %s", how, machine, fault), func(t *testing.T) {
					t.Parallel()
					left := ends(t, "policy scale-down-unneeded-time=2m scale-down-delay-after-add=2m\ngroup agents size=Standard_D4s_v5 min=0 max=8\n"+gang+
						fmt.Sprintf("fault %s group=agents skip=%d times=1\nadvance 45m\n", fault, machine))
					if want := (remains{8, 8}); left != want {
						t.Errorf("what is left: %+v, want %+v", left, want)
					}
				})
			}
		}
	}
}

// TestGangOf64EndsWholeWhicheverMachineFails does so with as many machines as the group may have.
func TestGangOf64EndsWholeWhicheverMachineFails(t *testing.T) {
	for machine := range 64 {
		t.Run(fmt.Sprint("machine ", machine), func(t *testing.T) {
			t.Parallel()
			left := ends(t, "policy scale-down-unneeded-time=2m scale-down-delay-after-add=2m\ngroup agents size=Standard_D4s_v5 min=0 max=64\n"+
				"podgroup render min=64\njob render pods=64 cpu=3 podgroup=render\n"+fmt.Sprintf("fault fails group=agents skip=%d times=1\nadvance 45m\n", machine))
			if want := (remains{64, 64}); left != want {
				t.Errorf("what is left: %+v, want %+v", left, want)
			}
		})
	}
}

// TestGangThatCannotBeWholeLeavesNothingBehind lets each machine of a gang fail in turn, and all that are tried after it: the machines that
// did come are kept for the stated time and then go.
func TestGangThatCannotBeWholeLeavesNothingBehind(t *testing.T) {
	for how, gang := range gangs {
		if how == "a PodGroup of the coscheduling plugin" {
			continue // told apart in the test above
		}
		for machine := range 8 {
			t.Run(fmt.Sprintf("%s, from machine %d on", how, machine), func(t *testing.T) {
				t.Parallel()
				left := ends(t, "policy scale-down-unneeded-time=2m scale-down-delay-after-add=2m\ngroup agents size=Standard_D4s_v5 min=0 max=8\n"+gang+
					fmt.Sprintf("fault fails group=agents skip=%d times=1000\nadvance 14m\n", machine))
				if want := (remains{0, 0}); left != want {
					t.Errorf("what is left: %+v, want %+v", left, want)
				}
			})
		}
	}
}

// TestGangOf64OnRoomFor63BuysNothing tells the gang in all ways, on one group and on several.
func TestGangOf64OnRoomFor63BuysNothing(t *testing.T) {
	for how, gang := range map[string]string{
		"a PodGroup":                     "podgroup render min=64\njob render pods=64 cpu=3 podgroup=render\n",
		"an annotation, behind the gate": "job render pods=64 cpu=3 annotation=sluice.dev/gang=64 gate=sluice.dev/capacity\n",
	} {
		for groups, script := range map[string]string{
			"one group":                   "group agents size=Standard_D4s_v5 min=0 max=63\n",
			"three groups":                "group a size=Standard_D4s_v5 min=0 max=20\ngroup b size=Standard_D4s_v5 min=0 max=20\ngroup c size=Standard_D8s_v5 min=0 max=11\n",
			"a limit of the cluster":      "policy max-nodes-total=63\ngroup agents size=Standard_D4s_v5 min=0 max=100\n",
			"an expander":                 "policy expander=least-waste\ngroup a size=Standard_D4s_v5 min=0 max=40\ngroup b size=Standard_D4s_v5 min=0 max=23\n",
			"a growth that may add 63":    "policy max-nodes-per-scaleup=63\ngroup agents size=Standard_D4s_v5 min=0 max=100\n",
			"a ceiling of 63 in the hour": "policy ceiling=machines:63/1h\ngroup agents size=Standard_D4s_v5 min=0 max=100\n",
		} {
			t.Run(how+" on "+groups, func(t *testing.T) {
				t.Parallel()
				if left := ends(t, script+gang+"advance 3m\n"); left != (remains{}) {
					t.Errorf("what is left: %+v, want nothing", left)
				}
			})
		}
	}
}
