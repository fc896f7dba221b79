package azuresim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Act is what a person, the cloud controller manager or a platform autoscaler
// does to the world without a request in the log, written down: in a world file,
// with a time, or for the control interface. The Go methods of the same names do
// the same.
type Act struct {
	At time.Time // when; zero: at once

	Do     string // one of ActNames
	Target string // a scale set or a machine, by resource id or name; of deny, allow, assign-role and remove-roles, a client id; of lock and unlock, a scope; of clear, a fault's name

	Capacity            int               // set-capacity
	Tags                map[string]string // set-tags
	Version             string            // set-image
	Updating            time.Duration     // touch: the set is Updating for so long
	Notice              time.Duration     // evict, schedule: the machine hears of it so long before; 0: not at all, and of schedule the usual time
	Event               EventKind         // schedule
	Metric              string            // autoscale; "": Percentage CPU
	Value               float64           // autoscale: of the metric
	FromScaleIn         bool              // protect
	FromScaleSetActions bool              // protect
	Actions             []string          // deny, allow
	Level               LockLevel         // lock; "": CanNotDelete
	Role                string            // assign-role: its name, GUID or resource id
	Scope               string            // assign-role: a subscription, a resource group or a resource
	Fault               Fault             // inject
}

// ActState is an act that was done, or failed.
type ActState struct {
	Act
	Error string // "" when it was done
}

// keptActs bounds the list of acts.
const keptActs = 1000

// deed is how an act is done. The server is locked.
type deed struct {
	name, about string
	do          func(*Server, Act, time.Time) error
}

// deeds are all acts there are.
var deeds []deed

func init() { // some do what others list
	deeds = []deed{
		{"set-capacity", "write the capacity of a scale set, as in the portal: lowering it lets Azure choose the victims", actSetCapacity},
		{"set-tags", "replace the tags of a scale set", actSetTags},
		{"set-image", "give the model of a scale set another version of its image, of which new machines are made", actSetImage},
		{"touch", "move the entity tag of a scale set and keep it Updating, as a write of the cloud controller manager does", actTouch},
		{"delete", "delete a machine by hand", actDelete},
		{"delete-set", "delete a scale set with its machines by hand", actDeleteSet},
		{"deallocate", "stop a machine and give back its cores", actTurn("deallocate")},
		{"power-off", "stop a machine that keeps its cores", actTurn("poweroff")},
		{"start", "start a machine that was stopped", actTurn("start")},
		{"evict", "take a spot machine away, after a notice or without", actEvict},
		{"protect", "set a machine's protection from scale-in and from actions on its scale set", actProtect},
		{"deny", "take actions away from a principal", actDeny},
		{"allow", "give actions back to a principal, all of them when none is named", actAllow},
		{"lock", "put a management lock of a level on a scope", actLock},
		{"unlock", "remove the management lock that lock has put on a scope", actUnlock},
		{"schedule", "announce an event of the platform to a machine, and carry it out at its time", actSchedule},
		{"withdraw", "take back the platform's events of a machine that have not started", actWithdraw},
		{"autoscale", "tell the platform's autoscaler of a scale set the value of a metric", actAutoscale},
		{"assign-role", "give a principal a role at a scope; from the first one on it may do only what its roles grant", actAssignRole},
		{"remove-roles", "take all role assignments away from a principal", actRemoveRoles},
		{"inject", "inject a fault", actInject},
		{"clear", "end one fault by its name, or all", actClear},
	}
}

// ActNames are the names of all acts, and what they do.
func ActNames() (names, about []string) {
	for _, d := range deeds {
		names, about = append(names, d.name), append(about, d.about)
	}
	return names, about
}

// Check refuses an act that could never be done.
func (a *Act) Check() error {
	names, _ := ActNames()
	switch {
	case !slices.Contains(names, a.Do):
		return fmt.Errorf("do: %q is unknown: use one of %s", a.Do, strings.Join(names, ", "))
	case a.Target == "" && a.Do != "inject" && a.Do != "clear":
		return fmt.Errorf("target: %s needs one", a.Do)
	case a.Do == "schedule" && eventKinds[a.Event].seconds == 0:
		return fmt.Errorf("event: %q is unknown: use Freeze, Reboot, Redeploy, Preempt or Terminate", a.Event)
	case a.Do == "assign-role" && (a.Role == "" || a.Scope == ""):
		return errors.New("role, scope: assign-role needs both")
	case a.Do == "inject":
		if err := a.Fault.Check(); err != nil {
			return fmt.Errorf("fault: %w", err)
		}
	}
	return nil
}

// Perform does an act, or schedules it when its time is to come. A scheduled one
// that fails says so in [Server.Acts].
func (s *Server) Perform(a Act) error {
	if err := a.Check(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.sweep(now)
	if a.At.After(now) {
		s.pending.schedule(a.At, func(now time.Time) { _ = a.perform(s, now) })
		return nil
	}
	s.remember(now)
	return a.perform(s, now)
}

// perform does an act at once.
func (a Act) perform(s *Server, now time.Time) error {
	n := slices.IndexFunc(deeds, func(d deed) bool { return d.name == a.Do })
	err := deeds[n].do(s, a, now)
	a.At = now
	done := ActState{Act: a}
	if err != nil {
		err = fmt.Errorf("%s %s: %w", strings.ReplaceAll(a.Do, "-", " "), a.Target, err)
		done.Error = err.Error()
	}
	s.acts = append(s.acts, done)
	if len(s.acts) > keptActs {
		s.acts = s.acts[1:]
	}
	return err
}

// Acts are the acts that were done, oldest first, the last thousand of them.
func (s *Server) Acts() []ActState {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep(s.now())
	return slices.Clone(s.acts)
}
