// Package monitoring makes the dashboards of deploy/monitoring, and holds them and the rules there to the series that sluice has. It is a module of its own,
// so that sluice needs neither Prometheus nor Grafana's library. It has nothing but tests.
package monitoring

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

const folder = "../../deploy/monitoring"

var update = flag.Bool("update", false, "write the dashboards of deploy/monitoring")

// dashboards are all that are made, by file.
func dashboards(t *testing.T) map[string]dashboard.Dashboard {
	t.Helper()
	made := map[string]dashboard.Dashboard{}
	for file, of := range map[string]*dashboard.DashboardBuilder{"sluice-now.json": now(), "sluice-azure.json": azure()} {
		d, err := of.Build()
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for i := range d.Panels {
			id := uint32(i + 1) // Grafana would number them itself, and ask to save what it changed
			d.Panels[i].Panel.Id = &id
		}
		made[file] = d
	}
	return made
}

// TestDashboardsAreCurrent holds each file to what is made here, and every file of a dashboard to be made here.
func TestDashboardsAreCurrent(t *testing.T) {
	made := dashboards(t)
	for file, d := range made {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", " ")
		if err := e.Encode(d); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(folder, file)
		if *update {
			if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		have, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b.String(), string(have)); diff != "" {
			t.Errorf("%s is not current; run make monitoring-test ARGS=-update (-made +file):\n%s", path, diff)
		}
		var read dashboard.Dashboard
		if err := json.Unmarshal(have, &read); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) != len(made) {
		t.Errorf("%q are there, and %d dashboards are made: %v", files, len(made), err)
	}
}

// source is the Prometheus that a reader has chosen.
func source() common.DataSourceRef {
	kind, chosen := "prometheus", "${datasource}"
	return common.DataSourceRef{Type: &kind, Uid: &chosen}
}

// chosen is the last part of a selector: the clusters that the reader has chosen.
const chosen = `cluster=~"$cluster",namespace=~"$namespace"`

// page is a dashboard with the variables that all have.
func page(uid, title, description string) *dashboard.DashboardBuilder {
	choice := func(name, label, values string) cog.Builder[dashboard.VariableModel] {
		all, every, text := ".*", "$__all", "All"
		return dashboard.NewQueryVariableBuilder(name).Label(label).Datasource(source()).Query(dashboard.StringOrMap{String: &values}).
			Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortAlphabeticalAsc).
			IncludeAll(true).AllValue(all).
			Current(dashboard.VariableOption{Text: dashboard.StringOrArrayOfString{String: &text}, Value: dashboard.StringOrArrayOfString{String: &every}})
	}
	return dashboard.NewDashboardBuilder(title).Uid(uid).Description(description).Tags([]string{"sluice"}).Readonly().
		Refresh("30s").Time("now-3h", "now").Timezone("browser").Tooltip(dashboard.DashboardCursorSyncCrosshair).
		Link(dashboard.NewDashboardLinkBuilder("sluice").Type(dashboard.DashboardLinkTypeDashboards).Tags([]string{"sluice"}).IncludeVars(true).KeepTime(true)).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Prometheus").Type("prometheus")).
		WithVariable(choice("cluster", "cluster", `label_values(sluice_build_info, cluster)`)).
		WithVariable(choice("namespace", "namespace", `label_values(sluice_build_info{cluster=~"$cluster"}, namespace)`))
}

// query is one over time; legend is how its series are called.
func query(expr, legend string) *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().Datasource(source()).Expr(expr).LegendFormat(legend).Range()
}

// latest is a query for the values of now, as rows of a table.
func latest(ref, expr string) cog.Builder[variants.Dataquery] {
	return prometheus.NewDataqueryBuilder().Datasource(source()).Expr(expr).RefId(ref).Instant().Format(prometheus.PromQueryFormatTable)
}

// calm is grey, until a value asks for somebody: amber from the first, red from the second on. Zero leaves one out.
func calm(amber, red float64) cog.Builder[dashboard.ThresholdsConfig] {
	steps := []dashboard.Threshold{{Color: "text"}}
	if amber != 0 {
		steps = append(steps, dashboard.Threshold{Value: &amber, Color: "orange"})
	}
	if red != 0 {
		steps = append(steps, dashboard.Threshold{Value: &red, Color: "red"})
	}
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(steps)
}

// figure is one number of now. Its title and what it is worth when nothing is there are words that need no legend.
func figure(title, description, unit, none, expr string, color cog.Builder[dashboard.ThresholdsConfig]) *stat.PanelBuilder {
	return stat.NewPanelBuilder().Title(title).Description(description).Unit(unit).NoValue(none).Datasource(source()).
		Height(4).Span(3).GraphMode(common.BigValueGraphModeNone).Orientation(common.VizOrientationAuto).ColorMode(common.BigValueColorModeValue).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"})).
		Thresholds(color).WithTarget(prometheus.NewDataqueryBuilder().Datasource(source()).Expr(expr).RefId("A").Instant())
}

// lines are series over time.
func lines(title, description, unit string, width uint32, queries ...*prometheus.DataqueryBuilder) *timeseries.PanelBuilder {
	p := timeseries.NewPanelBuilder().Title(title).Description(description).Unit(unit).Datasource(source()).Height(8).Span(width).Min(0).
		LineWidth(1).FillOpacity(10).ShowPoints(common.VisibilityModeNever).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom)).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending))
	for i, q := range queries {
		p.WithTarget(q.RefId(string(rune('A' + i))))
	}
	return p
}

// stacked are lines that add up.
func stacked(p *timeseries.PanelBuilder) *timeseries.PanelBuilder {
	return p.FillOpacity(30).Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal))
}

// column is one of a table: a field, its name for readers, and how its values look.
type column struct{ field, name, unit string }

// rows are queries of now, joined by their labels, with these columns in this order; all others are left out.
func rows(title, description string, width uint32, columns []column, queries ...cog.Builder[variants.Dataquery]) *table.PanelBuilder {
	names, order, keep := map[string]string{}, map[string]int{}, map[string]bool{}
	var fields []string
	p := table.NewPanelBuilder().Title(title).Description(description).Datasource(source()).Height(8).Span(width).NoValue("none").Thresholds(calm(0, 0))
	for i, c := range columns {
		names[c.field], order[c.field], keep[c.field] = c.name, i, true
		fields = append(fields, c.field)
		if c.unit != "" {
			p.OverrideByName(c.name, []dashboard.DynamicConfigValue{{Id: "unit", Value: c.unit}})
		}
	}
	for _, q := range queries {
		p.WithTarget(q)
	}
	return p.WithTransformation(dashboard.DataTransformerConfig{Id: "merge", Options: map[string]any{}}).
		WithTransformation(dashboard.DataTransformerConfig{Id: "filterFieldsByName", Options: map[string]any{"include": map[string]any{"names": fields}}}).
		WithTransformation(dashboard.DataTransformerConfig{Id: "organize", Options: map[string]any{"renameByName": names, "indexByName": order}})
}
