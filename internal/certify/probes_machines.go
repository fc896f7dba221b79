package certify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// lookAgain is the time between two looks at what should not change, or change soon.
const lookAgain = 5 * time.Second

func seconds(d time.Duration) string { return fmt.Sprintf("%.0f s", d.Seconds()) }

func sorted(words []string) string {
	slices.Sort(words)
	return strings.Join(words, " ")
}

// growthProbes say what the first machine of the uniform set looked like as it came.
var growthProbes = []Probe{
	{
		Name: "growth-is-an-operation", Source: asyncCalls, Promises: []string{"S-30", "S-33"}, Needs: Machine,
		Fact: "A raised capacity is answered at once with the address of an operation, which tells InProgress and then Succeeded.",
		Run: func(_ context.Context, l *Lab) (Observation, error) {
			g := l.growth
			link := g.answer.Header.Get("Azure-AsyncOperation") != ""
			return seen(link && strings.EqualFold(g.begun, "InProgress") && strings.EqualFold(g.end.last, "Succeeded"),
				"status", g.answer.Status, "operation", link, "Retry-After", g.answer.Header.Get("Retry-After"), "first", g.begun,
				"end", g.end.last, "after", seconds(g.end.took)), nil
		},
	},
	{
		Name: "growing-set-is-busy", Source: unseen, Promises: []string{"S-30"}, Needs: Machine,
		Fact: "A scale set is Updating while a machine comes, and Succeeded after that.",
		Run: func(_ context.Context, l *Lab) (Observation, error) {
			after := l.growth.after.text("properties", "provisioningState")
			return seen(l.growth.busy == "Updating" && after == "Succeeded", "meanwhile", l.growth.busy, "after", after), nil
		},
	},
	{
		Name: "entity-tag-moves-with-capacity", Source: unseen, Promises: []string{"S-04"}, Needs: Machine,
		Fact: "A write of the capacity moves the entity tag.",
		Run: func(_ context.Context, l *Lab) (Observation, error) {
			moved := l.growth.before.text("etag") != l.growth.after.text("etag")
			return seen(moved, "moved", moved), nil
		},
	},
	{
		Name: "entity-tag-stays-while-a-machine-comes", Source: unseen, Promises: []string{"S-04"}, Needs: Machine,
		Fact: "The entity tag stays from the answer to a growth until its machine is up.",
		Run: func(_ context.Context, l *Lab) (Observation, error) {
			answered, after := l.growth.answer.text("etag"), l.growth.after.text("etag")
			if answered == "" {
				return Observation{}, errors.New("the answer to the growth has no entity tag")
			}
			return seen(answered == after, "the same", answered == after), nil
		},
	},
	{
		Name: "growth-writes-nothing-else", Source: setAPI + "/update", Promises: []string{"S-04"}, Needs: Machine,
		Fact: "A PATCH of the capacity changes no other field that was written.",
		Run: func(_ context.Context, l *Lab) (Observation, error) {
			var changed []string
			before, after := l.growth.before.body, l.growth.after.body
			for _, path := range [][]string{
				{"tags"}, {"sku", "name"}, {"sku", "tier"}, {"properties", "virtualMachineProfile"}, {"properties", "upgradePolicy"},
				{"properties", "overprovision"}, {"properties", "orchestrationMode"}, {"properties", "singlePlacementGroup"},
			} {
				if !reflect.DeepEqual(dig(before, path...), dig(after, path...)) {
					changed = append(changed, strings.Join(path, "."))
				}
			}
			return seen(len(changed) == 0, "changed", sorted(changed)), nil
		},
	},
	{
		Name: "new-machine-is-listed", Source: unseen, Promises: []string{"S-01", "S-02", "S-20"}, Needs: Machine,
		Fact: "A list shows a new machine within 60 seconds after the capacity was raised.",
		Run: func(_ context.Context, l *Lab) (Observation, error) {
			after, is := when(l.growth.listed)
			as := ""
			if l.growth.first != nil {
				as = l.growth.first.state
			}
			return seen(is, "shown after", after, "as", as), nil
		},
	},
	{
		Name: "machine-has-its-uid-at-once", Source: instanceAPI + "/get", Promises: []string{"S-11"}, Needs: Machine,
		Fact: "A machine has its vmId and its time of creation from the first list on, and keeps them.",
		Run: func(_ context.Context, l *Lab) (Observation, error) {
			first, last := l.growth.first, l.growth.last
			if first == nil {
				return Observation{}, errors.New("no list showed the machine while it came")
			}
			return seen(first.uid != "" && first.uid == last.uid && first.created != "" && first.created == last.created,
				"vmId at first", first.uid != "", "kept", first.uid == last.uid, "time at first", first.created != "", "time kept", first.created == last.created), nil
		},
	},
	{
		Name: "machine-is-named-by-its-id", Promises: []string{"S-12"}, Needs: Machine,
		Source: "https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-instance-ids",
		Fact:   "A uniform machine is called by its set, _ and its id; its host is called by the prefix and the id as six digits of base 36.",
		Run: func(_ context.Context, l *Lab) (Observation, error) {
			m := l.growth.last
			id, err := strconv.ParseInt(m.id, 10, 64)
			host := "certify" + fmt.Sprintf("%06s", strconv.FormatInt(id, 36))
			return seen(err == nil && m.name == l.set.name+"_"+m.id && m.computer == host, "id", m.id, "name", m.name, "host", m.computer), nil
		},
	},
	{
		Name: "machine-that-is-up-says-so", Source: instanceAPI + "/get-instance-view", Promises: []string{"S-14"}, Needs: Machine,
		Fact: "When the operation has ended, the machine is Succeeded and PowerState/running.",
		Run: func(_ context.Context, l *Lab) (Observation, error) {
			m := l.growth.last
			return seen(m.state == "Succeeded" && m.power == "running", "state", m.state, "power", m.power), nil
		},
	},
	{
		Name: "interfaces-tell-addresses", Promises: []string{"S-12"}, Needs: Machine,
		Source: "https://learn.microsoft.com/rest/api/virtualnetwork/network-interface-in-vm-ss/list-virtual-machine-scale-set-network-interfaces",
		Fact:   "The list of a set's interfaces tells of each machine its private address.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			all, err := l.list(ctx, l.setPath(l.set.name)+"/networkInterfaces", vmNICVersion)
			told := 0
			for _, v := range all {
				for _, c := range items(v, "properties", "ipConfigurations") {
					if text(v, "properties", "virtualMachine", "id") != "" && text(c, "properties", "privateIPAddress") != "" {
						told++
					}
				}
			}
			return seen(told > 0 && told == len(all), "interfaces", len(all), "with machine and address", told), err
		},
	},
	{
		Name: "new-model-reaches-new-machines", Promises: []string{"S-34"}, Needs: Machine,
		Source: "https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-upgrade-policy",
		Fact:   "With the manual upgrade policy a written model leaves machines as they are: they show latestModelApplied false.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			model := map[string]any{"properties": map[string]any{"virtualMachineProfile": map[string]any{"userData": "Y2VydGlmeQ=="}}}
			r, err := l.ask(ctx, http.MethodPatch, l.setPath(l.set.name), computeVersion, nil, model)
			if r, err = l.must("write the model", r, err); err != nil {
				return Observation{}, err
			}
			if _, err := l.follow(ctx, r); err != nil {
				return Observation{}, err
			}
			all, err := l.living(ctx, l.set.name)
			if err == nil && len(all) == 0 {
				err = errors.New("the machine is gone")
			}
			if err != nil {
				return Observation{}, err
			}
			m := all[0]
			return seen(m.knownLatest && !m.latest && m.uid == l.growth.last.uid, "told", m.knownLatest, "latest", m.latest,
				"the same machine", m.uid == l.growth.last.uid), nil
		},
	},
	{
		Name: "boot-log-can-be-read", Source: instanceAPI + "/retrieve-boot-diagnostics-data", Promises: []string{"S-35"}, Needs: Machine,
		Fact: "A machine's boot log can be read at an address that Azure gives out, without a token.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			for range 6 {
				raw, err := l.cloud.BootLog(ctx, l.machinePath(l.growth.last.id))
				if err != nil {
					return Observation{}, err
				}
				if len(raw) > 0 {
					return seen(true, "bytes", "some"), nil
				}
				if err := l.wait(ctx, 10*time.Second); err != nil {
					return Observation{}, err
				}
			}
			return seen(false, "bytes", "none within a minute"), nil
		},
	},
	{
		Name: "metadata-names-the-machine", Promises: []string{"S-12", "S-42"}, Needs: Machine,
		Source: "https://learn.microsoft.com/azure/virtual-machines/instance-metadata-service",
		Fact:   "The metadata service of a machine tells the same vmId and name as Resource Manager.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			m := l.growth.last
			told, err := l.hear(ctx, l.machinePath(m.id))
			if err != nil {
				return Observation{}, err
			}
			uid, name := strings.EqualFold(told["vmId"], m.uid), told["name"] == m.name
			return seen(uid && name, "the same vmId", uid, "the same name", name), nil
		},
	},
}

