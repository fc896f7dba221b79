package certify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// announced is the first event of a metadata service's document: its type, what its time leaves, and whether it names the machine.
func announced(document, name string) (kind, notice string, names bool) {
	var d struct {
		Events []struct {
			Type      string   `json:"EventType"`
			Resources []string `json:"Resources"`
			NotBefore string   `json:"NotBefore"`
			Status    string   `json:"EventStatus"`
		} `json:"Events"`
	}
	if json.Unmarshal([]byte(document), &d) != nil || len(d.Events) == 0 {
		return "", "", false
	}
	e := d.Events[0]
	notice = e.Status
	if e.NotBefore != "" {
		notice += " with a time"
	}
	return e.Type, notice, slices.Contains(e.Resources, name)
}

// flexed is the one machine of the flexible set.
type flexed struct {
	done    bool
	err     error
	deleted *reply
	end     ended
	gone    time.Time
}

// virtualMachines are those of the flexible set, as the list of the group's machines shows them.
func (l *Lab) virtualMachines(ctx context.Context) ([]any, error) {
	filter := url.Values{"$filter": {"'virtualMachineScaleSet/id' eq '" + l.setPath(l.flexible.name) + "'"}, "$expand": {"instanceView"}}
	return l.list(ctx, l.path("Microsoft.Compute/virtualMachines")+"?"+filter.Encode(), computeVersion)
}

// atMostOne sees to it that there are not three machines with the one of the flexible set.
func (l *Lab) atMostOne(ctx context.Context) error {
	if !l.set.made {
		return nil
	}
	all, err := l.living(ctx, l.set.name)
	if err != nil || len(all) < mostMachines {
		return err
	}
	r, err := l.remove(ctx, l.set.name, idsOf(all[1:])...)
	if r, err = l.must("take a machine away", r, err); err != nil {
		return err
	}
	e, err := l.follow(ctx, r)
	if err != nil {
		return err
	}
	return e.done("take a machine away")
}

// provideFlexible sees to it that the flexible set has had a machine.
func (l *Lab) provideFlexible(ctx context.Context) error {
	if !l.flexed.done {
		l.flexed.done = true
		l.flexed.err = func() error {
			if err := l.atMostOne(ctx); err != nil {
				return err
			}
			r, err := l.resize(ctx, l.flexible.name, 1, nil)
			if r, err = l.must("ask for a flexible machine", r, err); err != nil {
				return err
			}
			e, err := l.follow(ctx, r)
			if err != nil {
				return err
			}
			return e.done("make a flexible machine")
		}()
	}
	return l.flexed.err
}

// dropFlexible deletes the machine of the flexible set by its name, once.
func (l *Lab) dropFlexible(ctx context.Context) (*reply, ended, error) {
	f := &l.flexed
	if f.deleted != nil {
		return f.deleted, f.end, nil
	}
	all, err := l.virtualMachines(ctx)
	if err == nil && len(all) == 0 {
		err = errors.New("the flexible set has no machine")
	}
	if err != nil {
		return nil, ended{}, err
	}
	r, err := l.remove(ctx, l.flexible.name, text(all[0], "name"))
	if r, err = l.must("delete a flexible machine", r, err); err != nil {
		return nil, ended{}, err
	}
	if f.end, err = l.follow(ctx, r); err != nil {
		return nil, ended{}, err
	}
	f.deleted, f.gone = r, l.now()
	return r, f.end, nil
}

var flexibleName = regexp.MustCompile(`^flexible_[0-9a-f]{8}$`)

