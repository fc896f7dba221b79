package azuresim

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// consolePath begins the paths of serial console logs, as blobs of a storage account that Azure manages. In Azure they are at a host of their own.
const consolePath = "/bootdiagnostics-"

// usualConsole is the serial console log of a machine of which no fault says another.
const usualConsole = "[    0.000000] Linux version 6.8.0-1030-azure\nCloud-init v. 24.4 finished. Datasource DataSourceAzure.\n"

// consoleValid is how long an address of a log serves unless the caller says how many minutes.
const consoleValid = 120 * time.Minute

// retrieveConsole answers the action retrieveBootDiagnosticsData: addresses that anybody may read who has them. A model that switches boot
// diagnostics off has none; the code of that refusal is assumed.
func (q *request) retrieveConsole(i *instance) answer {
	profile := i.model["properties"]
	if i.uniform() {
		profile = dig(i.set.model, "properties", "virtualMachineProfile")
	}
	if on, said := dig(profile, "diagnosticsProfile", "bootDiagnostics", "enabled").(bool); said && !on {
		return fail(http.StatusConflict, "OperationNotAllowed", "Boot diagnostics is not enabled for the virtual machine '%s'.", i.name()).answer()
	}
	valid := consoleValid
	if text := q.query.Get("sasUriExpirationTimeInMinutes"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 1440 {
			return bad("InvalidParameter", "The value '%s' of parameter 'sasUriExpirationTimeInMinutes' is not between 1 and 1440.", text).answer()
		}
		valid = time.Duration(n) * time.Minute
	}
	until := q.now.Add(valid).Format(time.RFC3339)
	address := func(file string) string {
		return fmt.Sprintf("%s%s%s/%s.%s?se=%s&sp=r&sig=%s", q.base, consolePath, i.vmID, i.name(), file, until, consoleKey(q.server.Seed, i.vmID, until))
	}
	return answer{status: http.StatusOK, body: map[string]string{
		"consoleScreenshotBlobUri": address("screenshot.bmp"), "serialConsoleLogBlobUri": address("serialconsole.log"),
	}}
}

// consoleKey is the signature of an address.
func consoleKey(seed uint64, vmID, until string) string {
	return strings.ReplaceAll(guid(seed, "console", vmID+until), "-", "")
}

// storage answers for the storage account of boot diagnostics: it knows the signature of an address and nobody's token. It reports false for
// other paths.
func (q *request) storage() (answer, bool) {
	path := q.http.URL.Path
	vmID, file, found := strings.Cut(strings.TrimPrefix(path, consolePath), "/")
	if !strings.HasPrefix(path, consolePath) || !found {
		return answer{}, false
	}
	q.route.kind = q.http.Method + " blob"
	var machine *instance
	for i := range q.store.everyInstance() {
		if i.vmID == vmID && !i.gone(q.now) {
			machine = i
		}
	}
	if machine != nil {
		q.route.set = machine.groupName()
	}
	q.strike()
	if a, ok := q.faulted(); ok {
		return a, true
	}
	until := q.query.Get("se")
	ends, err := time.Parse(time.RFC3339, until)
	switch {
	case q.http.Header.Get("Authorization") != "":
		return blobError(http.StatusBadRequest, "InvalidAuthenticationInfo", "Authentication information is not given in the correct format. Check the value of Authorization header."), true
	case err != nil || q.now.After(ends) || q.query.Get("sig") != consoleKey(q.server.Seed, vmID, until):
		return blobError(http.StatusForbidden, "AuthenticationFailed", "Server failed to authenticate the request."), true
	case machine == nil || !strings.HasSuffix(file, "serialconsole.log"):
		return blobError(http.StatusNotFound, "BlobNotFound", "The specified blob does not exist."), true
	}
	return blob(q.http.Header, []byte(consoleOf(q.server.Console, machine))), true
}

// blob is a blob, or the part of it that the request asks for. Azure knows no range that counts from the end.
func blob(h http.Header, body []byte) answer {
	whole := answer{status: http.StatusOK, body: body}.with("Content-Type", "text/plain")
	wanted, ranged := strings.CutPrefix(h.Get("Range"), "bytes=")
	if !ranged {
		return whole
	}
	from, to, _ := strings.Cut(wanted, "-")
	first, err := strconv.Atoi(from)
	last := len(body) - 1
	if n, is := strconv.Atoi(to); is == nil {
		last = min(last, n)
	}
	switch {
	case err != nil: // from the end, or not a range: it is passed over
		return whole
	case first > last:
		return blobError(http.StatusRequestedRangeNotSatisfiable, "InvalidRange", "The range specified is invalid for the current size of the resource.").
			with("Content-Range", fmt.Sprintf("bytes */%d", len(body)))
	}
	return answer{status: http.StatusPartialContent, body: body[first : last+1]}.with("Content-Type", "text/plain").
		with("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, len(body)))
}

// blobError is an error of the storage service, which speaks XML.
func blobError(status int, code, message string) answer {
	return answer{status: status, body: []byte("\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>" + code + "</Code><Message>" + message + "</Message></Error>")}.
		with("Content-Type", "application/xml").with("X-Ms-Error-Code", code)
}

// consoleOf is the machine's serial console log: what a fault says, what it really wrote, or the usual.
func consoleOf(known func(string) (string, bool), i *instance) string {
	if i.flaws.console != "" {
		return i.flaws.console
	}
	if known != nil {
		if text, known := known(i.vmID); known {
			return text
		}
	}
	return usualConsole
}

// agentView is what the agent in a machine reports.
type agentView struct {
	Version  string   `json:"vmAgentVersion"`
	Statuses []status `json:"statuses"`
}

// extensionView is what became of an extension.
type extensionView struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"`
	Statuses []status `json:"statuses"`
}

// extensions are what became of the machine's extensions, where a fault says so.
func (i *instance) extensions() []extensionView {
	if i.flaws.extension == "" {
		return nil
	}
	return []extensionView{{"join", "Microsoft.Azure.Extensions.CustomScript", []status{{
		Code: "ProvisioningState/failed/1", Level: "Error", DisplayStatus: "Provisioning failed", Message: i.flaws.extension,
	}}}}
}
