package cluster_test

import (
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
)

// TestZonesTakeTurnsByWhatTheyHave says where the next machines of a group come up.
func TestZonesTakeTurnsByWhatTheyHave(t *testing.T) {
	for name, c := range map[string]struct {
		zones []string
		count map[string]int
		want  []string
	}{
		"from nothing on, in their order":                {[]string{"a", "b", "c"}, nil, []string{"a", "b", "c", "a"}},
		"in the order of the group, not of the names":    {[]string{"c", "a"}, nil, []string{"c", "a", "c"}},
		"those that have fewer catch up":                 {[]string{"a", "b", "c"}, map[string]int{"a": 2, "c": 1}, []string{"b", "b", "c", "a", "b"}},
		"machines in zones that it has left are no help": {[]string{"a", "b"}, map[string]int{"z": 9, "a": 1}, []string{"b", "a"}},
		"a group of no zone":                             {nil, nil, []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			count := maps.Clone(c.count)
			if count == nil {
				count = map[string]int{}
			}
			var got []string
			for range c.want {
				zone := cluster.NextZone(c.zones, count)
				count[zone]++
				got = append(got, zone)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("they come up in %v, want %v", got, c.want)
			}
		})
	}
}

// TestMachinesBeingDeletedHoldNoZone says what counts when zones are balanced.
func TestMachinesBeingDeletedHoldNoZone(t *testing.T) {
	g := &cluster.Group{
		Instances: []*cluster.Instance{
			{ID: "0", Zone: "a", State: cluster.StateRunning}, {ID: "1", Zone: "a", State: cluster.StateDeleting}, {ID: "2", Zone: "b", State: cluster.StateFailed},
			{ID: "3", State: cluster.StateCreating},
		},
		Parked: []*cluster.Instance{{ID: "4", Zone: "b", State: cluster.StateStopped}},
	}
	if got, want := g.InZones(), map[string]int{"a": 1, "b": 2, "": 1}; !maps.Equal(got, want) {
		t.Errorf("zones have %v, want %v", got, want)
	}
}

// TestTemplateMovesToAnotherZone says which labels of a template follow the zone.
func TestTemplateMovesToAnotherZone(t *testing.T) {
	template := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
		corev1.LabelTopologyZone: "westeurope-1", "topology.disk.csi.azure.com/zone": "westeurope-1", corev1.LabelTopologyRegion: "westeurope",
		"example.com/zone": "dmz", "rack": "westeurope-1",
	}}}
	was := maps.Clone(template.Labels)
	got := cluster.InZone(template, "westeurope-3")
	want := map[string]string{
		corev1.LabelTopologyZone: "westeurope-3", "topology.disk.csi.azure.com/zone": "westeurope-3", corev1.LabelTopologyRegion: "westeurope",
		"example.com/zone": "dmz", "rack": "westeurope-1",
	}
	if !maps.Equal(got.Labels, want) || !maps.Equal(template.Labels, was) {
		t.Errorf("labels are %v and the template's %v, want %v and %v", got.Labels, template.Labels, want, was)
	}
	if cluster.InZone(template, "westeurope-1") != template {
		t.Error("a template that is of the zone already is copied")
	}
}