// flexibleProbes ask about scale sets of flexible kind.
var flexibleProbes = []Probe{
	{
		Name: "flexible-machines-are-listed-by-filter", Source: "https://github.com/Azure/azure-sdk-for-go/issues/19707",
		Promises: []string{"S-01", "S-02"}, Needs: Flexible,
		Fact: "The group's list of machines, filtered by a flexible set's id, shows its machines with their power state.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			all, err := l.virtualMachines(ctx)
			if err != nil {
				return Observation{}, err
			}
			power, named := "", false
			if len(all) > 0 {
				m := machineOf(all[0])
				power, named = m.power, flexibleName.MatchString(m.name)
			}
			return seen(len(all) == 1 && power == "running", "machines", len(all), "power", power, "named by eight hex digits", named), nil
		},
	},
	{
		Name: "flexible-instances-tell-no-states", Source: modes + "#list-scale-sets-vm-api-changes", Promises: []string{"S-02"}, Needs: Flexible,
		Fact: "The instance list of a flexible set names its machines, and shows no power states.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			path := l.setPath(l.flexible.name) + "/virtualMachines"
			r, err := l.get(ctx, path+"?$expand=instanceView", computeVersion)
			if err == nil && !r.ok() { // no states can be asked for: that is the fact as well
				r, err = l.get(ctx, path, computeVersion)
			}
			if err != nil {
				return Observation{}, err
			}
			all, err := l.virtualMachines(ctx)
			if err != nil {
				return Observation{}, err
			}
			named, power := 0, ""
			for _, v := range items(r.body, "value") {
				power += machineOf(v).power
				if slices.ContainsFunc(all, func(m any) bool { return strings.EqualFold(lastPart(text(m, "id")), lastPart(text(v, "id"))) }) {
					named++
				}
			}
			return seen(r.ok() && named == len(all) && power == "", "status", r.Status, "code", r.code(), "machines", len(all), "named", named, "power", power), nil
		},
	},
	{
		Name: "states-are-listed-alone", Source: "https://learn.microsoft.com/azure/virtual-machines/states-billing", Promises: []string{"S-02", "S-38"}, Needs: Flexible,
		Fact: "The subscription's list of machines shows with statusOnly the power state of each.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			mine, err := l.virtualMachines(ctx)
			if err != nil {
				return Observation{}, err
			}
			all, err := l.list(ctx, "/subscriptions/"+l.ledger.Subscription+"/providers/Microsoft.Compute/virtualMachines?statusOnly=true", computeVersion)
			power := ""
			for _, v := range all {
				if len(mine) == 1 && strings.EqualFold(text(v, "id"), text(mine[0], "id")) {
					power = machineOf(v).power
				}
			}
			return seen(power == "running", "power", power), err
		},
	},
	{
		Name: "belongings-take-tags", Source: "https://learn.microsoft.com/azure/azure-resource-manager/management/tag-resources",
		Promises: []string{"S-37"}, Needs: Flexible,
		Fact: "A PATCH of tags alone is taken by the interface and the disk of a machine, and the disk names its machine.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			all, err := l.contents(ctx)
			if err != nil {
				return Observation{}, err
			}
			tagged, kinds, managed := 0, []string{}, false
			for _, r := range all {
				kind := strings.ToLower(r.kind)
				if kind != "microsoft.compute/disks" && kind != "microsoft.network/networkinterfaces" || !r.ours {
					continue
				}
				kinds = append(kinds, lastPart(kind))
				body := map[string]any{"tags": map[string]string{groupTag: l.ledger.Run, "belongs": "yes"}}
				w, err := l.ask(ctx, http.MethodPatch, r.id, versions[kind], nil, body)
				if w, err = l.must("tag "+r.String(), w, err); err != nil {
					return Observation{}, err
				}
				if _, err := l.follow(ctx, w); err != nil {
					return Observation{}, err
				}
				now, err := l.read(ctx, r.id, versions[kind])
				if err != nil {
					return Observation{}, err
				}
				if now.text("tags", "belongs") == "yes" {
					tagged++
				}
				managed = managed || now.text("managedBy") != ""
			}
			return seen(tagged == 2 && managed, "kinds", sorted(kinds), "tagged", tagged, "the disk names its machine", managed), nil
		},
	},
	{
		Name: "flexible-machine-goes-by-name", Source: "https://github.com/Azure/azure-sdk-for-go/issues/19588", Promises: []string{"S-10"}, Needs: Flexible,
		Fact: "A flexible set deletes a machine by its name for an id, which lowers the capacity.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			r, e, err := l.dropFlexible(ctx)
			if err != nil {
				return Observation{}, err
			}
			n, err := l.capacity(ctx, l.flexible.name)
			return seen(e.last == "Succeeded" && n == 0, "status", r.Status, "end", e.last, "capacity", n), err
		},
	},
	{
		Name: "deleted-machine-takes-its-disk-along", Source: "https://learn.microsoft.com/azure/virtual-machines/delete",
		Promises: []string{"S-37"}, Needs: Flexible,
		Fact: "An interface and a disk with the delete option Delete are gone within 60 seconds after their machine.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			if _, _, err := l.dropFlexible(ctx); err != nil {
				return Observation{}, err
			}
			var kinds []string
			all, err := l.looks(ctx, l.flexed.gone, func() (bool, error) {
				kinds = nil
				there, err := l.contents(ctx)
				for _, r := range there {
					if strings.HasPrefix(r.name, l.flexible.name+"_") {
						kinds = append(kinds, lastPart(r.kind))
					}
				}
				return len(kinds) == 0, err
			})
			after, is, late := when(all)
			if late != nil {
				return Observation{}, late
			}
			return seen(is, "gone within", after, "left", sorted(kinds)), err
		},
	},
}