func (l *Lab) machinePath(id string) string { return l.setPath(l.set.name) + "/virtualMachines/" + id }

// lower lowers the capacity of two machines by one, and says which Azure has deleted.
func (l *Lab) lower(ctx context.Context) (before, gone []machine, r *reply, err error) {
	if before, err = l.living(ctx, l.set.name); err != nil {
		return nil, nil, nil, err
	}
	if r, err = l.resize(ctx, l.set.name, len(before)-1, nil); err != nil || !r.ok() {
		return before, nil, r, err
	}
	if _, err = l.follow(ctx, r); err != nil {
		return before, nil, r, err
	}
	after, err := l.settled(ctx, len(before)-1)
	for _, m := range before {
		if !slices.ContainsFunc(after, func(other machine) bool { return other.uid == m.uid }) {
			gone = append(gone, m)
		}
	}
	l.dead = append(l.dead, gone...)
	return before, gone, r, err
}

// newest is the machine with the highest id.
func newest(all []machine) machine {
	return slices.MaxFunc(all, func(a, b machine) int { return serial(a.id) - serial(b.id) })
}

func serial(id string) int {
	n, err := strconv.Atoi(id)
	if err != nil {
		return -1
	}
	return n
}

// removal is a machine that was deleted by its name beside another, as it went.
type removal struct {
	done           bool
	err            error
	victim         machine
	protected      *reply // to the delete of the machine while it was protected from scale-in
	answer, second *reply
	lowered        []look // the capacity
	shown          string // as what the list showed it
	left           []look // the list
	end            ended
	repeated       *reply
	others         bool // the other machine stayed
}

