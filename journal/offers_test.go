package journal

import (
	"bytes"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/policy"
)

func TestOfferedSizesAreWrittenWhenTheyChange(t *testing.T) {
	small := &cluster.Sizes{Where: "here", All: []cluster.Size{{Name: "S", Cores: 2, MemoryMiB: 8192, USDPerHour: 0.1}}}
	large := &cluster.Sizes{Where: "here", All: []cluster.Size{{Name: "L", Cores: 8, MemoryMiB: 32768, Device: "nvidia.com/gpu", Devices: 1}}}
	var b bytes.Buffer
	e := NewEncoder(&b)
	steps := []struct{ a, b *cluster.Sizes }{{nil, nil}, {small, small}, {small, small}, {small, large}, {nil, large}}
	var written []bool
	for i, step := range steps {
		groups := []*cluster.Group{Group("a", 0, 1), Group("b", 0, 1)}
		groups[0].Sizes, groups[1].Sizes = step.a, step.b
		from := b.Len()
		if err := e.Encode(Entry{Cycle: uint64(i), Seen: cluster.New(Start, cluster.Objects{}, groups), Policy: policy.Default()}); err != nil {
			t.Fatal(err)
		}
		written = append(written, bytes.Contains(b.Bytes()[from:], []byte(`"offers"`)))
	}
	if d := cmp.Diff([]bool{false, true, false, true, true}, written); d != "" {
		t.Errorf("lines that have sizes (-want +got):\n%s", d)
	}
	d := NewDecoder(&b)
	for i, want := range steps {
		entry, err := d.Next()
		if err != nil {
			t.Fatal(err)
		}
		for _, diff := range []string{cmp.Diff(want.a, entry.Seen.Group("a").Sizes), cmp.Diff(want.b, entry.Seen.Group("b").Sizes)} {
			if diff != "" {
				t.Errorf("sizes of line %d (-want +got):\n%s", i, diff)
			}
		}
	}
	if _, err := d.Next(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}