// mostReads is how many reads of one scale set are tried to be refused: its bucket holds 36, as documented.
const mostReads = 60

// limitProbes come last: they use up what others need, time and requests.
var limitProbes = []Probe{
	{
		Name: "forced-delete-goes-by-name", Source: setAPI + "/delete-instances", Promises: []string{"S-01", "S-10"}, Needs: Set,
		Fact: "A delete by name with forceDeletion is accepted like one without, and lowers the capacity.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			if err := l.provideMachines(ctx, 1); err != nil {
				return Observation{}, err
			}
			m, err := l.one(ctx)
			if err != nil {
				return Observation{}, err
			}
			before, err := l.capacity(ctx, l.set.name)
			if err != nil {
				return Observation{}, err
			}
			r, err := l.ask(ctx, http.MethodPost, l.setPath(l.set.name)+"/delete?forceDeletion=true", computeVersion, nil, map[string]any{"instanceIds": []string{m.id}})
			if err != nil {
				return Observation{}, err
			}
			e, err := l.follow(ctx, r)
			if err != nil {
				return Observation{}, err
			}
			after, err := l.capacity(ctx, l.set.name)
			return seen(r.ok() && e.last == "Succeeded" && after == before-1, "status", r.Status, "code", r.code(), "end", e.last, "after", seconds(e.took),
				"capacity", fmt.Sprintf("%d, was %d", after, before)), err
		},
	},
	{
		Name: "too-many-reads-are-refused", Source: throttling, Promises: []string{"S-32"}, Needs: Set,
		Fact: "More reads of a scale set than its bucket holds are refused with 429, which tells when to come again and what is counted.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			for n := 1; n <= mostReads; n++ {
				r, err := l.once(ctx, http.MethodGet, l.setPath(l.set.name), computeVersion, nil, nil)
				if err != nil {
					return Observation{}, err
				}
				if r.Status != http.StatusTooManyRequests {
					continue
				}
				after, target := r.Header.Get("Retry-After"), ""
				for _, d := range items(r.body, "error", "details") {
					target = text(d, "target")
				}
				for _, d := range items(r.body, "details") {
					target = text(d, "target")
				}
				counted := target + r.Header.Get("X-Ms-Ratelimit-Remaining-Resource")
				o := seen(after != "" && counted != "", "read", n, "code", r.code(), "Retry-After", after, "target", target,
					"left", r.Header.Get("X-Ms-Ratelimit-Remaining-Resource"))
				return o, l.wait(ctx, r.retryAfter(time.Minute))
			}
			return Observation{}, errors.New("60 reads in a row were all answered")
		},
	},
}
