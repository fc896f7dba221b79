package certify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/internal/azure"
)

func listAll(ctx context.Context, c *azure.Resources, path, version string, query url.Values) ([]any, error) {
	raw, err := c.List(ctx, path, version, query)
	if err != nil {
		return nil, err
	}
	all := make([]any, len(raw))
	for i := range raw {
		if err := json.Unmarshal(raw[i], &all[i]); err != nil {
			return nil, fmt.Errorf("an answer about %s could not be read: %w", path, err)
		}
	}
	return all, nil
}

// resource is something in the run's group.
type resource struct {
	id, name, kind string
	ours           bool
}

func (r resource) String() string { return lastPart(r.kind) + " " + r.name }

// contents are what the group holds, in the order of deletions.
func (l *Lab) contents(ctx context.Context) ([]resource, error) {
	all, err := l.list(ctx, l.ledger.groupPath()+"/resources", groupsVersion)
	if err != nil {
		return nil, err
	}
	var found []resource
	for _, v := range all {
		tags := map[string]string{}
		for name := range asMap(dig(v, "tags")) {
			tags[name] = text(v, "tags", name)
		}
		r := resource{id: text(v, "id"), name: text(v, "name"), kind: text(v, "type")}
		r.ours = l.ledger.ours(r.id, r.name, tags)
		found = append(found, r)
	}
	slices.SortStableFunc(found, func(a, b resource) int {
		return slices.Index(order, strings.ToLower(a.kind)) - slices.Index(order, strings.ToLower(b.kind))
	})
	return found, nil
}

func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// versions are those by which things are deleted, by their kinds in lower case.
var versions = map[string]string{
	"microsoft.compute/virtualmachinescalesets": computeVersion,
	"microsoft.compute/virtualmachines":         computeVersion,
	"microsoft.compute/availabilitysets":        computeVersion,
	"microsoft.compute/disks":                   "2024-03-02",
	"microsoft.network/networkinterfaces":       networkVersion,
	"microsoft.network/virtualnetworks":         networkVersion,
}

// order is that of deletions: what uses others goes before what it uses.
var order = []string{
	"microsoft.compute/virtualmachinescalesets", "microsoft.compute/virtualmachines", "microsoft.compute/availabilitysets", "microsoft.network/networkinterfaces",
	"microsoft.compute/disks", "microsoft.network/virtualnetworks",
}

// Cleaner removes what a ledger names.
type Cleaner struct {
	Cloud  *azure.Resources
	Ledger *Ledger
	Now    func() time.Time
	Wait   func(context.Context, time.Duration) error
	Say    func(string)
}

// Left is what a removal could not remove.
type Left struct {
	Ours    []string // what the run made
	Foreign []string // what others made in the group, which therefore stays
	Why     error
	Command string // that removes the group with all that is in it
}

// Clean removes by name what the run made, then the group, and forgets the ledger; nil when nothing is left. It may be called again.
func (c Cleaner) Clean(ctx context.Context) *Left {
	l := &Lab{cloud: c.Cloud, ledger: c.Ledger, now: c.Now, wait: c.Wait}
	left := &Left{Command: c.Ledger.Command()}
	for began, theirs := l.now(), 0; ; {
		if left.Why = l.clean(ctx, left, c.Say); left.Why == nil && len(left.Ours)+len(left.Foreign) == 0 {
			if err := c.Ledger.close(); err != nil {
				c.Say(fmt.Sprintf("the ledger cannot be removed: %v", err))
			}
			return nil
		}
		var e *cloud.Error
		denied := errors.As(left.Why, &e) && (e.Kind == cloud.Unauthorized || e.Kind == cloud.Denied)
		if len(left.Ours) == 0 && len(left.Foreign) > 0 {
			theirs++ // what goes with something of ours goes a moment later
		}
		if theirs == 3 || ctx.Err() != nil || denied || l.now().Sub(began) > RemovalTime || l.wait(ctx, lookAgain) != nil {
			return left
		}
	}
}

