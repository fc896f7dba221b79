package lifecycle_test

import (
	"log/slog"
	"strings"
	"testing"

	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azure/config"
	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/lifecycle"
)

// TestWhatIsNotReachedIsNotGone asks for a running cluster in a subscription that is not there, and in a group that is not: neither down
// nor pool takes that for a cluster that is gone.
func TestWhatIsNotReachedIsNotGone(t *testing.T) {
	const other = "11111111-1111-1111-1111-111111111112"
	for name, c := range map[string]struct{ subscription, group, want string }{
		"another subscription":      {other, "render", "The subscription '" + other + "' could not be found"},
		"a group that is not there": {subscription, "rendr", "resource group rendr has no machine of cluster render, and"},
		"another group":             {subscription, "office", "resource group office has no machine of cluster render, and"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "k3s")
			w.up()
			r, err := azure.NewResources(t.Context(), azure.Options{
				Config: config.Config{
					Subscription: c.subscription, ResourceGroup: c.group, Location: w.File.Region, Cloud: "AzurePublicCloud",
				},
				Runner: patient{}, Now: w.sim.Now, Log: slog.New(slog.DiscardHandler),
				Transport: &azuresim.Transport{Server: w.sim, Machine: "desk"},
			})
			w.must(err)
			file := *w.File
			file.ResourceGroup = c.group
			there := &lifecycle.Cluster{File: &file, Cloud: r, Wait: w.Wait, Say: w.Say}
			for verb, do := range map[string]func() error{
				"down":   func() error { _, err := there.Demolish(t.Context()); return err },
				"pool":   func() error { _, _, err := there.Pool(t.Context(), "agents"); return err },
				"retire": func() error { return there.Retire(t.Context(), "agents", w.retiring(0, nil)) },
			} {
				if err := do(); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: %v, want %q", verb, err, c.want)
				}
			}
			if c.group == "render" {
				if err := r.Delete(t.Context(), "/subscriptions/"+c.subscription+"/resourceGroups/render", "2021-04-01"); err == nil {
					t.Error("a deletion in a subscription that is not there succeeds")
				}
				if found, err := r.Get(t.Context(), "/subscriptions/"+c.subscription, "2022-12-01", &struct{}{}); found || err != nil {
					t.Errorf("the subscription itself: %t, %v", found, err)
				}
			}
		})
	}
}

// TestDownAgainSaysThatNothingIsThere has the group gone with the cluster, and its storage in a group of its own.
func TestDownAgainSaysThatNothingIsThere(t *testing.T) {
	w := newWorld(t, "k3s")
	w.up()
	w.down()
	if d, err := w.Demolish(t.Context()); err != nil || len(d.Goes) > 0 || d.Group != "" {
		t.Errorf("%+v, %v", d, err)
	}
	if _, found, err := w.Pool(t.Context(), "agents"); found || err != nil {
		t.Errorf("%t, %v", found, err)
	}
}

// TestAPoolThatIsNotMadeYetIsNotElsewhere has another cluster of the name in another group, which says nothing about this one.
func TestAPoolThatIsNotMadeYetIsNotElsewhere(t *testing.T) {
	w := newWorld(t, "k3s")
	w.up()
	file := *w.File
	file.ResourceGroup, file.Storage.ResourceGroup = "staging", "staging-storage"
	w.Cluster = &lifecycle.Cluster{File: &file, Cloud: w.Cloud, Wait: w.Wait, Say: w.Say}
	w.up()
	if _, found, err := w.Pool(t.Context(), "new"); found || err != nil {
		t.Errorf("%t, %v", found, err)
	}
}