// takeOne deletes one of two machines and watches it go.
func (l *Lab) takeOne(ctx context.Context) (r removal, err error) {
	r.done = true
	before, err := l.living(ctx, l.set.name)
	if err != nil {
		return r, err
	}
	r.victim = before[0]
	if err := l.protect(ctx, r.victim.id, true); err != nil {
		return r, err
	}
	answer, err := l.remove(ctx, l.set.name, r.victim.id)
	if r.protected = answer; err == nil && !answer.ok() {
		if err := l.protect(ctx, r.victim.id, false); err != nil {
			return r, err
		}
		answer, err = l.remove(ctx, l.set.name, r.victim.id)
	}
	if r.answer, err = l.must("delete a machine", answer, err); err != nil {
		return r, err
	}
	if r.second, err = l.once(ctx, http.MethodPost, l.setPath(l.set.name)+"/delete", computeVersion, nil, map[string]any{"instanceIds": idsOf(before[1:])}); err != nil {
		return r, err
	}
	r.lowered, err = l.looks(ctx, r.answer.at, func() (bool, error) {
		all, err := l.machines(ctx, l.set.name)
		for _, m := range all {
			if m.uid == r.victim.uid && r.shown == "" {
				r.shown = m.state
			}
		}
		if err != nil {
			return false, err
		}
		n, err := l.capacity(ctx, l.set.name)
		return n < len(before), err
	})
	if err != nil {
		return r, err
	}
	if r.end, err = l.follow(ctx, r.answer); err != nil {
		return r, err
	}
	ended := l.now()
	r.left, err = l.looks(ctx, ended, func() (bool, error) {
		all, err := l.machines(ctx, l.set.name)
		return !slices.ContainsFunc(all, func(m machine) bool { return m.uid == r.victim.uid }), err
	})
	if err != nil {
		return r, err
	}
	after, err := l.living(ctx, l.set.name)
	if err != nil {
		return r, err
	}
	r.others = r.second.ok() || len(after) == len(before)-1
	r.repeated, err = l.remove(ctx, l.set.name, r.victim.id)
	return r, err
}

