package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	quantities "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"sluice.dev/sluice/cluster"
)

// Bounds of what a [Meter] takes from a metrics API, whose word is not trusted.
const (
	measureTimeout = 10 * time.Second
	mostMeasured   = 16 << 20 // bytes of an answer
	mostMilliCPU   = 1e9      // of one node: a million cores
	longestNumber  = 32       // characters of a quantity
)

// measureRight is what reading measured use takes.
var measureRight = Right{Verb: "list", Resource: "nodes", Group: "metrics.k8s.io"}

// Meter reads the measured CPU of nodes from the metrics API, where the API server serves one. It reads beside its caller, who never waits for it:
// until an answer comes, and where none comes, nothing is known. Its methods may be called from several goroutines.
type Meter struct {
	client     rest.Interface
	now        func() time.Time
	log        *slog.Logger
	background Background

	mu      sync.Mutex
	reading bool
	known   []*cluster.NodeUse // by name
	trouble string             // as last told, "" for none
}

// NewMeter returns a meter that has read nothing. Of the options it heeds Now, Log and Background.
func NewMeter(client kubernetes.Interface, o Options) *Meter {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Meter{client: client.Discovery().RESTClient(), now: o.Now, log: o.Log, background: o.background()}
}

// Known is what was read last, by name. What it returns never changes.
func (m *Meter) Known() []*cluster.NodeUse {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known
}

// Reading says whether an answer is awaited.
func (m *Meter) Reading() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reading
}

// Measure begins to read the use of these nodes by one request, unless an answer is awaited already. It returns at once. A read that fails leaves
// what is known; it is told once for as long as reads fail in that way.
func (m *Meter) Measure(ctx context.Context, nodes []string) {
	if len(nodes) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reading {
		return
	}
	m.reading = true
	go func() {
		known, err := m.read(ctx, nodes)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.reading = false
		if err == nil {
			m.known = known
		}
		m.tell(err)
	}()
}

func (m *Meter) read(ctx context.Context, nodes []string) ([]*cluster.NodeUse, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer m.background.After(measureTimeout, cancel).Stop()
	body, err := m.client.Get().AbsPath("/apis/metrics.k8s.io/v1beta1/nodes").SetHeader("Accept", "application/json").MaxRetries(0).Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	limited := &io.LimitedReader{R: body, N: mostMeasured}
	if err := json.NewDecoder(limited).Decode(&list); err != nil {
		if limited.N == 0 {
			err = fmt.Errorf("the answer is longer than %d bytes", mostMeasured)
		}
		return nil, err
	}
	return usesOf(list.Items, nodes, m.now()), nil
}

// usesOf are the uses of the nodes as far as items say something sensible of them.
func usesOf(items []json.RawMessage, nodes []string, now time.Time) []*cluster.NodeUse {
	asked := make(map[string]bool, len(nodes))
	for _, name := range nodes {
		asked[name] = true
	}
	var all []*cluster.NodeUse
	for _, item := range items {
		var of struct {
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
			Timestamp time.Time `json:"timestamp"`
			Usage     struct {
				CPU string `json:"cpu"`
			} `json:"usage"`
		}
		if json.Unmarshal(item, &of) != nil || !asked[of.Metadata.Name] || of.Timestamp.IsZero() {
			continue
		}
		milli, ok := milliCPU(of.Usage.CPU)
		if !ok {
			continue
		}
		at := of.Timestamp.UTC()
		if at.After(now) { // by a clock that is ahead
			at = now.UTC()
		}
		asked[of.Metadata.Name] = false // told twice, a node is what it was told to be first
		all = append(all, &cluster.NodeUse{Name: of.Metadata.Name, MilliCPU: milli, At: at.Round(0)})
	}
	slices.SortFunc(all, func(a, b *cluster.NodeUse) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// milliCPU reads a quantity; false for what no node can use.
func milliCPU(quantity string) (int64, bool) {
	if len(quantity) > longestNumber || strings.ContainsAny(quantity, "eE") {
		return 0, false
	}
	q, err := quantities.ParseQuantity(quantity)
	if err != nil || q.Sign() < 0 || q.CmpInt64(mostMilliCPU/1000) > 0 {
		return 0, false
	}
	return q.MilliValue(), true
}

// tell says once what is in the way of reading, and that it is over.
func (m *Meter) tell(err error) {
	trouble := ""
	switch {
	case err == nil:
	case apierrors.IsForbidden(err):
		trouble = (&AccessError{Missing: []Right{measureRight}}).Error()
	case apierrors.IsNotFound(err):
		trouble = "the API server does not serve metrics.k8s.io"
	default:
		trouble = "the metrics API does not answer as it should"
	}
	was := m.trouble
	m.trouble = trouble
	switch {
	case trouble == was:
	case trouble == "":
		m.log.Info("the use of nodes is measured again")
	case apierrors.IsNotFound(err):
		m.log.Info("the use of nodes is not known: their requests alone decide", "cause", trouble)
	default:
		m.log.Warn("the use of nodes is not known: their requests alone decide", "cause", trouble, "err", err)
	}
}
