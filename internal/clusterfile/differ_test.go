package clusterfile_test

import (
	"slices"
	"testing"

	"sluice.dev/sluice/internal/clusterfile"
)

// TestDifferNamesEveryFieldThatDiffers compares files in which values, entries of maps and items of lists are others.
func TestDifferNamesEveryFieldThatDiffers(t *testing.T) {
	was := clusterfile.File{
		Name: "render", Storage: clusterfile.Storage{Disks: []clusterfile.Disk{{Name: "assets", SizeGiB: 512}, {Name: "cache", SizeGiB: 8}}},
		Pools: []clusterfile.Pool{
			{Name: "a", Zones: []string{"1", "2"}, Labels: map[string]string{"gone": "x", "tier": "1"}, Spot: &clusterfile.Spot{MaxPrice: 1}}, {Name: "b"},
		},
	}
	is := clusterfile.File{
		Name: "render", Server: clusterfile.Server{PublicAddress: true},
		Storage: clusterfile.Storage{Disks: []clusterfile.Disk{{Name: "fresh"}, {Name: "assets", SizeGiB: 100}}},
		Pools: []clusterfile.Pool{
			{Name: "b", Spot: &clusterfile.Spot{}}, {Name: "a", Zones: []string{"1"}, Labels: map[string]string{"tier": "2"}, Spot: &clusterfile.Spot{MaxPrice: 2}},
		},
	}
	var got []string
	for _, d := range clusterfile.Differ(&was, &is) {
		got = append(got, d.Where()+": "+d.Was+" -> "+d.Is)
	}
	want := []string{
		"server.publicAddress: false -> true", "storage.disks[cache]: cache -> ", "storage.disks[fresh]:  -> fresh", "storage.disks[assets].sizeGiB: 512 -> 100",
		"pools[a].zones: 1, 2 -> 1", "pools[a].labels.gone: x -> ", "pools[a].labels.tier: 1 -> 2", "pools[b].spot:  -> {}", "pools[a].spot.maxPrice: 1 -> 2",
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if same := clusterfile.Differ(&is, &is); len(same) > 0 {
		t.Errorf("a file differs from itself: %v", same)
	}
}
