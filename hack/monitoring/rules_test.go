package monitoring

import (
	"context"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"sigs.k8s.io/yaml"
)

// cases is a file as promtool test rules takes it, as far as it is used here. Alerts are asked for as the series ALERTS: what they say is held for all of them
// by [said].
type cases struct {
	RuleFiles          []string       `json:"rule_files"`
	EvaluationInterval model.Duration `json:"evaluation_interval"`
	Tests              []kase         `json:"tests"`
}

// kase is a course of series, and what queries answer in it.
type kase struct {
	Name        string         `json:"name"`
	Interval    model.Duration `json:"interval"`
	InputSeries []struct {
		Series string `json:"series"`
		Values string `json:"values"`
	} `json:"input_series"`
	Asked []question `json:"promql_expr_test"`
}

// question is a query at a time, and what it answers.
type question struct {
	Expr       string         `json:"expr"`
	EvalTime   model.Duration `json:"eval_time"`
	ExpSamples []struct {
		Labels string  `json:"labels"`
		Value  float64 `json:"value"`
	} `json:"exp_samples"`
}

func read(t *testing.T) cases {
	t.Helper()
	text, err := os.ReadFile(folder + "/alerts_test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file cases
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"alerts.yaml"}, file.RuleFiles); diff != "" {
		t.Fatalf("the rules that are tested (-want +got):\n%s", diff)
	}
	return file
}

// TestRulesDoWhatTheirCasesSay plays each case as promtool does.
func TestRulesDoWhatTheirCasesSay(t *testing.T) {
	file := read(t)
	for _, c := range file.Tests {
		t.Run(c.Name, func(t *testing.T) { c.play(t, time.Duration(file.EvaluationInterval)) })
	}
}

// play evaluates all rules every so often, and asks.
func (c kase) play(t *testing.T, every time.Duration) {
	var load strings.Builder
	fmt.Fprintf(&load, "load %s\n", c.Interval)
	for _, s := range c.InputSeries {
		fmt.Fprintf(&load, "  %s %s\n", s.Series, s.Values)
	}
	p := parser.NewParser(parser.Options{})
	course, err := promqltest.NewLazyLoader(load.String(), promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true})
	if err != nil {
		t.Fatal(err)
	}
	defer course.Close()
	course.SubqueryInterval = every
	manager := rules.NewManager(&rules.ManagerOptions{
		QueryFunc:    rules.EngineQueryFunc(course.QueryEngine(), course.Storage()),
		AppendableV2: course.Storage(), Context: t.Context(), Logger: promslog.NewNopLogger(), Parser: p,
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
	})
	groups, errs := manager.LoadGroups(every, labels.EmptyLabels(), "", nil, false, folder+"/alerts.yaml")
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	asked := slices.Clone(c.Asked)
	slices.SortStableFunc(asked, func(a, b question) int { return int(a.EvalTime - b.EvalTime) })
	for _, g := range groups {
		for _, r := range g.Rules() {
			if alert, is := r.(*rules.AlertingRule); is {
				alert.SetRestored(true) // else it writes no series in its first evaluations
			}
		}
	}
	for at := time.Unix(0, 0).UTC(); len(asked) > 0; at = at.Add(every) {
		course.WithSamplesTill(at, func(err error) {
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range groups {
				g.Eval(course.Context(), at)
				for _, r := range g.Rules() {
					if r.LastError() != nil {
						t.Fatalf("%s at %s: %v", r.Name(), at.Format("15:04"), r.LastError())
					}
					if alert, is := r.(*rules.AlertingRule); is {
						said(t, alert)
					}
				}
			}
		})
		for len(asked) > 0 && time.Duration(asked[0].EvalTime) <= at.Sub(time.Unix(0, 0)) {
			asked[0].answer(t, course, p)
			asked = asked[1:]
		}
	}
}

// answer compares what a query answers with what it should.
func (q question) answer(t *testing.T, course *promqltest.LazyLoader, p parser.Parser) {
	t.Helper()
	asked, err := course.QueryEngine().NewInstantQuery(course.Context(), course.Queryable(), nil, q.Expr, time.Unix(0, 0).Add(time.Duration(q.EvalTime)))
	if err != nil {
		t.Fatal(err)
	}
	defer asked.Close()
	vector, err := asked.Exec(course.Context()).Vector()
	if err != nil {
		t.Fatal(err)
	}
	got := samples(vector)
	var want []string
	for _, s := range q.ExpSamples {
		metric, err := p.ParseMetric(s.Labels)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, samples(promql.Vector{{Metric: metric, F: s.Value}})...)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s after %s (-want +got):\n%s", q.Expr, q.EvalTime, diff)
	}
}

// samples are a vector's, as text, sorted.
func samples(v promql.Vector) (all []string) {
	for _, s := range v {
		all = append(all, fmt.Sprintf("%s %g", s.Metric, math.Round(s.F*1e6)/1e6))
	}
	slices.Sort(all)
	return all
}

// said holds that what an alert says when it fires is whole: a label that its expression does not keep is told as nothing.
func said(t *testing.T, alert *rules.AlertingRule) {
	t.Helper()
	for _, a := range alert.ActiveAlerts() {
		alert.Annotations().Range(func(says labels.Label) {
			for _, m := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(says.Value, -1) {
				if a.Labels.Get(m[1]) == "" {
					t.Errorf("%s tells label %s in its %s, which its expression does not keep", alert.Name(), m[1], says.Name)
				}
			}
			if told := a.Annotations.Get(says.Name); told == "" || strings.Contains(told, "<error") || strings.Contains(told, "{{") {
				t.Errorf("%s says in its %s: %q", alert.Name(), says.Name, told)
			}
		})
	}
}

// TestEachRuleHasCases wants for each alert a case in which it fires and one in which it does not, and for each recording rule one that asks for it.
func TestEachRuleHasCases(t *testing.T) {
	fires, quiet, recorded := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, c := range read(t).Tests {
		for _, q := range c.Asked {
			m := regexp.MustCompile(`^ALERTS\{alertname="(\w+)",alertstate="firing"\}$`).FindStringSubmatch(q.Expr)
			switch {
			case m == nil:
				recorded[q.Expr] = len(q.ExpSamples) > 0
			case len(q.ExpSamples) > 0:
				fires[m[1]] = true
			default:
				quiet[m[1]] = true
			}
		}
	}
	for _, r := range rulesOf(t) {
		switch {
		case r.Record != "" && !recorded[r.Record]:
			t.Errorf("no case asks for %s", r.Record)
		case r.Alert != "" && (!fires[r.Alert] || !quiet[r.Alert]):
			t.Errorf("%s: a case fires it %t, a case does not %t", r.Alert, fires[r.Alert], quiet[r.Alert])
		}
		delete(fires, r.Alert)
		delete(quiet, r.Alert)
	}
	if len(fires)+len(quiet) > 0 {
		t.Errorf("cases ask for alerts that are not there: %v %v", fires, quiet)
	}
}
