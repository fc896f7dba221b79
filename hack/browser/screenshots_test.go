//go:build screenshots

package browser

import (
	"bytes"
	"flag"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"sluice.dev/sluice/hack/browser/film"
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

// packed is the picture with at most 256 colours.
func packed(t *testing.T, raw []byte) []byte {
	t.Helper()
	from, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, film.Paletted(from, film.Colours(256, from))); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
