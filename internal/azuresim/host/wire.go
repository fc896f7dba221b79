package host

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// goalState is what the wire server answers a machine that asks what it is to be.
const goalState = `<?xml version="1.0" encoding="utf-8"?>
<GoalState>
  <Version>2012-11-30</Version>
  <Incarnation>1</Incarnation>
  <Machine><ExpectedState>Started</ExpectedState></Machine>
  <Container>
    <ContainerId>%[1]s</ContainerId>
    <RoleInstanceList><RoleInstance><InstanceId>_%[2]s</InstanceId><State>Started</State></RoleInstance></RoleInstanceList>
  </Container>
</GoalState>
`

// provisioning is the document on the disk that Azure boots a machine with the first time.
const provisioning = `<?xml version="1.0" encoding="utf-8"?>
<ns0:Environment xmlns:ns0="http://schemas.dmtf.org/ovf/environment/1" xmlns:ns1="http://schemas.microsoft.com/windowsazure">
  <ns1:ProvisioningSection>
    <ns1:Version>1.0</ns1:Version>
    <ns1:LinuxProvisioningConfigurationSet>
      <ns1:ConfigurationSetType>LinuxProvisioningConfiguration</ns1:ConfigurationSetType>
      <ns1:UserName>%s</ns1:UserName>
      <ns1:DisableSshPasswordAuthentication>true</ns1:DisableSshPasswordAuthentication>
      <ns1:HostName>%s</ns1:HostName>%s
    </ns1:LinuxProvisioningConfigurationSet>
  </ns1:ProvisioningSection>
  <ns1:PlatformSettingsSection>
    <ns1:Version>1.0</ns1:Version>
    <ns1:PlatformSettings>
      <ns1:ProvisionGuestAgent>false</ns1:ProvisionGuestAgent>
      <ns1:PreprovisionedVm>false</ns1:PreprovisionedVm>
    </ns1:PlatformSettings>
  </ns1:PlatformSettingsSection>
</ns0:Environment>
`

// provisioningDocument is the machine's ovf-env.xml.
func provisioningDocument(m Machine) []byte {
	data := ""
	if len(m.Data) > 0 {
		data = "\n      <ns1:CustomData>" + base64.StdEncoding.EncodeToString(m.Data) + "</ns1:CustomData>"
	}
	return fmt.Appendf(nil, provisioning, escaped(m.user()), escaped(m.Name), data)
}

func escaped(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a buffer takes everything
	return b.String()
}

// health is a machine's report of itself to the wire server.
type health struct {
	State       string `xml:"Container>RoleInstanceList>Role>Health>State"`
	SubStatus   string `xml:"Container>RoleInstanceList>Role>Health>Details>SubStatus"`
	Description string `xml:"Container>RoleInstanceList>Role>Health>Details>Description"`
}

// mostReport limits what a machine may send.
const mostReport = 1 << 20

// serveWire answers a machine at the wire server, and tells what it reports of its health.
func serveWire(w http.ResponseWriter, r *http.Request, m Machine, report func(health), commands *commands) {
	switch comp := r.URL.Query().Get("comp"); {
	case r.Method == http.MethodGet && comp == "versions":
		w.Header().Set("Content-Type", "text/xml; charset=utf-8")
		_, _ = io.WriteString(w, "<Versions><Preferred><Version>2015-04-05</Version></Preferred><Supported><Version>2012-11-30</Version></Supported></Versions>")
	case r.Method == http.MethodGet && comp == "goalstate":
		w.Header().Set("Content-Type", "text/xml; charset=utf-8")
		_, _ = fmt.Fprintf(w, goalState, m.VMID, escaped(m.Name))
	case r.Method == http.MethodPost && comp == "health":
		var h health
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostReport))
		if err == nil {
			err = xml.Unmarshal(body, &h)
		}
		if err != nil || strings.TrimSpace(h.State) == "" {
			http.Error(w, "no health in this report", http.StatusBadRequest)
			return
		}
		report(h)
	case comp == "command" && commands != nil:
		commands.ServeHTTP(w, r)
	default:
		http.NotFound(w, r)
	}
}
