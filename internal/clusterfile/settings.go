package clusterfile

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice.dev/sluice/setting"
)

// ours are settings that the rendered manifests give, with where they come from.
var ours = map[string]string{
	"address": "the manifest has it", "nodes": "the scale sets' tags say it", "node-group-auto-discovery": "the scale sets' tags say it",
	"leader-elect": "the manifest has it", "namespace": "the manifest has it", "kubeconfig": "sluice runs in the cluster",
	"join-address": "the manifest has it", "join-server": "the manifest has it", "join-distribution": "the manifest has it",
	"join-pools": "the manifest has it", "join-tls-file": "the manifest has it",
	"cloud-config": "sluice asks the machine where it is", "cloud-provider": "sluice asks the machine where it is",
}

// checkSettings holds the names to the table of settings, and numbers and durations to their limits. Whoever starts sluice with them reads the rest.
func (d *decoder) checkSettings(f *File) {
	rows := map[string]*setting.Row{}
	for row := range setting.All() {
		if row.Flag != "" {
			rows[row.Flag] = row
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Sluice.Settings)) {
		at, value := "sluice.settings."+name, f.Sluice.Settings[name]
		row := rows[name]
		switch why, given := ours[name]; {
		case given:
			d.wrong(at, "leave it out", "%s", why)
		case row == nil:
			remedy := "see sluice run --help-all"
			if near := Nearest(strings.ReplaceAll(strings.TrimLeft(name, "-"), "_", "-"), slices.Collect(maps.Keys(rows))); near != "" {
				remedy = "did you mean " + near + "?"
			}
			d.wrong(at, remedy, "sluice run has no flag --%s", name)
		case strings.ContainsAny(value, "\n\r"):
			d.wrong(at, "give one line", "has several lines")
		default:
			if remedy := outside(row, value); remedy != "" {
				d.wrong(at, remedy, "%s makes no sense", short(value))
			}
		}
	}
}

// outside says what to give in the place of a value that the setting's unit does not have; "" when it has it, or the unit says nothing.
func outside(row *setting.Row, value string) string {
	var read any
	var err error
	switch row.Unit {
	case setting.Span, setting.Wait:
		read, err = time.ParseDuration(value)
	case setting.Share, setting.Percent, setting.USD:
		read, err = strconv.ParseFloat(value, 64)
	case setting.Count, setting.Cap, setting.Places:
		read, err = strconv.Atoi(value)
	default:
		return ""
	}
	if err != nil {
		return "give it as its default is written: " + row.Default
	}
	if err := row.Check(read); err != nil {
		_, remedy, _ := strings.Cut(err.Error(), ": ")
		return remedy
	}
	return ""
}
