package azure

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/diagnosis"
)

// diagnostics knows what machines that are late say of themselves: what Azure tells of their extensions, and the end of their serial console
// log. Nobody waits for it, and it does without what it may not ask.
type diagnostics struct {
	*client
	task     *backgroundTask
	resource func(cluster.Machine) string // of a machine its resource id, "" when no list has it

	mu   sync.Mutex
	late []cluster.Machine // as the last cycle had them
	of   map[string]*told  // by UID
}

// told is what a machine has said.
type told struct {
	said  *cluster.Diagnosis // nil before the first answer
	again time.Time          // it is not asked before
	wait  time.Duration      // to the time after that
}

// A machine is asked once it is late, again after diagnosisAgain, and then after twice as long each time. Of a group, whose machines are
// alike, no more than diagnosesEach are asked: those that are late first.
const (
	diagnosisAgain = 5 * time.Minute
	diagnosesEach  = 3
)

// The end of a log that is read, and what is read to find the end where the storage service does not give parts.
const (
	consoleTail = 64 << 10
	consoleMost = 4 << 20
)

// consoleMinutes is how long the address of a log serves: whoever finds it later finds nothing.
const consoleMinutes = 5

// diagnosisVersion is the api-version that machines are asked with, where their cloud has all of them.
const diagnosisVersion = "2024-11-01"

var _ cloud.Diagnostician = (*Provider)(nil)

// Diagnose is [cloud.Diagnostician].
func (p *Provider) Diagnose(late []cluster.Machine) {
	p.diagnostics.expect(late)
}

// expect takes in which machines are late.
func (d *diagnostics) expect(late []cluster.Machine) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.late = d.late[:0]
	each, there := map[cluster.GroupID]int{}, map[string]*told{}
	for _, m := range late {
		if each[m.Group]++; each[m.Group] > diagnosesEach {
			continue
		}
		d.late = append(d.late, m)
		if there[m.UID] = d.of[m.UID]; there[m.UID] == nil {
			there[m.UID] = &told{wait: diagnosisAgain}
		}
	}
	d.of = there
}

// due is the next machine to be asked, false when none is.
func (d *diagnostics) due() (m cluster.Machine, is bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	for _, m := range d.late {
		if t := d.of[m.UID]; !now.Before(t.again) {
			t.again, t.wait = now.Add(t.wait), 2*t.wait
			return m, true
		}
	}
	return m, false
}

// diagnose asks the machines whose turn it is, beside the caller.
func (d *diagnostics) diagnose() {
	d.mu.Lock()
	none := len(d.late) == 0
	d.mu.Unlock()
	if none {
		return
	}
	d.task.run(d.now, func(ctx context.Context) time.Duration {
		for {
			m, is := d.due()
			if !is || ctx.Err() != nil {
				return 0
			}
			resource := d.resource(m)
			if resource == "" {
				continue
			}
			said := d.examine(ctx, m.Group, resource, !d.options.ReadOnly)
			d.mu.Lock()
			switch t := d.of[m.UID]; {
			case t == nil: // it is late no more
			case said == nil:
				t.wait = diagnosisAgain
			default:
				t.said = said
			}
			d.mu.Unlock()
		}
	})
}

// resourceOf is the resource id of a machine, "" when no list has it.
func (s *state) resourceOf(m cluster.Machine) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.groups[key(string(m.Group))]
	if g == nil || g.reading == nil {
		return ""
	}
	for _, listed := range g.reading.machines {
		if listed.uid == m.UID {
			return listed.resource
		}
	}
	return ""
}

// tell gives the machines of a group what they have said. Those who have the machines already keep theirs.
func (d *diagnostics) tell(g *cluster.Group) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, in := range g.Instances {
		if t := d.of[in.UID]; t != nil && t.said != nil {
			own := *in
			own.Diagnosis = t.said
			g.Instances[i] = &own
		}
	}
}

// Ask asks Azure now what a machine says of itself, for a person who waits. It reads the boot log even where this process only looks: Azure counts
// that as an action, which changes nothing. It is nil for a machine that no list has, and where Azure does not answer now.
func (p *Provider) Ask(ctx context.Context, m cluster.Machine) *cluster.Diagnosis {
	resource := p.diagnostics.resource(m)
	if resource == "" {
		return nil
	}
	return p.diagnostics.examine(ctx, m.Group, resource, true)
}

