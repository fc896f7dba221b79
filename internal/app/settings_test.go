package app

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/setting"
)

// flat is a policy as a journal has it, each value under its whole key.
func flat(t *testing.T, p *policy.Policy) map[string]string {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	var into func(prefix string, text []byte)
	into = func(prefix string, text []byte) {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(text, &object); err != nil {
			t.Fatal(err)
		}
		for name, value := range object {
			if prefix+name != "growth.headroom" && value[0] == '{' {
				into(prefix+name+".", value)
				continue
			}
			all[prefix+name] = string(value)
		}
	}
	into("", text)
	return all
}

// document is the policy of a journal that has one key alone.
func document(key, value string) string {
	names := strings.Split(key, ".")
	for _, name := range slices.Backward(names) {
		value = fmt.Sprintf("{%q: %s}", name, value)
	}
	return value
}

// effect is what a policy comes to for a group.
func effect(p *policy.Policy, g *cluster.Group) string {
	r := p.Removal.Of(g.Options)
	machines, cores := p.Headroom(g)
	least, most := p.Limits(g, time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)) // a Monday
	return fmt.Sprint(r.Utilization.Threshold, r.Utilization.GPUThreshold, r.UnneededTime, r.UnreadyTime, machines, cores, least, most, p.Ceilings(g), r.Work.Daemons, g.Options.DaemonWork)
}

// TestAJournalOfAnEarlierReleaseIsRead holds the keys: the file has each of them, with the values of samples, as the first release that has it wrote
// it.
func TestAJournalOfAnEarlierReleaseIsRead(t *testing.T) {
	want := policy.Default()
	want.Installation, want.Removal.Lost = "kube-system/cluster-autoscaler", 152*time.Second
	f := pflag.NewFlagSet("all", pflag.ContinueOnError)
	for row := range setting.All() {
		if row.Flag == "" || row.Key == "" {
			continue
		}
		declare(f, row, want.At(row))
		if err := f.Set(row.Flag, samples[row.Flag]); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile("testdata/policy.json")
	if err != nil {
		t.Fatal(err)
	}
	have := new(policy.Policy)
	if err := json.Unmarshal(text, have); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	again, err := json.MarshalIndent(have, "", "  ")
	if err != nil || string(again)+"\n" != string(text) {
		t.Errorf("it is written otherwise now (%v):\n%s", err, again)
	}
}

// TestEverySettingIsOneValue takes each row of the table of settings from its flag to the journal and back, and from its tag to the same effect:
// a flag changes the row's keys and no others, and a journal with these keys alone is the same policy.
func TestEverySettingIsOneValue(t *testing.T) {
	usual := flat(t, policy.Default())
	for row := range setting.All() {
		if row.Key == "" {
			continue
		}
		t.Run(row.Key, func(t *testing.T) {
			one := policy.Default()
			text, known := samples[row.Flag]
			switch to := one.At(row).(type) {
			case *string:
				if row.Flag == "" {
					*to = "a"
				}
			case *time.Duration:
				if row.Flag == "" {
					*to = time.Second
				}
			}
			if row.Flag != "" {
				f := pflag.NewFlagSet("one", pflag.ContinueOnError)
				declare(f, row, one.At(row))
				if err := f.Set(row.Flag, text); err != nil || !known {
					t.Fatalf("--%s=%s: %v", row.Flag, text, err)
				}
			}

			var keys, changed []string
			for key := range strings.FieldsSeq(row.Key) {
				key, _, _ = strings.Cut(key, ",")
				keys = append(keys, key)
			}
			now := flat(t, one)
			for key := range maps.Keys(now) {
				if usual[key] != now[key] {
					changed = append(changed, key)
				}
			}
			slices.Sort(keys)
			slices.Sort(changed)
			if d := cmp.Diff(keys, changed); d != "" {
				t.Errorf("the flag's keys (-want +got):\n%s", d)
			}
			again := policy.Default()
			for _, key := range keys {
				if err := json.Unmarshal([]byte(document(key, now[key])), again); err != nil {
					t.Fatal(err)
				}
			}
			if d := cmp.Diff(one, again); d != "" {
				t.Errorf("from its keys alone (-want +got):\n%s", d)
			}

			if row.Tag == "" {
				return
			}
			if _, of, ok := strings.Cut(text, "agents"); ok {
				text = strings.TrimLeft(of, "=: ")
			}
			tagged, plain := &cluster.Group{ID: "agents", Max: 1000}, &cluster.Group{ID: "agents", Max: 1000}
			if wrong, err := policy.ReadTag(setting.Tagged(strings.ToUpper(row.Tag)), text, &tagged.Options); err != nil {
				t.Fatalf("%s=%s: %q: %v", row.Tag, text, wrong, err)
			}
			by, said := effect(policy.Default(), tagged), effect(one, plain)
			if row.Flag == "daemon-work" {
				by = strings.Replace(by, "[] ", "", 1)
				said = strings.TrimSuffix(said, " []")
			}
			if by != said || by == effect(policy.Default(), plain) {
				t.Errorf("the tag comes to\n%s, the flag to\n%s, neither to\n%s", by, said, effect(policy.Default(), plain))
			}
		})
	}
}
