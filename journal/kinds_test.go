package journal_test

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/policy"
)

// fill puts an object into each list of a struct that has none.
func fill(all reflect.Value) {
	for i := range all.NumField() {
		if field := all.Field(i); field.Kind() == reflect.Slice && field.Len() == 0 {
			o := reflect.New(field.Type().Elem().Elem())
			o.Elem().FieldByName("Name").SetString("o")
			field.Set(reflect.Append(field, o))
		}
	}
}

// TestEveryKindOfObjectIsRecorded fails when [cluster.Objects] has a kind that a line of the journal does not.
func TestEveryKindOfObjectIsRecorded(t *testing.T) {
	one := Objects(Node("n"), Pod("p"))
	one.Controllers.Known = true
	one.Lacks = cluster.Lacks{cluster.DeleteNodes}
	fill(reflect.ValueOf(&one).Elem())
	fill(reflect.ValueOf(&one.Controllers).Elem())
	var b bytes.Buffer
	e := journal.NewEncoder(&b)
	for i, objects := range []cluster.Objects{one, {}} {
		entry := journal.Entry{Cycle: uint64(i + 1), Seen: cluster.New(Start.Add(time.Duration(i)*time.Minute), objects, nil), Policy: policy.Default(), Plan: action.Plan{}}
		if err := e.Encode(entry); err != nil {
			t.Fatal(err)
		}
	}
	got, err := readAll(&b)
	if err != nil || len(got) != 2 {
		t.Fatalf("%d entries, %v", len(got), err)
	}
	if diff := cmp.Diff(asJSON(t, one), asJSON(t, got[0].Seen.Objects)); diff != "" {
		t.Errorf("(-wrote +read)\n%s", diff)
	}
	if diff := cmp.Diff(asJSON(t, cluster.Objects{}), asJSON(t, got[1].Seen.Objects)); diff != "" {
		t.Errorf("after all was gone (-wrote +read)\n%s", diff)
	}
}
