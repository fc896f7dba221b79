package azure_test

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"testing"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azuresim"
)

// timeless is an Azure whose instance views do not say since when.
type timeless struct{ http.RoundTripper }

var statusTime = regexp.MustCompile(`,?"time":"[^"]*"`)

func (t timeless) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return resp, err
	}
	raw, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	raw = statusTime.ReplaceAll(raw, nil)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	resp.Header.Del("Content-Length")
	return resp, err
}

// TestAFailureWithoutATimeHappenedOnce keeps a machine that failed and stays from being a new failure, and a longer back-off, at every read.
func TestAFailureWithoutATimeHappenedOnce(t *testing.T) {
	w := newWorld(t, set("agents", 1))
	w.sim.Inject(azuresim.Fault{MachineError: "OSProvisioningTimedOut", After: time.Second, Times: 1})
	o := w.options("0:9:agents")
	o.Transport = timeless{o.Transport}
	w.open(o)
	w.grow("agents", 1)
	w.pass(2 * time.Minute)
	w.restart(o) // so that no operation is to blame
	failed := func() time.Time {
		for _, in := range w.groups()["agents"].Instances {
			if in.State == cluster.StateFailed && in.Failure != nil {
				return in.Failure.At
			}
		}
		t.Fatal("no machine failed: the test shows nothing")
		return time.Time{}
	}
	first := failed()
	w.pass(5 * time.Minute)
	if again := failed(); !again.Equal(first) {
		t.Errorf("the failure of %s is one of %s five minutes later", first.Format(time.TimeOnly), again.Format(time.TimeOnly))
	}
}
