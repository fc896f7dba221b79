package azuresim_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"sluice.dev/sluice/internal/azuresim"
)

// agent is what runs scripts in machines: each is handed to the test, which says how it ends.
type agent chan script

type script struct {
	machine string
	lines   []string
	end     chan ending
}

type ending struct {
	stdout, stderr string
	err            error
}

func (a agent) run(_ context.Context, machine string, lines []string) (string, string, error) {
	s := script{machine, lines, make(chan ending)}
	a <- s
	e := <-s.end
	return e.stdout, e.stderr, e.err
}

type exit int

func (e exit) Error() string { return "exit" }
func (e exit) ExitCode() int { return int(e) }

const commandBody = `{"commandId":"RunShellScript","script":["echo one","echo two"]}`

// lone adds a running machine outside scale sets, and is its path.
func (a *azure) lone(name string) string {
	a.must(a.AddMachine(azuresim.Machine{Subscription: subscription, ResourceGroup: group, Name: name, Location: "westeurope", Size: "Standard_D2s_v5"}))
	return strings.TrimSuffix(setPath, "virtualMachineScaleSets/agents") + "virtualMachines/" + name
}

// ended polls an operation until it has ended. What ends it is a script in another goroutine, so that it may take some polls.
func (a *azure) ended(resp *http.Response) string {
	for {
		_, body := a.wire("GET", strings.TrimPrefix(resp.Header.Get("Azure-AsyncOperation"), "https://management.azure.test"), "")
		if field(a.t, body, "status") != "InProgress" {
			return body
		}
	}
}

func TestRunCommand(t *testing.T) {
	scripts := make(agent)
	a := newAzure(t, func(s *azuresim.Server) { s.Run = scripts.run })
	a.agents(1)
	vm := a.lone("server")
	for _, path := range []string{vm, setPath + "/virtualMachines/0"} {
		resp, body := a.wire("POST", path+"/runCommand"+version, commandBody)
		if resp.StatusCode != 202 || resp.Header.Get("Location") == "" {
			t.Fatal(resp.StatusCode, body)
		}
		s := <-scripts
		if !strings.EqualFold(s.machine, path) || !slices.Equal(s.lines, []string{"echo one", "echo two"}) {
			t.Error(s.machine, s.lines)
		}
		if resp, _ := a.wire("GET", strings.TrimPrefix(resp.Header.Get("Location"), "https://management.azure.test"), ""); resp.StatusCode != 202 {
			t.Error("the script runs, and the answer is", resp.StatusCode)
		}
		if second, body := a.wire("POST", path+"/runCommand"+version, commandBody); second.StatusCode != 409 || field(t, body, "error", "code") != "Conflict" {
			t.Error("a second command at a time:", second.StatusCode, body)
		}
		s.end <- ending{stdout: "gone" + strings.Repeat("o", 4093) + "end", stderr: "warning\n", err: exit(3)}
		const want = "Enable succeeded: \n[stdout]\n"
		status := a.ended(resp)
		values, _ := field(t, status, "properties", "output", "value").([]any)
		if field(t, status, "status") != "Succeeded" || len(values) != 1 {
			t.Fatal(status)
		}
		message, _ := values[0].(map[string]any)["message"].(string)
		if message != want+strings.Repeat("o", 4093)+"end\n[stderr]\nwarning\n" {
			t.Error(message)
		}
	}
}

// The real client finds the output where it looks for it.
func TestRunCommandBySDK(t *testing.T) {
	a := newAzure(t, func(s *azuresim.Server) {
		s.Run = func(context.Context, string, []string) (string, string, error) { return "ready\n", "", nil }
	})
	a.agents(1)
	a.lone("server")
	input := armcompute.RunCommandInput{CommandID: to.Ptr("RunShellScript"), Script: []*string{to.Ptr("true")}}
	vms, err := armcompute.NewVirtualMachinesClient(subscription, a.cred, a.options)
	a.must(err)
	byName, err := vms.BeginRunCommand(context.Background(), group, "server", input, nil)
	a.must(err)
	a.WaitForScripts()
	if _, err := byName.Poll(context.Background()); err != nil || !byName.Done() {
		t.Errorf("the script has run, and its operation goes on: %v", err)
	}
	alone := until(t, byName)
	byID, err := a.vms.BeginRunCommand(context.Background(), group, "agents", "0", input, nil)
	a.must(err)
	inSet := until(t, byID)
	for _, r := range []armcompute.RunCommandResult{alone.RunCommandResult, inSet.RunCommandResult} {
		if len(r.Value) != 1 || *r.Value[0].Message != "Enable succeeded: \n[stdout]\nready\n\n[stderr]\n" {
			t.Errorf("%+v", r)
		}
	}
}

// until is the result of an operation that a goroutine ends.
func until[T any](t *testing.T, p *runtime.Poller[T]) T {
	t.Helper()
	for !p.Done() {
		if _, err := p.Poll(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	result, err := p.Result(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestRunCommandRefused(t *testing.T) {
	a := newAzure(t, func(s *azuresim.Server) {
		s.Run = func(context.Context, string, []string) (string, string, error) {
			return "", "", errors.New("no such machine")
		}
	})
	vm := a.lone("server")
	refused := func(path, body, want string) {
		t.Helper()
		if _, got := a.wire("POST", path+"/runCommand"+version, body); field(t, got, "error", "code") != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	refused(vm, `{"commandId":"RunPowerShellScript","script":["dir"]}`, "InvalidParameter")
	refused(vm, `{"commandId":"RunShellScript"}`, "InvalidParameter")
	refused(vm+"2", commandBody, "ResourceNotFound")

	resp, _ := a.wire("POST", vm+"/runCommand"+version, commandBody)
	if status := a.ended(resp); field(t, status, "error", "code") != "VMExtensionProvisioningError" {
		t.Error("a script that does not run:", status)
	}

	a.must(a.Perform(azuresim.Act{Do: "deny", Target: clientID, Actions: []string{"Microsoft.Compute/virtualMachines/runCommand/action"}}))
	refused(vm, commandBody, "AuthorizationFailed")
	a.must(a.Perform(azuresim.Act{Do: "allow", Target: clientID}))

	a.must(a.Deallocate("server"))
	refused(vm, commandBody, "OperationNotAllowed")
}

// A machine without an agent accepts the command, and Azure gives up on it.
func TestRunCommandWithoutAgent(t *testing.T) {
	a := newAzure(t)
	vm := a.lone("server")
	resp, _ := a.wire("POST", vm+"/runCommand"+version, commandBody)
	operation := strings.TrimPrefix(resp.Header.Get("Azure-AsyncOperation"), "https://management.azure.test")
	if _, body := a.wire("GET", operation, ""); field(t, body, "status") != "InProgress" {
		t.Error(body)
	}
	a.advance(5 * time.Minute)
	if _, body := a.wire("GET", operation, ""); field(t, body, "error", "code") != "VMAgentStatusCommunicationError" {
		t.Error(body)
	}
}
