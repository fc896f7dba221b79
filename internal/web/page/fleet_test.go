package page

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/view"
	"sluice.dev/sluice/reason"
)

// fleetOf is a view of so many nodes n0000 and so on in the groups g0 and g1, by turns in the zones 1 and 2, the later ones fuller. The eighth is idle.
func fleetOf(nodes int) *view.Now {
	v := &view.Now{Time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	for g := range 2 {
		group := view.Group{ID: cluster.GroupID(fmt.Sprintf("g%d", g))}
		for i := g * nodes / 2; i < (g+1)*nodes/2; i++ {
			t := view.Tile{About: reason.Node(fmt.Sprintf("n%04d", i)), Zone: fmt.Sprint(i%2 + 1), State: view.Busy, Load: view.Load{CPU: float64(i) / float64(nodes)}}
			if i == 7 {
				t.State, t.Until = view.Idle, v.Time.Add(time.Minute)
			}
			group.Tiles = append(group.Tiles, t)
		}
		v.Groups = append(v.Groups, group)
	}
	return v
}

func query(t *testing.T, text string) url.Values {
	t.Helper()
	q, err := url.ParseQuery(text)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestTheListIsOrderedCutAndFiltered(t *testing.T) {
	v := fleetOf(5000)
	for address, want := range map[string]struct {
		found, rows int
		first       string
	}{
		"by=list": {5000, 200, "n0000"}, "by=list&sort=-name": {5000, 200, "n4999"}, "by=list&sort=cpu": {5000, 200, "n4999"}, "by=list&from=4900&sort=name": {5000, 100, "n4900"},
		"by=list&q=n49": {100, 100, "n4900"}, "by=list&q=N4999+g1": {1, 1, "n4999"}, "by=list&q=nobody": {0, 0, ""}, "by=list&from=9999999": {5000, 0, ""}, "by=list&from=-3": {5000, 200, "n0000"},
		"by=list&zone=2&sort=name": {2500, 200, "n0001"}, "by=list&sort=until&q=idle": {1, 1, "n0007"}, "by=list&sort=%3Cb%3E": {5000, 200, "n0000"},
	} {
		f := newFleet(v, "./", query(t, address))
		rows := f.Rows()
		first := ""
		if len(rows) > 0 {
			first = rows[0].About.Name
		}
		if f.Found() != want.found || len(rows) != want.rows || first != want.first {
			t.Errorf("%s: found %d, %d rows from %q, want %+v", address, f.Found(), len(rows), first, want)
		}
	}
	f := newFleet(v, "./", query(t, "by=list&q=n&at=2026-03-01T00:00:00Z&from=400"))
	for got, want := range map[string]string{
		f.Later(): "./?at=2026-03-01T00%3A00%3A00Z&by=list&from=600&q=n", f.Earlier(): "./?at=2026-03-01T00%3A00%3A00Z&by=list&from=200&q=n",
		f.Choose("by", "zone"): "./?at=2026-03-01T00%3A00%3A00Z&by=zone&q=n", f.Without(): "./?at=2026-03-01T00%3A00%3A00Z&by=list",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if z := newFleet(v, "./", query(t, "by=zone")).Zones(); len(z) != 2 || z[0].Nodes()+z[1].Nodes() != 5000 || !newFleet(v, "./", query(t, "by=zone")).Dense() {
		t.Errorf("zones %d", len(z))
	}
}