func (l *Lab) removed(ctx context.Context) (removal, error) {
	if !l.removal.done {
		l.removal, l.removal.err = l.takeOne(ctx)
	}
	return l.removal, l.removal.err
}

// removalProbes ask with two machines what a smaller capacity and a delete do.
var removalProbes = []Probe{
	{
		Name: "lower-capacity-lets-azure-choose", Promises: []string{"S-01", "S-10"}, Needs: Two,
		Source: "https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-scale-in-policy",
		Fact:   "A capacity below the number of live machines is accepted, and Azure deletes the machine with the highest id, whatever runs on it.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			before, gone, r, err := l.lower(ctx)
			if err != nil {
				return Observation{}, err
			}
			highest := len(gone) == 1 && gone[0].uid == newest(before).uid
			return seen(r.ok() && highest, "status", r.Status, "code", r.code(), "deleted", len(gone), "the highest id", highest), nil
		},
	},
	{
		Name: "new-machine-is-another", Source: instanceAPI + "/get", Promises: []string{"S-11"}, Needs: Two,
		Fact: "A machine that is made after another was deleted has another vmId, whether the id comes again or not.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			if len(l.dead) == 0 {
				if _, _, _, err := l.lower(ctx); err != nil {
					return Observation{}, err
				}
				if err := l.provideMachines(ctx, 2); err != nil {
					return Observation{}, err
				}
			}
			if len(l.dead) == 0 {
				return Observation{}, errors.New("no machine was deleted")
			}
			m, err := l.one(ctx)
			if err != nil {
				return Observation{}, err
			}
			another := !slices.ContainsFunc(l.dead, func(old machine) bool { return old.uid == m.uid })
			again := slices.ContainsFunc(l.dead, func(old machine) bool { return old.id == m.id })
			return seen(another, "another vmId", another, "the id came again", again), nil
		},
	},
	{
		Name: "protected-machine-is-spared", Promises: []string{"S-18"}, Needs: Two,
		Source: "https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-instance-protection",
		Fact:   "A smaller capacity spares a machine that is protected from scale-in, and deletes another.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			before, err := l.living(ctx, l.set.name)
			if err != nil {
				return Observation{}, err
			}
			spared := newest(before)
			if err := l.protect(ctx, spared.id, true); err != nil {
				return Observation{}, err
			}
			_, gone, r, err := l.lower(ctx)
			if err == nil && len(gone) == 0 {
				err = fmt.Errorf("no machine was deleted (%d)", r.Status)
			}
			if err != nil {
				return Observation{}, err
			}
			is := !slices.ContainsFunc(gone, func(m machine) bool { return m.uid == spared.uid })
			if is {
				err = l.protect(ctx, spared.id, false)
			}
			return seen(is, "spared", is, "deleted", len(gone)), err
		},
	},
	{
		Name: "delete-lowers-capacity", Source: setAPI + "/delete-instances", Promises: []string{"S-01", "S-10"}, Needs: Two,
		Fact: "A delete by name is accepted with 202, lowers the capacity by one within 60 seconds, and leaves the other machine alone.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			r, err := l.removed(ctx)
			if err != nil {
				return Observation{}, err
			}
			after, is := when(r.lowered)
			return seen(r.answer.Status == http.StatusAccepted && is && r.others, "status", r.answer.Status, "lowered after", after, "the other stays", r.others), nil
		},
	},
	{
		Name: "protection-does-not-stop-a-delete", Promises: []string{"S-18"}, Needs: Two,
		Source: "https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-instance-protection",
		Fact:   "A machine that is protected from scale-in is deleted all the same when a delete names it.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			r, err := l.removed(ctx)
			if err != nil {
				return Observation{}, err
			}
			return seen(r.protected.ok(), "status", r.protected.Status, "code", r.protected.code()), nil
		},
	},
	{
		Name: "second-delete-is-refused", Source: "https://github.com/kubernetes/autoscaler/issues/3284", Promises: []string{"S-30", "S-31"}, Needs: Two,
		Fact: "While a delete runs, another one in the same scale set is refused with 409.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			r, err := l.removed(ctx)
			if err != nil {
				return Observation{}, err
			}
			return seen(r.second.Status == http.StatusConflict, "status", r.second.Status, "code", r.second.code()), nil
		},
	},
	{
		Name: "deleted-machine-is-shown-leaving", Source: unseen, Promises: []string{"S-11", "S-14"}, Needs: Two,
		Fact: "A machine that is being deleted is listed as Deleting, and no more 60 seconds after its operation has ended.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			r, err := l.removed(ctx)
			if err != nil {
				return Observation{}, err
			}
			after, is := when(r.left)
			return seen(r.shown == "Deleting" && is, "meanwhile", r.shown, "the operation took", seconds(r.end.took), "left the list after it within", after), nil
		},
	},
	{
		Name: "repeated-delete-is-refused", Source: unseen, Promises: []string{"S-11", "S-31"}, Needs: Two,
		Fact: "A delete of a machine that is gone, as after a lost answer, is refused with 400 InvalidParameter, and names the instance.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			r, err := l.removed(ctx)
			if err != nil {
				return Observation{}, err
			}
			return l.stale(r.repeated, r.victim.id), nil
		},
	},
}

