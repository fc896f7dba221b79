package azure

import (
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
)

// condition is what Azure says of what a machine does, in the same words for every kind of group.
type condition struct {
	provisioning string
	statuses     []*armcompute.InstanceViewStatus // empty when the instance view was left out
}

// is sets what the machine does.
func (m *machine) is(does condition, about subject) {
	m.state, m.failure = does.state(about)
	m.power = does.power()
}

// power is the word of the power state, such as "running" or "deallocated"; "" when Azure does not say.
func (c condition) power() string {
	for _, s := range c.statuses {
		if s == nil {
			continue
		}
		if kind, word, _ := strings.Cut(val(s.Code), "/"); kind == "PowerState" {
			return word
		}
	}
	return ""
}

// switchedOff says whether a machine with this power state runs no more. One that was stopped from within is billed still.
func switchedOff(power string) bool {
	return slices.Contains([]string{"stopped", "stopping", "deallocated", "deallocating"}, power)
}

// state reads provisioning and power state. A machine that runs and whose last change failed for a reason other than its start, such
// as a disk that did not attach, is running. The failure's time is zero when Azure does not say it.
func (c condition) state(about subject) (cluster.State, *cluster.Failure) {
	power, why, when := c.power(), answer{}, time.Time{}
	for _, s := range c.statuses {
		if s == nil {
			continue
		}
		kind, rest, _ := strings.Cut(val(s.Code), "/")
		outcome, code, _ := strings.Cut(rest, "/")
		if kind == "ProvisioningState" && strings.EqualFold(outcome, "failed") {
			why = answer{Code: code, Message: val(s.Message)}
			if s.Time != nil {
				when = s.Time.UTC()
			}
		}
	}
	switch {
	case c.provisioning == "Deleting":
		return cluster.StateDeleting, nil
	case c.provisioning == "Failed" && (power != "running" || why.ofStart()):
		return cluster.StateFailed, why.failure(when, 0, "ProvisioningFailed", about, 0)
	case switchedOff(power):
		return cluster.StateStopped, nil
	case c.provisioning == "Creating", c.provisioning == "Updating" && power == "starting":
		return cluster.StateCreating, nil
	default:
		return cluster.StateRunning, nil
	}
}

// ofStart says whether a machine with this failure has not become what it should be. No code at all counts as one.
func (a answer) ofStart() bool {
	for _, prefix := range []string{"OSProvisioning", "VMStart", "VMExtension"} {
		if strings.HasPrefix(a.Code, prefix) {
			return true
		}
	}
	switch kindOf(0, a) {
	case cloud.Quota, cloud.Allocation, cloud.Unavailable, cloud.Network, cloud.Provisioning:
		return true
	}
	return a.Code == ""
}
