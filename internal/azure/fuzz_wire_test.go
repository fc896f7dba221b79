package azure_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azuresim"
)

// bent answers as Azure does but for one answer, of which a piece is replaced, and its status and headers, too.
type bent struct {
	azure   http.RoundTripper
	left    atomic.Int64 // answers until then
	at, cut int
	put     []byte
	status  int
	header  string
}

// RoundTrip implements [http.RoundTripper].
func (b *bent) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.azure.RoundTrip(r)
	if err != nil || r.URL.Hostname() == azuresim.MetadataHost {
		return resp, err
	}
	if b.left.Add(-1) != -1 {
		return resp, nil
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	at := b.at % (len(body) + 1)
	end := min(len(body), at+b.cut)
	body = bytes.Join([][]byte{body[:at], b.put, body[end:]}, nil)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if b.status >= 100 && b.status < 600 {
		resp.StatusCode, resp.Status = b.status, http.StatusText(b.status)
	}
	if b.header != "" {
		for _, name := range []string{"Retry-After", "X-Ms-Ratelimit-Remaining-Resource", "X-Ms-Ratelimit-Remaining-Subscription-Reads", "Etag", "Location", "Azure-Asyncoperation"} {
			resp.Header.Set(name, b.header)
		}
	}
	return resp, nil
}

// inTurn is a Runner that asks one question after the other, so that an input bends the same answer each time.
type inTurn struct{}

func (inTurn) Settle(running *sync.WaitGroup) { running.Wait() }

func (inTurn) Go(ctx context.Context, f func(context.Context)) { f(ctx) }

func (inTurn) Await(context.Context, <-chan struct{}, time.Duration) {}

// FuzzArm bends one of Azure's answers in any way, in a small story of reads, a growth and a removal: nothing breaks, and nothing that is
// reported of a group cannot be.
func FuzzArm(f *testing.F) {
	for which := range 14 {
		f.Add(uint8(which), uint16(0), uint16(0), []byte(nil), uint16(0), "", false)
		f.Add(uint8(which), uint16(0), uint16(65535), []byte(`{"value":[null],"nextLink":"https://management.azure.com/x"}`), uint16(0), "", true)
		f.Add(uint8(which), uint16(0), uint16(65535), []byte(`null`), uint16(200), "", false)
		f.Add(uint8(which), uint16(40), uint16(3), []byte(`"`), uint16(0), "", true)
		f.Add(uint8(which), uint16(0), uint16(65535), []byte(nil), uint16(429), "99999999999", false)
		f.Add(uint8(which), uint16(0), uint16(0), []byte(nil), uint16(202), "https://elsewhere.example/x", true)
	}
	f.Fuzz(func(t *testing.T, which uint8, at, cut uint16, put []byte, status uint16, header string, flexible bool) {
		s := set("agents", 2)
		s.Tags = map[string]string{"k8s.io_cluster-autoscaler_node-template_label_a": "b"}
		if flexible {
			s.OrchestrationMode = "Flexible"
		}
		w := newWorld(t, s)
		o := w.options("0:9:agents")
		bent := &bent{azure: o.Transport, at: int(at), cut: int(cut), put: put, status: int(status), header: header}
		bent.left.Store(int64(which))
		o.Transport, o.Runner = bent, inTurn{}
		p, err := azure.New(context.Background(), o)
		if err != nil {
			return
		}
		ctx := context.Background()
		for step := range 6 {
			groups, _ := p.Groups(ctx) // an error is an answer, too
			for _, g := range groups {
				for _, in := range g.Instances {
					if in == nil || in.ID == "" || in.Group != g.ID {
						t.Errorf("a machine that is none: %+v", in)
					}
				}
				switch step {
				case 1:
					_ = p.SetCapacity(ctx, g, g.Capacity+2)
				case 3:
					if len(g.Instances) > 0 {
						_ = p.DeleteInstances(ctx, g, nil)
						_ = p.DeleteInstances(ctx, g, []cluster.Machine{g.Instances[0].Machine()})
					}
				}
			}
			w.now = w.now.Add(2 * time.Minute)
			_ = p.NextPoll()
		}
	})
}