// protect sets a machine's protection from scale-in.
func (l *Lab) protect(ctx context.Context, id string, is bool) error {
	body := map[string]any{"location": l.plan.Region, "properties": map[string]any{"protectionPolicy": map[string]bool{"protectFromScaleIn": is}}}
	r, err := l.ask(ctx, http.MethodPut, l.machinePath(id), computeVersion, nil, body)
	if r, err = l.must("protect a machine", r, err); err != nil {
		return err
	}
	e, err := l.follow(ctx, r)
	if err != nil {
		return err
	}
	return e.done("protect a machine")
}

// power has one machine switched off or on, and returns what the set shows of it then.
func (l *Lab) power(ctx context.Context, verb string, of machine) (machine, *reply, error) {
	r, err := l.ask(ctx, http.MethodPost, l.setPath(l.set.name)+"/"+verb, computeVersion, nil, map[string]any{"instanceIds": []string{of.id}})
	if r, err = l.must(verb+" a machine", r, err); err != nil {
		return machine{}, r, err
	}
	e, err := l.follow(ctx, r)
	if err != nil {
		return machine{}, r, err
	}
	if err := e.done(verb + " a machine"); err != nil {
		return machine{}, r, err
	}
	all, err := l.living(ctx, l.set.name)
	for _, m := range all {
		if m.uid == of.uid {
			return m, r, err
		}
	}
	return machine{}, r, err
}

// one is a machine of the uniform set.
func (l *Lab) one(ctx context.Context) (machine, error) {
	all, err := l.living(ctx, l.set.name)
	if err == nil && len(all) == 0 {
		err = errors.New("the set has no machine")
	}
	if err != nil {
		return machine{}, err
	}
	return newest(all), nil
}

