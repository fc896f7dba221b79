package lifecycle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"sluice.dev/sluice/cloud"
)

const locksVersion = "2016-09-01"

// checkLocks looks for management locks on the cluster's group, or above it: with one sluice removes no machine, and with ReadOnly it adds
// none. Who may not read locks is told later by what they refuse.
func (c checker) checkLocks(ctx context.Context, _ []wanted, say func(Finding)) error {
	group := c.group(c.File.ResourceGroup)
	raw, err := c.listOrNone(ctx, group, group+"/providers/Microsoft.Authorization/locks", locksVersion)
	if kind := cloud.KindOf(err); kind == cloud.Unauthorized || kind == cloud.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	wrong := false
	for _, one := range raw {
		var l struct {
			ID         string `json:"id"`
			Name       string `json:"name"`
			Properties struct {
				Level string `json:"level"`
			} `json:"properties"`
		}
		if json.Unmarshal(one, &l) != nil {
			continue
		}
		scope, _, _ := strings.Cut(l.ID, "/providers/Microsoft.Authorization/locks/")
		if !(Resource{group}).in(scope) && !strings.EqualFold(Resource{scope}.Kind(), "Microsoft.Compute/virtualMachineScaleSets") {
			continue // such as on the vault alone: sluice deletes nothing there
		}
		wrong = true
		f := Finding{Check: "locks", of: Resource{scope}, Remedy: "remove it: az lock delete --ids " + l.ID}
		f.Wrong = fmt.Sprintf("lock %s (%s) on %s keeps sluice from removing machines", l.Name, l.Properties.Level, scope)
		say(f)
	}
	if !wrong {
		say(Finding{Check: "locks"})
	}
	return nil
}

// summed are errors of several deletions, those of one cause in one sentence.
func summed(failed []error) error {
	var all []error
	more := map[string]int{} // by cause, how many beside the first
	first := map[string]int{}
	for _, err := range failed {
		var e *cloud.Error
		cause := err.Error()
		if errors.As(err, &e) && e.Kind == cloud.Denied {
			cause = e.Code
		}
		if _, known := first[cause]; known {
			more[cause]++
			continue
		}
		first[cause] = len(all)
		all = append(all, err)
	}
	for cause, n := range more {
		at := first[cause]
		all[at] = fmt.Errorf("%w (and %d more for the same reason)", all[at], n)
	}
	return Several(all)
}

// Several are errors of one command, each of which is told in a line of its own.
type Several []error

func (s Several) Error() string { return errors.Join(s...).Error() }

// Unwrap are the errors.
func (s Several) Unwrap() []error { return s }
