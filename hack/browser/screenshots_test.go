//go:build screenshots

package browser

import (
	"bytes"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

var folder = flag.String("screenshots", ".", "write pictures of the page to this folder")

func TestScreenshots(t *testing.T) {
	if err := os.MkdirAll(*folder, 0o755); err != nil {
		t.Fatal(err)
	}
	farm := serve(t, "", play(t, busy)...)
	node, pod := "", ""
	for _, v := range farm.views() {
		if strings.HasPrefix(v, "why/node/") {
			node = v
		}
		if strings.HasPrefix(v, "why/pod/") {
			pod = v
		}
	}
	lost := serve(t, "", play(t, lostZone)...)
	for _, p := range []struct {
		name, path, scheme string
		at                 *site
		width, height      int64
	}{
		{"now-light", "", "light", farm, 1440, 1000}, {"now-dark", "", "dark", farm, 1440, 1000}, {"now-390", "", "light", farm, 390, 1400},
		{"time", "time?range=1h", "light", farm, 1440, 1000}, {"why-node", node, "light", farm, 1440, 800}, {"why-pod", pod, "light", farm, 1440, 800},
		{"azure", "azure", "light", farm, 1440, 800}, {"5000", "", "light", serve(t, "", large(t)), 1440, 1400},
		{"quiet", "", "light", serve(t, "", scenario(t, "grow-two-groups", 0)...), 1440, 900}, {"bad", "", "light", lost, 1440, 1000},
	} {
		b := p.at.open(t)
		b.scheme(p.scheme)
		b.do(chromedp.EmulateViewport(p.width, p.height))
		b.see(p.path)
		raw, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		small := packed(t, raw)
		if len(small) > 150_000 {
			t.Errorf("%s has %d bytes (limit 150000)", p.name, len(small))
		}
		if err := os.WriteFile(filepath.Join(*folder, p.name+".png"), small, 0o644); err != nil { //nolint:gosec // for anybody to read
			t.Fatal(err)
		}
	}
}

// like says whether nobody tells two colours apart in a picture.
func like(a, b color.RGBA) bool {
	far := func(x, y uint8) int { return max(int(x)-int(y), int(y)-int(x)) }
	return far(a.R, b.R)+far(a.G, b.G)+far(a.B, b.B) < 12
}

// packed is the picture with at most 256 colours: the commonest ones, and for each other one the nearest of them.
func packed(t *testing.T, raw []byte) []byte {
	t.Helper()
	from, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	area := from.Bounds()
	counts := map[color.RGBA]int{}
	plain := image.NewRGBA(area)
	draw.Draw(plain, area, from, area.Min, draw.Src)
	for y := range area.Dy() {
		for x := range area.Dx() {
			c := plain.RGBAAt(x, y)
			c.R, c.G, c.B = c.R|3, c.G|3, c.B|3
			plain.SetRGBA(x, y, c)
			counts[c]++
		}
	}
	var common []color.RGBA
	for c := range counts {
		common = append(common, c)
	}
	slices.SortFunc(common, func(a, b color.RGBA) int { return counts[b] - counts[a] })
	var colours color.Palette
	for _, c := range common { // a rare colour that no other is like is kept: it may be the red one
		if len(colours) < 256 && !slices.ContainsFunc(colours, func(other color.Color) bool { return like(c, other.(color.RGBA)) }) {
			colours = append(colours, c)
		}
	}
	to, nearest := image.NewPaletted(area, colours), map[color.RGBA]uint8{}
	for y := range area.Dy() {
		for x := range area.Dx() {
			c := plain.RGBAAt(x, y)
			i, known := nearest[c]
			if !known {
				i = uint8(colours.Index(c)) //nolint:gosec // of 256
				nearest[c] = i
			}
			to.SetColorIndex(x, y, i)
		}
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, to); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
