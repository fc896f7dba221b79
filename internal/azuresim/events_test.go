package azuresim_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/internal/azuresim"
)

// document reads a machine's scheduled events: "incarnation: kind status
// resources source", and the id of the last.
func (a *azure) document(vm string) (text, id string) {
	a.t.Helper()
	_, body := a.wireFrom(vm, "GET", imds+"/scheduledevents?api-version=2020-07-01", "", "Metadata", "true")
	var d struct {
		DocumentIncarnation int
		Events              []struct {
			EventID, EventType, EventStatus, EventSource string
			Resources                                    []string
		}
	}
	a.must(json.Unmarshal([]byte(body), &d))
	parts := []string{fmt.Sprintf("%d:", d.DocumentIncarnation)}
	for _, e := range d.Events {
		parts = append(parts, e.EventType, e.EventStatus, strings.Join(e.Resources, "+"), e.EventSource)
		id = e.EventID
	}
	return strings.Join(parts, " "), id
}

func (a *azure) agree(vm, id string) int {
	a.t.Helper()
	resp, _ := a.wireFrom(vm, "POST", imds+"/scheduledevents?api-version=2020-07-01", `{"StartRequests":[{"EventId":"`+id+`"}]}`, "Metadata", "true")
	return resp.StatusCode
}

func (a *azure) expect(vm, want string) (id string) {
	a.t.Helper()
	got, id := a.document(vm)
	if got != want {
		a.t.Errorf("%s %s reads %q, want %q", a.now.Format("15:04:05"), vm, got, want)
	}
	return id
}

func TestAnEventIsSeenByItsGroupAndStartedByAnyOfIt(t *testing.T) {
	a := newAzure(t)
	a.agents(2)
	a.agents(1, func(ss *azuresim.ScaleSet) { ss.Name = "others" })
	a.expect("agents_0", "0:")
	id, err := a.Schedule("agents_1", azuresim.Reboot, -1)
	a.must(err)
	a.expect("agents_0", "1: Reboot Scheduled agents_1 Platform")
	a.expect("agents_1", "1: Reboot Scheduled agents_1 Platform")
	a.expect("others_0", "0:")
	if got := a.agree("others_0", id); got != http.StatusBadRequest {
		t.Errorf("a machine of another group started it: %d", got)
	}
	if got := a.agree("agents_0", id); got != http.StatusOK {
		t.Errorf("agreeing answers %d", got)
	}
	a.expect("agents_1", "2: Reboot Started agents_1 Platform")
	if got := a.powerStates()["agents_1"]; got != "starting" {
		t.Errorf("the machine is %s", got)
	}
	a.advance(2 * time.Minute)
	a.expect("agents_1", "3:")
}

func (a *azure) powerStates() map[string]string {
	states := map[string]string{}
	for _, m := range a.Machines() {
		states[m.Name] = m.PowerState
	}
	return states
}

func TestAnEventStartsAtItsTime(t *testing.T) {
	for kind, notice := range map[azuresim.EventKind]time.Duration{
		azuresim.Freeze: 15 * time.Minute, azuresim.Reboot: 15 * time.Minute, azuresim.Redeploy: 10 * time.Minute, azuresim.Terminate: 5 * time.Minute,
	} {
		a := newAzure(t)
		a.agents(1)
		_, err := a.Schedule("agents_0", kind, -1)
		a.must(err)
		a.advance(notice - time.Second)
		a.expect("agents_0", "1: "+string(kind)+" Scheduled agents_0 Platform")
		a.advance(time.Second)
		a.expect("agents_0", "2: "+string(kind)+" Started agents_0 Platform")
	}
}

func TestNothingIsAnnouncedToAMachineThatIsOff(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	a.must(a.Deallocate("agents_0"))
	a.advance(10 * time.Minute)
	if _, err := a.Schedule("agents_0", azuresim.Reboot, -1); err == nil {
		t.Error("a restart of a machine that is switched off is announced, which would start it")
	}
}

func TestAWithdrawnEventChangesNothing(t *testing.T) {
	for _, policy := range []string{"Delete", "Deallocate"} {
		a := newAzure(t)
		a.agents(1, func(ss *azuresim.ScaleSet) { ss.Priority, ss.EvictionPolicy = "Spot", policy })
		id, err := a.Schedule("agents_0", azuresim.Preempt, time.Minute)
		a.must(err)
		a.expect("agents_0", "1: Preempt Scheduled agents_0 Platform")
		a.must(a.Withdraw(id))
		a.expect("agents_0", "2:")
		a.advance(time.Hour)
		if got := a.powerStates()["agents_0"]; got != "running" {
			t.Errorf("%s: the machine is %q", policy, got)
		}
		if a.Withdraw(id) == nil {
			t.Error("an event was withdrawn twice")
		}
	}
}