// Look says what [Cleaner.Clean] would remove, and what of others stays. It only reads.
func (c Cleaner) Look(ctx context.Context) (goes, stays []string, err error) {
	l := &Lab{cloud: c.Cloud, ledger: c.Ledger, now: c.Now, wait: c.Wait}
	group := "resource group " + c.Ledger.Group
	g, err := l.get(ctx, c.Ledger.groupPath(), groupsVersion)
	if err == nil && g.Status == http.StatusNotFound {
		return nil, nil, nil
	}
	if g, err = l.must("read "+group, g, err); err != nil {
		return nil, nil, err
	}
	if g.text("tags", groupTag) != c.Ledger.Run {
		return nil, []string{group}, nil
	}
	all, err := l.contents(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range all {
		if r.ours {
			goes = append(goes, r.String())
		} else {
			stays = append(stays, r.String())
		}
	}
	if len(stays) > 0 {
		return goes, append(stays, group), nil
	}
	return append(goes, group), nil, nil
}

// clean is one round of it.
func (l *Lab) clean(ctx context.Context, left *Left, say func(string)) error {
	group := l.ledger.groupPath()
	g, err := l.get(ctx, group, groupsVersion)
	for again := 0; err == nil && g.Status == http.StatusNotFound && !l.ledger.Answered && again < 2; again++ { // Azure may have heard the request yet
		if err = l.wait(ctx, lookAgain); err == nil {
			g, err = l.get(ctx, group, groupsVersion)
		}
	}
	if err == nil && g.Status == http.StatusNotFound {
		left.Ours, left.Foreign = nil, nil
		return nil
	}
	if left.Ours == nil {
		left.Ours = []string{"resource group " + l.ledger.Group}
	}
	if g, err = l.must("read resource group "+l.ledger.Group, g, err); err != nil {
		return err
	}
	if g.text("tags", groupTag) != l.ledger.Run {
		left.Ours, left.Foreign = nil, []string{"resource group " + l.ledger.Group}
		return errors.New("it does not bear the run's tag")
	}
	all, err := l.contents(ctx)
	if err != nil {
		return err
	}
	left.Ours, left.Foreign = []string{"resource group " + l.ledger.Group}, nil
	var failed error
	for _, r := range all {
		if !r.ours {
			continue
		}
		left.Ours = append(left.Ours, r.String())
		if failed != nil {
			continue // it is used by what is there yet
		}
		if failed = l.delete(ctx, r.String(), r.id, versions[strings.ToLower(r.kind)]); failed == nil {
			left.Ours = left.Ours[:len(left.Ours)-1]
			say(r.String() + " is removed")
		}
	}
	if failed != nil {
		return failed
	}
	if all, err = l.contents(ctx); err != nil {
		return err
	}
	for _, r := range all {
		if r.ours {
			return fmt.Errorf("%s is there yet", r)
		}
		left.Foreign = append(left.Foreign, r.String())
	}
	if len(left.Foreign) > 0 {
		left.Ours = nil // the group is theirs as well
		return nil
	}
	if err := l.delete(ctx, "resource group "+l.ledger.Group, group, groupsVersion); err != nil {
		return err
	}
	say("resource group " + l.ledger.Group + " is removed")
	left.Ours = nil
	return nil
}

// delete deletes one thing and waits for its end. What is not there is gone.
func (l *Lab) delete(ctx context.Context, what, path, version string) error {
	r, err := l.ask(ctx, http.MethodDelete, path, version, nil, nil)
	if err == nil && r.Status == http.StatusNotFound {
		return nil
	}
	if r, err = l.must("remove "+what, r, err); err != nil {
		return err
	}
	e, err := l.follow(ctx, r)
	if err != nil {
		return err
	}
	return e.done("remove " + what)
}

// Others are the commands that remove the resource groups of runs that are there, whosoever they are.
func Others(ctx context.Context, c *azure.Resources) (commands []string, err error) {
	all, err := listAll(ctx, c, "/subscriptions/"+url.PathEscape(c.Subscription())+"/resourcegroups", groupsVersion, nil)
	for _, v := range all {
		if run := text(v, "tags", groupTag); run != "" && text(v, "name") == GroupPrefix+run {
			l := Ledger{Subscription: c.Subscription(), Group: GroupPrefix + run}
			commands = append(commands, l.Command())
		}
	}
	return commands, err
}
