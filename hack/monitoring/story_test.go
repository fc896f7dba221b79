//go:build story

package monitoring

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"io"
	"math"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/teststorage"
)

var playground = flag.String("playground", "", "the playground, built: its story is played and scraped, for minutes")

// every is how often the story is scraped, and its rules are evaluated: much happens in it.
const every = 5 * time.Second

// empty are the panels that may have nothing to show in a story in which nothing goes wrong, with what they wait for. All others show
// something.
var empty = map[string]string{
	alerts:                           "an alert fires",
	"Answers that are no success":    "Azure refuses a request",
	"Requests not sent":              "a class of requests comes to the end of its share",
	"Azure asks to wait":             "Azure throttles",
	"Backoff":                        "a group may not grow",
	"Failures by code":               "a scale-up fails",
	"Failures by kind":               "a scale-up fails",
	"Writes that were stopped":       "the guard refuses a write",
	"Azure changes groups by itself": "a scale set repairs, upgrades or scales itself",
}

// alerts is the panel of the alerts that fire.
const alerts = "Needs a person"

// TestPanelsShowTheStory plays the playground's story, scrapes it as Prometheus does, evaluates the rules, and asks each panel what it
// shows. No alert fires.
func TestPanelsShowTheStory(t *testing.T) {
	if *playground == "" {
		t.Fatal("-playground names no program: make monitoring-story builds and names it")
	}
	store := teststorage.New(t)
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	began := time.Now()
	manager, groups := ruleManager(t, store, engine)
	defer manager.Stop()
	story(t, func(text []byte) {
		now := time.Now()
		keep(t, store, text, now)
		for _, g := range groups {
			g.Eval(t.Context(), now)
		}
	})
	whole := time.Since(began).Truncate(time.Second)
	fill := strings.NewReplacer("$cluster", ".*", "$namespace", ".*", "$__rate_interval", (4 * every).String(), "$__range", whole.String())
	for file, d := range dashboards(t) {
		for _, p := range d.Panels {
			title := *p.Panel.Title
			shown := 0
			for _, target := range p.Panel.Targets {
				expr := fill.Replace(target.(prometheus.Dataquery).Expr)
				n := points(t, store, engine, expr, began)
				if shown += n; n == 0 && empty[title] == "" {
					t.Errorf("%s, %s shows nothing: %s", file, title, expr)
				}
			}
			t.Logf("%s, %s: %d points%s", file, title, shown, unless(shown, empty[title]))
			if shown > 0 && title == alerts {
				t.Errorf("%s, %s: an alert fires in a story in which nothing goes wrong", file, title)
			}
		}
	}
}

// unless says what a panel without points waits for.
func unless(shown int, waits string) string {
	if shown > 0 || waits == "" {
		return ""
	}
	return " until " + waits
}

// ruleManager has the rules of deploy/monitoring.
func ruleManager(t *testing.T, store *teststorage.TestStorage, engine *promql.Engine) (*rules.Manager, map[string]*rules.Group) {
	t.Helper()
	manager := rules.NewManager(&rules.ManagerOptions{
		QueryFunc: rules.EngineQueryFunc(engine, store), AppendableV2: store, Context: t.Context(), Logger: promslog.NewNopLogger(),
		Parser: parser.NewParser(parser.Options{}), NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
	})
	groups, errs := manager.LoadGroups(every, labels.EmptyLabels(), "", nil, false, folder+"/alerts.yaml")
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return manager, groups
}

// story plays it and hands over what /metrics says every so often, until it has ended well.
func story(t *testing.T, scraped func([]byte)) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), *playground, "--keep")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		var said strings.Builder
		for lines := bufio.NewScanner(out); lines.Scan(); {
			said.WriteString(lines.Text() + "\n")
			if m := regexp.MustCompile(`metrics +(http\S+)`).FindStringSubmatch(lines.Text()); m != nil {
				address <- m[1]
			}
			if strings.HasPrefix(lines.Text(), "Everything stays up") {
				ended <- nil
			}
		}
		ended <- errors.New(said.String())
	}()
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		_ = cmd.Wait()
	}()
	var from string
	select {
	case from = <-address:
	case err := <-ended:
		t.Fatal(err)
	}
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	for {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			return
		case <-ticks.C:
			resp, err := http.Get(from)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			scraped(text)
		}
	}
}

// keep stores a scrape with the labels that Prometheus adds.
func keep(t *testing.T, store storage.Appendable, text []byte, at time.Time) {
	t.Helper()
	app := store.Appender(t.Context())
	p := parser.NewParser(parser.Options{})
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		i := strings.LastIndex(line, " ") // no sample has a time of its own
		has, err := p.ParseMetric(line[:i])
		if err != nil {
			t.Fatal(line, err)
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(line[i:]), 64)
		if err != nil {
			t.Fatal(line, err)
		}
		b := labels.NewBuilder(has)
		for name, is := range map[string]string{"cluster": "farm", "namespace": "kube-system", "job": "sluice", "instance": "one"} {
			b.Set(name, is)
		}
		if _, err := app.Append(0, b.Labels(), at.UnixMilli(), value); err != nil {
			t.Fatal(line, err)
		}
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
}

// points is how many numbers a query has had since then.
func points(t *testing.T, store storage.Queryable, engine *promql.Engine, expr string, since time.Time) (n int) {
	t.Helper()
	q, err := engine.NewRangeQuery(t.Context(), store, nil, expr, since, time.Now(), every)
	if err != nil {
		t.Fatal(expr, ": ", err)
	}
	defer q.Close()
	matrix, err := q.Exec(t.Context()).Matrix()
	if err != nil {
		t.Fatal(expr, ": ", err)
	}
	for _, series := range matrix {
		for _, p := range series.Floats {
			if !math.IsNaN(p.F) {
				n++
			}
		}
	}
	return n
}
