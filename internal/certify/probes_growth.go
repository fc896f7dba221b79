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
			if !g.soon {
				return Observation{}, errLate
			}
			link := g.answer.Header.Get("Azure-AsyncOperation") != ""
			return seen(link && strings.EqualFold(g.begun, "InProgress") && strings.EqualFold(g.end.last, "Succeeded"),
				"status", g.answer.Status, "operation", link, "Retry-After", g.answer.Header.Get("Retry-After"), "first", g.begun,
				"end", g.end.last, "after", seconds(g.end.took)), nil
		},
	},
	{
		Name: "growing-set-is-busy", Source: "https://github.com/kubernetes/autoscaler/pull/3023", Promises: []string{"S-30"}, Needs: Machine,
		Fact: "A scale set is Updating while a machine comes, and Succeeded after that.",
		Run: func(_ context.Context, l *Lab) (Observation, error) {
			if !l.growth.soon {
				return Observation{}, errLate
			}
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
		Name: "growth-writes-nothing-else", Source: unseen, Promises: []string{"S-04"}, Needs: Machine,
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
			after, is, late := when(l.growth.listed)
			if late != nil {
				return Observation{}, late
			}
			as := ""
			if l.growth.first != nil {
				as = l.growth.first.state
			}
			return seen(is, "shown after", after, "as", as), nil
		},
	},
	{
		Name: "machine-has-its-uid-at-once", Source: unseen, Promises: []string{"S-11"}, Needs: Machine,
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
		Source: instanceIDs,
		Fact:   "A uniform machine is called by its set, _ and its id; its host is called by the prefix and the id as six digits of base 36.",
		Run: func(_ context.Context, l *Lab) (Observation, error) {
			m := l.growth.last
			id, err := strconv.ParseInt(m.id, 10, 64)
			host := "certify" + fmt.Sprintf("%06s", strconv.FormatInt(id, 36))
			return seen(err == nil && m.name == l.set.name+"_"+m.id && strings.EqualFold(m.computer, host), "id", m.id, "name", m.name, "host", m.computer), nil
		},
	},
	{
		Name: "machine-that-is-up-says-so", Source: "https://learn.microsoft.com/azure/virtual-machines/states-billing", Promises: []string{"S-14"}, Needs: Machine,
		Fact: "When the operation has ended, the machine is Succeeded and PowerState/running.",
		Run: func(_ context.Context, l *Lab) (Observation, error) {
			m := l.growth.last
			return seen(m.state == "Succeeded" && m.power == "running", "state", m.state, "power", m.power), nil
		},
	},
	{
		Name: "interfaces-tell-addresses", Source: unread, Promises: []string{"S-12"}, Needs: Machine,
		Fact: "The list of a set's interfaces shows the private address of each machine.",
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
		Name: "boot-log-can-be-read", Promises: []string{"S-35"}, Needs: Machine,
		Source: "https://learn.microsoft.com/rest/api/compute/virtual-machines/retrieve-boot-diagnostics-data",
		Fact:   "A machine's boot log can be read at an address that Azure gives out, without a token.",
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
		Name: "metadata-names-the-machine", Source: instanceIDs, Promises: []string{"S-12", "S-42"}, Needs: Machine,
		Fact: "The metadata service of a machine tells the same vmId and name as Resource Manager.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			m := l.growth.last
			told, err := l.hear(ctx, l.machinePath(m.id), "vmId", "name")
			if err != nil {
				return Observation{}, err
			}
			uid, name := strings.EqualFold(told["vmId"], m.uid), told["name"] == m.name
			return seen(uid && name, "the same vmId", uid, "the same name", name), nil
		},
	},
	{
		Name: "attested-document-names-the-machine", Source: metadata + "#attested-data", Promises: []string{"S-12"}, Needs: Machine,
		Fact: "The metadata service signs a document as metadata.azure.com, which holds the machine's vmId and the asker's nonce.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			m := l.growth.last
			told, err := l.hear(ctx, l.machinePath(m.id), "attested")
			if err != nil {
				return Observation{}, err
			}
			said := append(strings.Fields(told["attested"]), "", "", "")
			signer, asked, uid := strings.Contains("."+said[0], ".metadata.azure."), said[1] == nonce, strings.EqualFold(said[2], m.uid)
			return seen(signer && asked && uid, "its signer", signer, "the nonce", asked, "the same vmId", uid), nil
		},
	},
}