func TestADeleteWaitsForTheMachinesLastWord(t *testing.T) {
	notify := func(a *azure) {
		resp, body := a.wire("PATCH", setPath+version,
			`{"properties":{"virtualMachineProfile":{"scheduledEventsProfile":{"terminateNotificationProfile":{"enable":true,"notBeforeTimeout":"PT7M"}}}}}`)
		if resp.StatusCode != http.StatusOK {
			a.t.Fatal(body)
		}
	}
	for name, tc := range map[string]struct {
		spot   bool
		agrees bool
		waits  time.Duration
	}{
		"until it is over":       {false, false, 7 * time.Minute},
		"until it agrees":        {false, true, 2 * time.Minute},
		"not at all when spot":   {true, false, 0},
		"not for an older model": {false, false, -1},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAzure(t)
			a.agents(0, func(ss *azuresim.ScaleSet) {
				if tc.spot {
					ss.Priority, ss.EvictionPolicy = "Spot", "Delete"
				}
			})
			if tc.waits >= 0 {
				notify(a)
			}
			a.must(a.SetCapacity("agents", 2))
			a.advance(2 * time.Minute)
			if tc.waits < 0 {
				notify(a)
				tc.waits = 0
			}
			resp, body := a.wire("POST", setPath+"/delete"+version, `{"instanceIds":["1"]}`)
			if resp.StatusCode != http.StatusAccepted {
				t.Fatal(body)
			}
			operation := strings.TrimPrefix(resp.Header.Get("Azure-AsyncOperation"), "https://management.azure.test")
			if a.capacity() != 1 {
				t.Error("the capacity is not lowered at once")
			}
			if tc.waits > 0 {
				id := a.expect("agents_0", "1: Terminate Scheduled agents_1 User")
				a.advance(2 * time.Minute)
				if got := a.powerStates()["agents_1"]; got != "running" {
					t.Errorf("the machine is %s before it has agreed", got)
				}
				if tc.agrees {
					a.agree("agents_1", id)
				}
				a.advance(tc.waits - 2*time.Minute)
			}
			status := func() string { _, b := a.wire("GET", operation, ""); s, _ := field(t, b, "status").(string); return s }
			if got := a.powerStates()["agents_1"]; got != "deallocating" || status() != "InProgress" {
				t.Errorf("the machine is %q", got)
			}
			a.advance(time.Minute)
			if got := status(); got != "Succeeded" || !slices.Equal(a.ids(), []string{"0"}) {
				t.Errorf("the delete is %s with %v left", got, a.ids())
			}
		})
	}
}

func TestATerminateWaitsForThoseBeforeIt(t *testing.T) {
	for name, tc := range map[string]struct {
		meanwhile func(a *azure, first string) // a minute after the second was agreed to
		waits     time.Duration                // from then
	}{
		"until the first is agreed to": {func(a *azure, first string) { a.agree("agents_0", first) }, 0},
		"until the first is withdrawn": {func(a *azure, first string) { a.must(a.Withdraw(first)) }, 0},
		"until the first starts":       {func(*azure, string) {}, 4 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAzure(t)
			a.agents(2)
			first, err := a.Schedule("agents_0", azuresim.Terminate, 5*time.Minute)
			a.must(err)
			second, err := a.Schedule("agents_1", azuresim.Terminate, 10*time.Minute)
			a.must(err)
			if got := a.agree("agents_1", second); got != http.StatusOK {
				t.Fatalf("agreeing answers %d", got)
			}
			a.advance(time.Minute)
			if got := a.powerStates()["agents_1"]; got != "running" {
				t.Errorf("the second machine is %s before the first one's event is settled", got)
			}
			tc.meanwhile(a, first)
			if tc.waits > 0 {
				a.advance(tc.waits - time.Second)
				if got := a.powerStates()["agents_1"]; got != "running" {
					t.Errorf("the second machine is %s before its turn", got)
				}
				a.advance(time.Second)
			}
			if got := a.powerStates()["agents_1"]; got != "deallocating" {
				t.Errorf("the second machine is %s, want it on its way out", got)
			}
		})
	}
}

func TestTheFirstCallOnlyEnablesEvents(t *testing.T) {
	a := newAzure(t, func(s *azuresim.Server) { s.EventWarmUp = 2 * time.Minute })
	a.agents(1)
	_, err := a.Schedule("agents_0", azuresim.Freeze, time.Hour)
	a.must(err)
	a.expect("agents_0", "0:")
	a.advance(2 * time.Minute)
	a.expect("agents_0", "1: Freeze Scheduled agents_0 Platform")
	a.advance(25 * time.Hour)
	_, err = a.Schedule("agents_0", azuresim.Freeze, time.Hour)
	a.must(err)
	a.expect("agents_0", "0:") // a day of silence switches them off
}
