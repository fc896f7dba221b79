package world

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/kubesim"
)

// metricsStates are how the metrics API may behave, by what scripts call it.
var metricsStates = map[string]kubesim.MetricsState{
	"gone": kubesim.MetricsGone, "served": kubesim.MetricsServed, "hung": kubesim.MetricsHung, "forbidden": kubesim.MetricsForbidden,
}

// doNodeUse has the metrics API say what a node uses. A quantity may be nonsense, and of a node that does not exist.
func doNodeUse(w *world, s *statement) error {
	age, err := s.duration("age", 0)
	if err != nil {
		return err
	}
	name, cpu := s.names[0], s.names[1]
	if share, ok := strings.CutSuffix(cpu, "%"); ok {
		percent, err := strconv.Atoi(share)
		if err != nil {
			return fmt.Errorf("node-use %s %s: give a share in whole percent, such as 80%%, or a quantity, such as 1500m", name, cpu)
		}
		if name, err = w.machines.node(s, name); err != nil {
			return err
		}
		n, _ := kubesim.Find[*corev1.Node](w.cluster, "", name)
		cpu = fmt.Sprintf("%dm", n.Status.Allocatable.Cpu().MilliValue()*int64(percent)/100)
	} else if m := w.machines.named(name); m != nil {
		name = m.ComputerName
	}
	w.cluster.Measure(name, cpu, age)
	return nil
}

// doMetricsAPI has the metrics API behave in some way. What hung is answered before the script goes on.
func doMetricsAPI(ctx context.Context, w *world, s *statement) error {
	state, known := metricsStates[s.names[0]]
	if !known {
		return fmt.Errorf("metrics-api: %q is nothing that it may be: give %s", s.names[0], strings.Join(sortedKeys(metricsStates), ", "))
	}
	w.cluster.ServeMetrics(state)
	return measure(ctx, w.clock, w.cluster, w.procs.main.sluice)
}

// measure waits until a process has been answered what it asked of the metrics API, unless that hangs: then time goes on.
func measure(ctx context.Context, on *simClock, c *kubesim.Cluster, sluice *app.Autoscaler) error {
	for begun := time.Now(); sluice != nil && sluice.Measuring() && !c.MetricsHang(); time.Sleep(20 * time.Microsecond) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if time.Since(begun) > patience {
			return fmt.Errorf("at %s the metrics API has not answered within %s", clock(on.elapsed()), patience)
		}
	}
	return nil
}
