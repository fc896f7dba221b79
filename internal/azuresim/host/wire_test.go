package host

import (
	"encoding/base64"
	"encoding/xml"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// theOne is a machine whose texts have what XML must not.
var theOne = Machine{VMID: "3f0d1a52-8a7b-4c58-9d0a-0123456789ab", Name: "one", User: "a<b&c", Data: []byte("#cloud-config\n<&>\n")}

func TestTheProvisioningDocumentSaysWhoTheMachineIs(t *testing.T) {
	type document struct {
		User, Host, Data string
	}
	read := func(m Machine) document {
		var d struct {
			Set struct {
				User string `xml:"http://schemas.microsoft.com/windowsazure UserName"`
				Host string `xml:"http://schemas.microsoft.com/windowsazure HostName"`
				Data string `xml:"http://schemas.microsoft.com/windowsazure CustomData"`
			} `xml:"http://schemas.microsoft.com/windowsazure ProvisioningSection>LinuxProvisioningConfigurationSet"`
		}
		if err := xml.Unmarshal(provisioningDocument(m), &d); err != nil {
			t.Fatal(err)
		}
		data, err := base64.StdEncoding.DecodeString(d.Set.Data)
		if err != nil {
			t.Fatal(err)
		}
		return document{d.Set.User, d.Set.Host, string(data)}
	}
	if got, want := read(theOne), (document{"a<b&c", "one", "#cloud-config\n<&>\n"}); got != want {
		t.Errorf("document: %+v, want %+v", got, want)
	}
	if got, want := read(Machine{Name: "two"}), (document{"azureuser", "two", ""}); got != want {
		t.Errorf("without data: %+v, want %+v", got, want)
	}
}

func TestTheWireServerHearsWhetherAMachineIsReady(t *testing.T) {
	var heard []health
	ask := func(method, path, body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		serveWire(w, httptest.NewRequest(method, path, strings.NewReader(body)), theOne, func(h health) { heard = append(heard, h) }, nil)
		return w
	}
	var state struct {
		Incarnation string
		Container   string `xml:"Container>ContainerId"`
		Instance    string `xml:"Container>RoleInstanceList>RoleInstance>InstanceId"`
	}
	if w := ask("GET", "/machine/?comp=goalstate", ""); w.Code != http.StatusOK {
		t.Fatalf("goal state: %d", w.Code)
	} else if err := xml.Unmarshal(w.Body.Bytes(), &state); err != nil || state.Incarnation == "" || state.Container != theOne.VMID || state.Instance != "_one" {
		t.Errorf("goal state %+v, %v", state, err)
	}
	report := `<?xml version="1.0" encoding="utf-8"?><Health><GoalStateIncarnation>1</GoalStateIncarnation><Container><ContainerId>c</ContainerId><RoleInstanceList>
		<Role><InstanceId>_one</InstanceId><Health><State>STATE</State><Details><SubStatus>ProvisioningFailed</SubStatus><Description>why</Description></Details></Health></Role>
		</RoleInstanceList></Container></Health>`
	for path, want := range map[string]int{"/machine?comp=health": 200, "/machine": 404} {
		if w := ask("POST", path, strings.Replace(report, "STATE", "NotReady", 1)); w.Code != want {
			t.Errorf("POST %s: %d, want %d", path, w.Code, want)
		}
	}
	for _, bad := range []string{"", "<Health/>", "no XML", strings.Repeat(" ", mostReport+1)} {
		if w := ask("POST", "/machine?comp=health", bad); w.Code != http.StatusBadRequest {
			t.Errorf("a report of %d bytes without health: %d", len(bad), w.Code)
		}
	}
	if len(heard) != 1 || heard[0] != (health{"NotReady", "ProvisioningFailed", "why"}) {
		t.Errorf("heard %+v", heard)
	}
}

func TestTheConsoleKeepsItsEnd(t *testing.T) {
	var c console
	c.read(strings.NewReader("first\r\n" + strings.Repeat("a line of twenty chars\r\n", mostConsole/20) + "last\r\n"))
	text := c.text()
	if len(text) > mostConsole || strings.Contains(text, "first") || !strings.HasSuffix(text, "chars\nlast\n") || !strings.HasPrefix(text, "a line") {
		t.Errorf("kept %d bytes from %.30q to %q", len(text), text, text[len(text)-30:])
	}
}
