package top

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"sluice.dev/sluice/internal/view"
	"sluice.dev/sluice/reason"
)

// signs are the characters of machines whose state outweighs their load.
var signs = map[view.State]string{view.Idle: "i", view.Leaves: "d", view.Coming: "+", view.Held: "h", view.Parked: "p", view.Trouble: "!", view.Silent: "?"}

// sign is a machine as one character: its state, or tenths of its CPU that pods request, X for all of it.
func sign(t view.Tile) string {
	if s, is := signs[t.State]; is {
		return s
	}
	switch {
	case t.Load.CPU < 0:
		return "u" // nobody knows what it has
	case t.Load.CPU >= 1:
		return "X"
	}
	return fmt.Sprint(int(math.Floor(t.Load.CPU*10 + 1e-9)))
}

// fleet is the machines of all groups, by zone.
func (m Model) fleet() section {
	n := m.shown
	s := section{lines: true, least: 1}
	zones := n.Zones
	if len(zones) == 0 {
		zones = []string{""}
	}
	const jobs = 12
	width := max(6, (m.size.Width-1-m.name(12)-jobs)/len(zones))
	s.title = cell("FLEET", m.name(12))
	for _, z := range zones {
		s.title += cell(zoneName(z), width-1) + " "
	}
	s.title += "with Jobs"
	for _, g := range n.Groups {
		if len(g.Tiles) == 0 {
			continue
		}
		byZone := make([][]view.Tile, len(zones))
		with, nodes := 0, 0
		for _, t := range g.Tiles {
			i := max(0, slices.Index(zones, t.Zone))
			byZone[i] = append(byZone[i], t)
			if t.About.Kind == reason.KindNode && t.State != view.Parked && t.State != view.Coming {
				if nodes++; t.Jobs > 0 {
					with++
				}
			}
		}
		tall := 1
		if m.size.Height == 0 || m.size.Height > 30 { // there is room to show each machine
			for _, tiles := range byZone {
				tall = max(tall, min(6, (len(tiles)+width-3)/(width-2)))
			}
		}
		for i := range tall {
			text, end := cell("", m.name(12)), ""
			if i == 0 {
				text, end = cell(string(g.ID), m.name(12)), fmt.Sprintf("%3d of %3d", with, nodes)
			}
			for _, tiles := range byZone {
				text += cell(piece(tiles, width-2, tall, i), width-1) + " "
			}
			s.rows = append(s.rows, row{text: strings.TrimRight(text+end, " ")})
		}
	}
	return s
}

// piece is one of so many lines of a cell. What has no room is a number, and then what needs somebody is shown first.
func piece(tiles []view.Tile, width, tall, i int) string {
	room, more := width*tall, ""
	if len(tiles) > room {
		room -= len(fmt.Sprintf("+%d", len(tiles)))
		more = fmt.Sprintf("+%d", len(tiles)-room)
		tiles = slices.Clone(tiles)
		slices.SortStableFunc(tiles, func(a, b view.Tile) int {
			return cmp.Compare(slices.Index(view.States, a.State), slices.Index(view.States, b.State))
		})
		tiles = tiles[:max(0, room)]
	}
	var all strings.Builder
	for _, t := range tiles {
		all.WriteString(sign(t))
	}
	text := all.String() + more
	return text[min(len(text), i*width):min(len(text), (i+1)*width)]
}

// zoneName is a zone without the region that all share.
func zoneName(z string) string {
	if z == "" {
		return "no zone"
	}
	return "zone " + z[strings.LastIndex(z, "-")+1:]
}