// machineProbes ask what becomes of one machine.
var machineProbes = []Probe{
	{
		Name: "deallocated-machine-counts", Source: "https://learn.microsoft.com/azure/virtual-machines/states-billing",
		Promises: []string{"S-01", "S-14"}, Needs: Machine,
		Fact: "A deallocated machine stays listed as PowerState/deallocated, keeps its vmId and counts in the capacity.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			m, err := l.one(ctx)
			if err != nil {
				return Observation{}, err
			}
			before, err := l.capacity(ctx, l.set.name)
			if err != nil {
				return Observation{}, err
			}
			off, r, err := l.power(ctx, "deallocate", m)
			if err != nil {
				return Observation{}, err
			}
			after, err := l.capacity(ctx, l.set.name)
			return seen(off.uid == m.uid && off.power == "deallocated" && after == before, "status", r.Status, "listed", off.uid == m.uid,
				"power", off.power, "state", off.state, "capacity", fmt.Sprintf("%d, was %d", after, before)), err
		},
	},
	{
		Name: "started-machine-is-the-same", Source: "https://learn.microsoft.com/azure/virtual-machines/states-billing",
		Promises: []string{"S-14", "S-33"}, Needs: Machine,
		Fact: "A deallocated machine that is started runs again with the same id and vmId.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			m, err := l.one(ctx)
			if err == nil && m.power == "running" {
				m, _, err = l.power(ctx, "deallocate", m)
			}
			if err != nil {
				return Observation{}, err
			}
			on, r, err := l.power(ctx, "start", m)
			if err != nil {
				return Observation{}, err
			}
			return seen(on.uid == m.uid && on.id == m.id && on.power == "running", "status", r.Status, "the same", on.uid == m.uid, "power", on.power), nil
		},
	},
	{
		Name: "eviction-is-announced", Source: "https://learn.microsoft.com/azure/virtual-machines/linux/scheduled-events",
		Promises: []string{"S-42"}, Needs: Machine,
		Fact: "The metadata service of a spot machine announces its eviction as an event of type Preempt that names the machine.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			e, err := l.evict(ctx)
			if err == nil && !e.heard {
				err = errSilent
			}
			if err != nil {
				return Observation{}, err
			}
			return seen(e.kind == "Preempt" && e.names, "type", e.kind, "names the machine", e.names, "seen after", seconds(e.announced), "notice", e.notice), nil
		},
	},
	{
		Name: "evicted-machine-lowers-capacity", Source: "https://learn.microsoft.com/azure/virtual-machine-scale-sets/use-spot",
		Promises: []string{"S-01", "S-36"}, Needs: Machine,
		Fact: "With the eviction policy Delete an evicted machine leaves the list, and the capacity is lowered.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			e, err := l.evict(ctx)
			if err == nil && !e.gone {
				err = errors.New("the machine was not evicted within " + mostEviction.String())
			}
			if err != nil {
				return Observation{}, err
			}
			return seen(e.after == e.before-1, "status", e.status, "gone after", seconds(e.took), "capacity", fmt.Sprintf("%d, was %d", e.after, e.before)), nil
		},
	},
}

// eviction is a simulated one, as it was seen.
type eviction struct {
	done, heard, names, gone bool
	err                      error
	status, before, after    int
	kind, notice             string
	announced, took          time.Duration
}

// mostEviction is how long an eviction is waited for.
const mostEviction = 8 * time.Minute

func (l *Lab) evict(ctx context.Context) (eviction, error) {
	if !l.evicted.done {
		l.evicted, l.evicted.err = l.evictOne(ctx)
	}
	return l.evicted, l.evicted.err
}

func (l *Lab) evictOne(ctx context.Context) (e eviction, err error) {
	e.done = true
	m, err := l.one(ctx)
	if err != nil {
		return e, err
	}
	if e.before, err = l.capacity(ctx, l.set.name); err != nil {
		return e, err
	}
	if told, _, err := l.console(ctx, l.machinePath(m.id)); err == nil {
		e.heard = told["events"] != ""
	}
	r, err := l.ask(ctx, http.MethodPost, l.machinePath(m.id)+"/simulateEviction", computeVersion, nil, nil)
	if r, err = l.must("evict a machine", r, err); err != nil {
		return e, err
	}
	e.status = r.Status
	for !e.gone && l.now().Sub(r.at) < mostEviction {
		if err := l.wait(ctx, lookAgain); err != nil {
			return e, err
		}
		if told, _, err := l.console(ctx, l.machinePath(m.id)); err == nil && e.heard && e.kind == "" {
			e.kind, e.notice, e.names = announced(told["events"], m.name)
			e.announced = l.now().Sub(r.at)
		}
		all, err := l.machines(ctx, l.set.name)
		if err != nil {
			return e, err
		}
		e.gone, e.took = !slices.ContainsFunc(all, func(other machine) bool { return other.uid == m.uid }), l.now().Sub(r.at)
	}
	e.after, err = l.capacity(ctx, l.set.name)
	return e, err
}
