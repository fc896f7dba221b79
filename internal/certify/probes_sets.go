package certify

import (
	"context"
	"errors"
	"net/http"
	"strings"
)

// retag writes tags, and the run's own beside them.
func (l *Lab) retag(ctx context.Context, header http.Header, tags map[string]string) (*reply, error) {
	tags[groupTag] = l.ledger.Run
	return l.ask(ctx, http.MethodPatch, l.setPath(l.set.name), computeVersion, header, map[string]any{"tags": tags})
}

// etag is the entity tag of the uniform set.
func (l *Lab) etag(ctx context.Context) (string, error) {
	r, err := l.read(ctx, l.setPath(l.set.name), computeVersion)
	if err == nil && r.text("etag") == "" {
		err = errors.New("the scale set shows no entity tag")
	}
	if err != nil {
		return "", err
	}
	return r.text("etag"), nil
}

// setProbes ask about a scale set without machines.
var setProbes = []Probe{
	{
		Name: "entity-tag-in-body", Source: sdk + "VirtualMachineScaleSet", Promises: []string{"S-04"}, Needs: Set,
		Fact: "A scale set shows its entity tag in the body, alone and in a list.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			alone, err := l.read(ctx, l.setPath(l.set.name), computeVersion)
			if err != nil {
				return Observation{}, err
			}
			all, err := l.list(ctx, l.path("Microsoft.Compute/virtualMachineScaleSets"), computeVersion)
			listed := ""
			for _, v := range all {
				if text(v, "name") == l.set.name {
					listed = text(v, "etag")
				}
			}
			etag := alone.text("etag")
			return seen(etag != "" && listed == etag, "alone", etag != "", "the same in the list", listed == etag), err
		},
	},
	{
		Name: "entity-tag-stays-when-read", Source: unseen, Promises: []string{"S-04"}, Needs: Set,
		Fact: "An entity tag stays while nobody writes.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			before, err := l.etag(ctx)
			if err != nil {
				return Observation{}, err
			}
			if err := l.wait(ctx, lookAgain); err != nil {
				return Observation{}, err
			}
			after, err := l.etag(ctx)
			return seen(before == after, "the same after", lookAgain), err
		},
	},
	{
		Name: "entity-tag-moves-with-tags", Source: unseen, Promises: []string{"S-04"}, Needs: Set,
		Fact: "A write of tags moves the entity tag.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			before, err := l.etag(ctx)
			if err != nil {
				return Observation{}, err
			}
			r, err := l.retag(ctx, nil, map[string]string{"probe": "moves"})
			if _, err = l.must("write tags", r, err); err != nil {
				return Observation{}, err
			}
			after, err := l.etag(ctx)
			return seen(before != after, "moved", before != after), err
		},
	},
	{
		Name: "entity-tag-guards-writes", Source: "https://github.com/kubernetes-sigs/cloud-provider-azure/issues/9728", Promises: []string{"S-04"}, Needs: Set,
		Fact: "A write whose If-Match is not the present entity tag is answered 412, and changes nothing.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			old, err := l.etag(ctx)
			if err != nil {
				return Observation{}, err
			}
			r, err := l.retag(ctx, nil, map[string]string{"guarded": "no"})
			if _, err = l.must("write tags", r, err); err != nil {
				return Observation{}, err
			}
			if now, err := l.etag(ctx); err != nil || now == old {
				return Observation{}, errors.Join(err, errors.New("the entity tag did not move, so that there is no old one"))
			}
			if r, err = l.retag(ctx, http.Header{"If-Match": {old}}, map[string]string{"guarded": "yes"}); err != nil {
				return Observation{}, err
			}
			after, err := l.read(ctx, l.setPath(l.set.name), computeVersion)
			if err != nil {
				return Observation{}, err
			}
			kept := after.text("tags", "guarded") == "no"
			return seen(r.Status == http.StatusPreconditionFailed && kept, "status", r.Status, "code", r.code(), "unchanged", kept), nil
		},
	},
	{
		Name: "tags-are-replaced", Source: unseen, Promises: []string{"S-37"}, Needs: Set,
		Fact: "A write of tags replaces all of them.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			for _, name := range []string{"former", "latter"} {
				r, err := l.retag(ctx, nil, map[string]string{name: "there"})
				if _, err = l.must("write tags", r, err); err != nil {
					return Observation{}, err
				}
			}
			r, err := l.read(ctx, l.setPath(l.set.name), computeVersion)
			if err != nil {
				return Observation{}, err
			}
			former, latter := r.text("tags", "former") != "", r.text("tags", "latter") != ""
			return seen(!former && latter, "the former", former, "the latter", latter), nil
		},
	},
	{
		Name: "tag-names-have-no-slash", Source: "https://learn.microsoft.com/azure/azure-resource-manager/management/tag-resources#limitations",
		Promises: []string{"S-21"}, Needs: Set,
		Fact: "A tag whose name has a slash is refused with 400, so that labels and taints are written otherwise in tags.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			r, err := l.retag(ctx, nil, map[string]string{"a/slash": "no"})
			if err != nil {
				return Observation{}, err
			}
			return seen(r.Status == http.StatusBadRequest, "status", r.Status, "code", r.code()), nil
		},
	},
	{
		Name: "list-shows-tags", Source: unseen, Promises: []string{"S-21", "S-22"}, Needs: Set,
		Fact: "A list of scale sets shows new tags within 60 seconds.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			r, err := l.retag(ctx, nil, map[string]string{"listed": "soon"})
			if r, err = l.must("write tags", r, err); err != nil {
				return Observation{}, err
			}
			all, err := l.looks(ctx, r.at, func() (bool, error) {
				sets, err := l.list(ctx, l.path("Microsoft.Compute/virtualMachineScaleSets"), computeVersion)
				for _, v := range sets {
					if text(v, "name") == l.set.name {
						return text(v, "tags", "listed") == "soon", err
					}
				}
				return false, err
			})
			after, is, late := when(all)
			if late != nil {
				return Observation{}, late
			}
			return seen(is, "shown after", after), err
		},
	},
	{
		Name: "custom-data-stays-hidden", Source: "https://github.com/hashicorp/terraform-provider-azurerm/issues/5371", Promises: []string{"S-04"}, Needs: Set,
		Fact: "A read shows no custom data, so that whoever writes back what was read loses it.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			r, err := l.read(ctx, l.setPath(l.set.name), computeVersion)
			if err != nil {
				return Observation{}, err
			}
			shown := r.text("properties", "virtualMachineProfile", "osProfile", "customData") != ""
			return seen(!shown, "shown", shown), nil
		},
	},
	{
		Name: "names-in-any-case", Source: unread, Promises: []string{"S-12"}, Needs: Set,
		Fact: "A path in other letter case leads to the same resource.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			group := l.ledger.Group
			path := strings.Replace(l.setPath(strings.ToUpper(l.set.name)), "/"+group+"/", "/"+strings.ToUpper(group)+"/", 1)
			r, err := l.get(ctx, path, computeVersion)
			if err != nil {
				return Observation{}, err
			}
			return seen(r.ok() && strings.EqualFold(r.text("id"), l.setPath(l.set.name)), "status", r.Status, "name as written", r.text("name") == l.set.name), nil
		},
	},
	{
		Name: "delete-wants-names", Source: setAPI + "/delete-instances", Promises: []string{"S-10"}, Needs: Set,
		Fact: "A delete of machines that names none is refused with 400.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			r, err := l.ask(ctx, http.MethodPost, l.setPath(l.set.name)+"/delete", computeVersion, nil, map[string]any{"instanceIds": []string{}})
			if err != nil {
				return Observation{}, err
			}
			return seen(r.Status == http.StatusBadRequest, "status", r.Status, "code", r.code()), nil
		},
	},
	{
		Name: "delete-wants-known-names", Source: unseen, Promises: []string{"S-11"}, Needs: Set,
		Fact: "A delete of a machine that never was is refused with 400 InvalidParameter, and names the instance.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			r, err := l.remove(ctx, l.set.name, "987654")
			if err != nil {
				return Observation{}, err
			}
			return l.stale(r, "987654"), nil
		},
	},
}

// stale is what a delete of a machine that is not there looks like.
func (l *Lab) stale(r *reply, id string) Observation {
	names := strings.Contains(r.message(), "instanceId "+id+" is not an active")
	return seen(r.Status == http.StatusBadRequest && r.code() == "InvalidParameter" && names,
		"status", r.Status, "code", r.code(), "target", r.target(), "names the instance", names)
}

// remove asks for machines to be deleted, by their ids.
func (l *Lab) remove(ctx context.Context, set string, ids ...string) (*reply, error) {
	return l.ask(ctx, http.MethodPost, l.setPath(set)+"/delete", computeVersion, nil, map[string]any{"instanceIds": ids})
}
