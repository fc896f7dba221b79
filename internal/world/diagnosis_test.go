package world_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"unicode"

	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/internal/world"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/reason"
)

// TestExplainSaysWhyAMachineDidNotJoin plays scenarios, and has the last cycle that knows a machine explained.
func TestExplainSaysWhyAMachineDidNotJoin(t *testing.T) {
	for file, c := range map[string]struct {
		machine     string
		says, never []string
	}{
		"never-joins-token": {"agents/0", []string{
			"MachineDiagnosed", "the API server refuses its token", "put a token that is valid now", `> [ 40.310201] k3s[1033]:`, "401 Unauthorized", "(hidden)",
		}, []string{"abcdef", "K10d41d8"}},
		"never-joins-extension": {"agents/1", []string{
			"the disk is full", "give the machine a larger OS disk", "| extension join: Provisioning failed: Enable failed: tar:",
			"read its boot log: the identity may not perform Microsoft.Compute/virtualMachineScaleSets/virtualMachines/retrievebootdiagnosticsdata/action over /subscriptions/", "sluice's role (deploy/azure-role.json)",
		}, []string{"  > "}},
		"never-joins-flags": {"", []string{"MachineInspected", "flag or setting that it does not know", "unknown flag: --node-labelz", "\n  > [ 31.200000] motd: instance agents/9: steady"}, []string{"hunter2", "\ninstance agents/9"}},
	} {
		t.Run(file, func(t *testing.T) {
			r, err := world.Run(context.Background(), read(t, "../../testdata/"+file+".txtar"), io.Discard, world.Options{})
			if err != nil {
				t.Fatal(err)
			}
			text, data := lastWord(t, decided(t, r), c.machine)
			for _, want := range c.says {
				if !strings.Contains(text, want) {
					t.Errorf("explain does not say %q:\n%s", want, text)
				}
			}
			for _, secret := range c.never {
				if strings.Contains(text, secret) || strings.Contains(data, secret) && !strings.HasPrefix(secret, "\n") {
					t.Errorf("explain says %q:\n%s", secret, text)
				}
			}
			if strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
				t.Errorf("explain writes control characters: %q", text)
			}
			if len(data) > 20_000 || strings.Contains(data, "sig=") {
				t.Errorf("the answer in JSON has %d bytes, or the address of a log", len(data))
			}
		})
	}
}

// lastWord is what the last cycle with a diagnosis of the machine explains, as text and as JSON; of any machine that is kept for inspection where
// none is named.
func lastWord(t *testing.T, entries []journal.Entry, machine string) (text, data string) {
	t.Helper()
	for _, entry := range entries {
		for _, v := range entry.Plan.Verdicts {
			kept := false
			for _, why := range v.Because {
				kept = kept || why.Code == reason.MachineInspected
			}
			if v.Subject.Kind != reason.KindInstance || v.Subject.Name != machine && (machine != "" || !kept) {
				continue
			}
			x, err := report.NewExplanation(entry, v.Subject)
			if err != nil {
				t.Fatal(err)
			}
			if x.Machine == nil {
				continue
			}
			var b, j bytes.Buffer
			if err := x.WriteText(&b); err != nil {
				t.Fatal(err)
			}
			if err := x.WriteJSON(&j); err != nil || !json.Valid(j.Bytes()) {
				t.Fatal(err)
			}
			text, data = b.String(), j.String()
		}
	}
	if text == "" {
		t.Fatalf("nobody hears machine %q", machine)
	}
	return text, data
}

// TestNoDecisionRestsOnWhatMachinesSay plays the same story with each boot log, and with none: the same is done at the same times.
func TestNoDecisionRestsOnWhatMachinesSay(t *testing.T) {
	script := string(read(t, "../../testdata/never-joins-flags.txtar"))
	script, _, _ = strings.Cut(script, "-- transcript --")
	var first string
	for _, fault := range []string{
		"fault never-joins console=flags", "fault never-joins", "fault never-joins console=flags\ndeny Microsoft.Compute/virtualMachines/retrieveBootDiagnosticsData/action",
	} {
		story := strings.Replace(script, "fault never-joins console=flags", fault, 1) + "-- flags --\nunknown flag: --x\n"
		var b bytes.Buffer
		if _, err := world.Run(context.Background(), []byte(story), &b, world.Options{}); err != nil {
			t.Fatal(err)
		}
		var done []string
		for line := range strings.Lines(b.String()) {
			line, _, _ = strings.Cut(line, "; MachineDiagnosed")
			if line = strings.TrimSpace(line); !strings.Contains(line, "> deny") {
				done = append(done, line)
			}
		}
		if all := strings.Join(done, "\n"); first == "" {
			first = all
		} else if all != first {
			t.Errorf("%s changes what is done:\n%s\nwant\n%s", fault, all, first)
		}
	}
}