// examine asks Azure about one machine, for its boot log where that may be. It is nil where there was no answer that would be the same the next time.
func (d *diagnostics) examine(ctx context.Context, group cluster.GroupID, resource string, bootLog bool) *cluster.Diagnosis {
	var view instanceView
	_ = d.askMachine(ctx, http.MethodGet, resource, "$expand=instanceView", &view) // the boot log may tell where this does not
	statuses := view.bad()
	log, err := d.console(ctx, resource, bootLog)
	if err != nil && len(statuses) == 0 && !worded(err) && passing(d.wrap(group, "", err)) {
		return nil
	}
	r := diagnosis.Read(statuses, log)
	said := &cluster.Diagnosis{At: d.now().UTC(), Cause: r.Cause.Name, Remedy: r.Cause.Remedy, Statuses: r.Statuses, Lines: r.Lines}
	switch {
	case err != nil:
		said.Problem = d.withoutConsole(group, err)
	case len(said.Lines) == 0:
		said.Problem = "its boot log is empty"
	}
	return said
}

// worded says whether an error is a sentence of this file already.
func worded(err error) bool {
	var blob *blobError
	return errors.Is(err, errReadOnly) || errors.As(err, &blob)
}

// passing says whether an error may be none the next time.
func passing(e *cloud.Error) bool { return e.Kind == cloud.Transient || e.Kind == cloud.Throttled }

// errReadOnly keeps the action from Azure, which is no read to its roles.
var errReadOnly = errors.New("this process only looks, and asks for no boot log: Azure counts that as an action")

// withoutConsole says why there is no boot log, and what to do. Nothing of it is an address.
func (d *diagnostics) withoutConsole(group cluster.GroupID, err error) string {
	if worded(err) {
		return err.Error()
	}
	e := d.wrap(group, "read its boot log", err)
	switch {
	case refusedWith(err, http.StatusForbidden): // in full, as it names the right and where it counts
		return e.Message + "; sluice does without"
	case passing(e):
		return diagnosis.Clean(e.Message)
	}
	return diagnosis.Clean(e.Message) + ": " + switchOn
}

// switchOn is the remedy where Azure has no boot log.
const switchOn = "switch boot diagnostics on in the group's model, with storage that Azure manages"

// askMachine sends a request about one machine, and reads the answer into out.
func (d *diagnostics) askMachine(ctx context.Context, method, resource, query string, out any) error {
	version := cmp.Or(d.options.computeVersion(), diagnosisVersion)
	req, err := runtime.NewRequest(asAside(ctx), method, d.options.ResourceManagerEndpoint+resource+"?api-version="+version+"&"+query)
	if err != nil {
		return err
	}
	req.Raw().Header.Set("Accept", "application/json")
	resp, err := d.pipeline.Do(req) //nolint:bodyclose // the pipeline has read and closed it
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return runtime.NewResponseError(resp)
	}
	return runtime.UnmarshalAsJSON(resp, out)
}

// console is the end of a machine's serial console log.
func (d *diagnostics) console(ctx context.Context, resource string, may bool) ([]byte, error) {
	if !may {
		return nil, errReadOnly
	}
	address, err := d.logAt(ctx, resource)
	switch {
	case err != nil:
		return nil, err
	case address == "":
		return nil, &blobError{"Azure has no boot log of it: " + switchOn}
	}
	return d.options.blobTail(ctx, address)
}

// logAt is where a machine's serial console log is to be read for some minutes, by anybody who has the address; "" where there is none.
func (d *diagnostics) logAt(ctx context.Context, resource string) (string, error) {
	var at struct {
		Log string `json:"serialConsoleLogBlobUri"`
	}
	query := fmt.Sprintf("sasUriExpirationTimeInMinutes=%d", consoleMinutes)
	err := d.askMachine(ctx, http.MethodPost, resource+"/retrieveBootDiagnosticsData", query, &at)
	return at.Log, err
}

