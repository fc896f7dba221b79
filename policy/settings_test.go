package policy

import (
	"reflect"
	"slices"
	"testing"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/setting"
)

// TestEveryFieldHasARow holds that no setting stands beside the table: each field of the policy has one row, under one key.
func TestEveryFieldHasARow(t *testing.T) {
	var fields func(of reflect.Type, index []int, name string)
	fields = func(of reflect.Type, index []int, name string) {
		for i := range of.NumField() {
			f := of.Field(i)
			at := append(slices.Clone(index), i)
			rows := 0
			for _, place := range places {
				if slices.Equal(place.index, at) {
					rows++
				}
			}
			if rows == 0 && f.Type.Kind() == reflect.Struct {
				fields(f.Type, at, name+f.Name+".")
				continue
			}
			if rows != 1 {
				t.Errorf("%s%s has %d rows in the table of settings, want one", name, f.Name, rows)
			}
		}
	}
	fields(reflect.TypeFor[Policy](), nil, "")
	seen := map[string]bool{}
	for _, at := range places {
		if seen[at.key] {
			t.Errorf("two rows have the key %s", at.key)
		}
		seen[at.key] = true
	}
}

// TestEveryTagHasAnOption holds that a group can keep what its tag says.
func TestEveryTagHasAnOption(t *testing.T) {
	tags := 0
	for row := range setting.All() {
		if row.Tag != "" && row.Flag != "" {
			tags++
			if _, err := ReadTag(row, "?", new(cluster.Options)); err == nil {
				t.Errorf("%s takes any value", row.Tag)
			}
		}
	}
	if options := reflect.TypeFor[cluster.Options]().NumField(); tags != options {
		t.Errorf("%d settings have tags, and groups have %d options", tags, options)
	}
}
