package azuresim

import "time"

// provisioningPatience is how long Azure waits for a Linux machine to report that it is provisioned.
const provisioningPatience = 20 * time.Minute

// await has a new machine be provisioned by its own report, where machines give one, and fail without it. It stays, and runs: it may still come up.
func (c compute) await(i *instance, now time.Time) {
	if !c.awaits || i.provisioning.reported {
		return
	}
	i.provisioning.awaited, i.provisioning.upAt = true, time.Time{}
	i.provisioning.failAt = now.Add(provisioningPatience)
	i.provisioning.failure = errorDetail{Code: "OSProvisioningTimedOut", Message: usualMessage("OSProvisioningTimedOut"), Target: i.instanceID()}
}

// Report is what the machine with a vmId reports of itself to the wire server, the first time that counts: it is provisioned, or why it is not. Later
// ones change nothing, nor do those of machines that have failed, until they are written again.
func (s *Server) Report(vmID string, ready bool, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.sweep(now)
	for i := range s.store.everyInstance() {
		if i.vmID != vmID {
			continue
		}
		s.remember(now)
		i.provisioning.reported = i.provisioning.reported || ready
		if !i.provisioning.awaited || reached(i.provisioning.failAt, now) {
			return
		}
		if ready {
			i.provisioning.succeed(now)
			return
		}
		i.provisioning.fail(now, errorDetail{
			Code: "OSProvisioningInternalError", Target: i.instanceID(),
			Message: "OS Provisioning failed for VM '" + i.name() + "' due to an internal error: " + why,
		})
		return
	}
}