// blobError is why a blob is not read, one sentence. It never has the blob's address: whoever has that may read the log.
type blobError struct{ why string }

func (e *blobError) Error() string { return e.why }

// blobTail is the end of a blob, whose address is the right to read it: no token of sluice's goes to its host. The storage service knows no range
// that counts from the end, so that the first part tells the length.
func (o Options) blobTail(ctx context.Context, address string) ([]byte, error) {
	at, err := url.Parse(address)
	if err != nil || at.Host == "" || at.Scheme != "https" && (at.Scheme != "http" || !strings.HasPrefix(o.ResourceManagerEndpoint, "http://")) {
		return nil, &blobError{"Azure's answer names a boot log at no https address"}
	}
	part, length, err := o.blobPart(ctx, at, 0)
	if err != nil || length <= consoleTail {
		return part, err
	}
	part, _, err = o.blobPart(ctx, at, length-consoleTail)
	return part, err
}

// blobPart reads consoleTail bytes of a blob from an offset on, and says how long the blob is. Where all of it comes, it returns the end.
func (o Options) blobPart(ctx context.Context, at *url.URL, from int64) (part []byte, length int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, 0, &blobError{"Azure's answer names a boot log at no https address"}
	}
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, from+consoleTail-1))
	resp, err := o.client().Do(req)
	if err != nil {
		return nil, 0, unfetched(err, at.Host)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusPartialContent, http.StatusOK:
	case http.StatusRequestedRangeNotSatisfiable: // it is empty
		return nil, 0, nil
	default:
		return nil, 0, &blobError{fmt.Sprintf("its boot log cannot be fetched: %s answers %s", at.Host, resp.Status)}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, consoleMost))
	if err != nil {
		return nil, 0, unfetched(err, at.Host)
	}
	length = int64(len(body))
	if resp.StatusCode == http.StatusPartialContent {
		if _, whole, ok := strings.Cut(resp.Header.Get("Content-Range"), "/"); ok {
			if n, err := strconv.ParseInt(whole, 10, 64); err == nil {
				length = n
			}
		}
		return body, length, nil
	}
	body = body[max(0, len(body)-consoleTail):]
	return bytes.Clone(body), int64(len(body)), nil
}

// unfetched says why a blob did not come. An error of package net/http names the address, and is taken off.
func unfetched(err error, host string) error {
	var named *url.Error
	if errors.As(err, &named) {
		err = named.Err
	}
	_, why := unanswered(err, host)
	return &blobError{"its boot log cannot be fetched: " + why}
}

// instanceView is what Azure tells of what runs on a machine.
type instanceView struct {
	Properties struct {
		View struct {
			Agent struct {
				Statuses []viewStatus `json:"statuses"`
			} `json:"vmAgent"`
			Extensions []struct {
				Name     string       `json:"name"`
				Statuses []viewStatus `json:"statuses"`
			} `json:"extensions"`
			Statuses []viewStatus `json:"statuses"`
		} `json:"instanceView"`
	} `json:"properties"`
}

type viewStatus struct {
	Code          string `json:"code"`
	Level         string `json:"level"`
	DisplayStatus string `json:"displayStatus"`
	Message       string `json:"message"`
}

// mostStatuses bounds what is kept of them.
const mostStatuses = 5

// bad are the statuses that are not good, each on one line: of the machine, of its extensions and of its agent.
func (v *instanceView) bad() (all []string) {
	add := func(of string, statuses []viewStatus) {
		for _, s := range statuses {
			if len(all) == mostStatuses || s.Level != "Error" && !strings.Contains(strings.ToLower(s.Code+s.DisplayStatus), "fail") &&
				!strings.EqualFold(s.DisplayStatus, "not ready") {
				continue
			}
			all = append(all, of+" "+cmp.Or(s.DisplayStatus, s.Code)+": "+s.Message)
		}
	}
	add("machine:", v.Properties.View.Statuses)
	for _, e := range v.Properties.View.Extensions {
		add("extension "+e.Name+":", e.Statuses)
	}
	add("agent:", v.Properties.View.Agent.Statuses)
	return all
}
