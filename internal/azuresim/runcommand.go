package azuresim

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
)

// Run commands of the first kind: a script that the agent in a machine runs as root, and of whose output the last 4,096 bytes come back.

const (
	mostOutput    = 4096             // of each stream
	longestScript = 90 * time.Minute // then Azure ends it
	agentPatience = 5 * time.Minute  // Azure waits for an agent that does not answer (assumed)
)

// command is a script in a machine, as the part of an operation that ends when it has.
type command struct {
	vmID  string
	ended time.Time // zero: it runs
	said  string    // with its output
}

// result is what the operation of a script gives back.
func (c *command) result() map[string]any {
	return map[string]any{"value": []status{{
		Code: "ProvisioningState/succeeded", Level: "Info", DisplayStatus: "Provisioning succeeded", Message: c.said,
	}}}
}

func runCommandOnMachine(q *request) answer {
	i, p := q.store.machineAt(q.route, q.now)
	if p != nil {
		return p.answer()
	}
	return q.runCommand(i)
}

func runCommandOnInstance(q *request) answer {
	i, p := q.store.instanceAt(q.route, q.http.Method, q.now)
	if p != nil {
		return p.answer()
	}
	return q.runCommand(i)
}

// runCommand has a machine run a script. What a script ends with does not matter to Azure, which tells its output alone.
func (q *request) runCommand(i *instance) answer {
	var w struct {
		CommandID string   `json:"commandId"`
		Script    []string `json:"script"`
	}
	if p := q.decode(&w); p != nil {
		return p.answer()
	}
	s := q.server
	switch {
	case !strings.EqualFold(w.CommandID, "RunShellScript"):
		return bad("InvalidParameter", "The value '%s' of parameter 'commandId' is invalid.", w.CommandID).target("commandId").answer()
	case len(w.Script) == 0:
		return bad("InvalidParameter", "Required parameter 'script' is missing (null).").target("script").answer()
	case i.powerState(q.now) != "running":
		return fail(http.StatusConflict, "OperationNotAllowed", "The operation requires the VM to be running (or set to run).").answer()
	case s.store.operations.commanded(i):
		return fail(http.StatusConflict, "Conflict",
			"Run command extension execution is in progress. Please wait for completion before invoking a run command.").answer()
	}
	o := operation{set: i.set, single: true}
	if s.Run == nil {
		o.until = q.now.Add(agentPatience)
		o.errors = []errorDetail{{Code: "VMAgentStatusCommunicationError", Message: "VM '" + i.name() +
			"' has not reported status for VM agent or extensions. Verify that the OS is up and healthy, the VM has a running VM agent, and that it can establish outbound connections to Azure storage."}}
		return q.async(answer{status: http.StatusAccepted}, s.store.operations.launch(s.Seed, machineKind, i.location, q.now, o))
	}
	o.command = &command{vmID: i.vmID}
	begun := s.store.operations.launch(s.Seed, machineKind, i.location, q.now, o)
	id := i.id()
	s.scripts.Go(func() { begun.run(s, id, w.Script) })
	return q.async(answer{status: http.StatusAccepted}, begun)
}

// commanded reports whether a script runs in a machine.
func (ops *operations) commanded(i *instance) bool {
	for _, o := range ops.byID {
		if o.command != nil && o.command.vmID == i.vmID && o.command.ended.IsZero() {
			return true
		}
	}
	return false
}

// run has the machine's agent run a script, and writes down what came of it. It is the one thing here that takes as long as it takes.
func (o *operation) run(s *Server, machine string, script []string) {
	ctx, cancel := context.WithTimeout(context.Background(), longestScript)
	defer cancel()
	stdout, stderr, err := s.Run(ctx, machine, script)

	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.remember(now)
	var exit interface{ ExitCode() int } // of a script that ran and failed
	if err != nil && !errors.As(err, &exit) {
		o.errors = []errorDetail{{Code: "VMExtensionProvisioningError", Message: "VM has reported a failure when processing extension 'RunCommandLinux'. Error message: 'Enable failed: " + err.Error() + "'."}}
	} else {
		o.command.said = "Enable succeeded: \n[stdout]\n" + tail(stdout) + "\n[stderr]\n" + tail(stderr)
	}
	o.command.ended = now
}

// WaitForScripts returns when no script runs in a machine, and the operation of each has ended: for a world with its own clock, which would not know
// when to look again.
func (s *Server) WaitForScripts() { s.scripts.Wait() }

// tail is the end of an output, as much as Azure keeps of it.
func tail(s string) string { return s[max(0, len(s)-mostOutput):] }
