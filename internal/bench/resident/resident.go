// Package resident measures the memory of a process that watches a whole cluster. Two processes stand for the two ends: one serves
// the steady cluster of package workload as an API server does, with all that such objects carry; the other is sluice's own loop in a dry run,
// which reads and watches it over the loopback, turns its cycles and says how much of it is resident.
package resident

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/metrics"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/bench"
	"sluice.dev/sluice/policy"
)

// Watch follows the API server at the address as sluice does, for so long after it has read everything, a cycle each ten seconds and
// one whenever something happens, and reports the memory of this process. The server is one of [Serve].
func Watch(ctx context.Context, server string, settle time.Duration) (bench.Watched, error) {
	var w bench.Watched
	app.CollectOften()
	groups, err := fleet(ctx, server)
	if err != nil {
		return w, err
	}
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server, QPS: 50, Burst: 100})
	if err != nil {
		return w, fmt.Errorf("connect to %s: %w", server, err)
	}
	ctx, stop := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the cluster was not read within %s", patience))
	defer stop()
	seen := &last{}
	a := app.New(app.Parts{Client: client, Cloud: &provider{groups: groups}, Policy: policy.Default(), DryRun: true, Sinks: []app.Sink{seen}})
	if err := a.Start(ctx); err != nil {
		return w, err
	}
	app.ReturnMemory()
	w.ReadCPU = bench.ProcessTime()
	began := time.Now()
	running, end := context.WithTimeout(ctx, settle)
	defer end()
	if err := a.Run(running); running.Err() == nil {
		return w, err
	}
	w.Nodes, w.Pods = seen.nodes, seen.pods
	if w.Nodes == 0 {
		return w, fmt.Errorf("no cycle ended within %s", settle)
	}
	w.Cycles = seen.cycles
	w.Run, w.RunCPU = time.Since(began), bench.ProcessTime()-w.ReadCPU
	w.Settled, w.Peak = bench.ResidentNow(), bench.ResidentPeak()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	w.Heap = live[0].Value.Uint64()
	return w, nil
}

// patience is how long everything may take together.
const patience = 10 * time.Minute

// fleet asks the server for the groups, which a cloud would tell of.
func fleet(ctx context.Context, server string) ([]*cluster.Group, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server+fleetPath, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask for the groups: %w", err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask for the groups: %w", err)
	}
	defer answer.Body.Close()
	var groups []*cluster.Group
	if err := json.NewDecoder(answer.Body).Decode(&groups); err != nil {
		return nil, fmt.Errorf("read the groups: %w", err)
	}
	return groups, nil
}
