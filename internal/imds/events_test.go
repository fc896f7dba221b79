package imds_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/imds"
)

func TestAMachineHearsWhatIsAnnouncedToItsGroup(t *testing.T) {
	s := azure(t, false)
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	s.Now = func() time.Time { return now }
	c := on(s, "agents_0")
	if got, err := c.Events(context.Background()); err != nil || len(got) != 0 {
		t.Fatalf("before anything is announced: %v, %v", got, err)
	}
	id, err := s.Schedule("agents_0", azuresim.Preempt, -1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Events(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want := []imds.Event{{
		ID: id, Kind: "Preempt", Machines: []string{"agents_0"}, NotBefore: now.Add(30 * time.Second), Source: "Platform", Lasts: -time.Second,
		Description: "Virtual machine is going to be preempted.",
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
	for range 2 {
		if err := c.Agree(context.Background(), id); err != nil {
			t.Fatalf("agree: %v", err)
		}
	}
	got, err = c.Events(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || !got[0].Begun || !got[0].NotBefore.IsZero() {
		t.Errorf("after it was agreed to: %+v, want one event that has begun", got)
	}
}

func TestAgreeingToAnEventThatIsNotThereSaysSo(t *testing.T) {
	err := on(azure(t, false), "agents_0").Agree(context.Background(), "no-such-event")
	if err == nil {
		t.Fatal("no error")
	}
	if got, want := err.Error(), "instance metadata refused with 400: Bad request. Event no-such-event does not exist"; got != want {
		t.Errorf("error %q, want %q", got, want)
	}
}
