package film

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
)

// drawn is a picture of one colour with a square of another.
func drawn(x int, square color.RGBA) image.Image {
	i := image.NewRGBA(image.Rect(0, 0, 40, 20))
	for n := range i.Pix {
		i.Pix[n] = 255
	}
	for dy := range 5 {
		for dx := range 5 {
			i.SetRGBA(x+dx, 3+dy, square)
		}
	}
	return i
}

// TestAGIFShowsEveryFrame as a viewer draws it: each one over what was there before.
func TestAGIFShowsEveryFrame(t *testing.T) {
	red, blue := color.RGBA{255, 3, 3, 255}, color.RGBA{3, 3, 255, 255}
	frames := []Frame{{drawn(2, red), time.Second}, {drawn(9, red), 300 * time.Millisecond}, {drawn(9, red), time.Second}, {drawn(30, blue), time.Second}, {drawn(2, red), time.Second}}
	made, err := GIF(frames, 31)
	if err != nil {
		t.Fatal(err)
	}
	got, err := gif.DecodeAll(bytes.NewReader(made))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Image) != len(frames) || got.Delay[1] != 30 || got.LoopCount != 0 {
		t.Errorf("%d frames, delays %v, loops %d", len(got.Image), got.Delay, got.LoopCount)
	}
	shown := image.NewRGBA(image.Rect(0, 0, 40, 20))
	for n, part := range got.Image {
		for y := part.Rect.Min.Y; y < part.Rect.Max.Y; y++ {
			for x := part.Rect.Min.X; x < part.Rect.Max.X; x++ {
				if _, _, _, opaque := part.At(x, y).RGBA(); opaque > 0 {
					shown.Set(x, y, part.At(x, y))
				}
			}
		}
		for y := range 20 {
			for x := range 40 {
				if want := frames[n].Image.At(x, y).(color.RGBA); !like(shown.RGBAAt(x, y), want) {
					t.Fatalf("frame %d at %d,%d is %v, want %v", n, x, y, shown.RGBAAt(x, y), want)
				}
			}
		}
	}
	if part := got.Image[1].Rect; part != image.Rect(2, 3, 14, 8) {
		t.Errorf("the second frame has %v, want what changed alone", part)
	}
	if _, err := GIF(nil, 31); err == nil {
		t.Error("no frames are a picture")
	}
}

// TestAPictureIsMadeToFit by leaving frames out; what is left is seen as long as before.
func TestAPictureIsMadeToFit(t *testing.T) {
	var frames []Frame
	for n := range 20 {
		frames = append(frames, Frame{drawn(n, color.RGBA{uint8(n * 12), 3, 3, 255}), time.Second})
	}
	whole, err := GIF(frames, 31)
	if err != nil {
		t.Fatal(err)
	}
	made, err := Within(len(whole)/2, frames)
	if err != nil || len(made) > len(whole)/2 {
		t.Fatalf("%d bytes of %d: %v", len(made), len(whole), err)
	}
	got, err := gif.DecodeAll(bytes.NewReader(made))
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, d := range got.Delay {
		total += d
	}
	if total != 2000 || len(got.Image) < 4 {
		t.Errorf("%d frames are seen for %d hundredths of a second", len(got.Image), total)
	}
	if _, err := Within(100, frames); err == nil {
		t.Error("nothing fits into 100 bytes")
	}
}

// TestARareColourIsKept where many are alike.
func TestARareColourIsKept(t *testing.T) {
	i := image.NewRGBA(image.Rect(0, 0, 256, 8))
	for y := range 8 {
		for x := range 256 {
			i.SetRGBA(x, y, color.RGBA{uint8(x), uint8(x), uint8(x), 255})
		}
	}
	i.SetRGBA(7, 7, color.RGBA{255, 3, 3, 255})
	colours := Colours(100, i)
	if c := colours[colours.Index(color.RGBA{255, 3, 3, 255})].(color.RGBA); !like(c, color.RGBA{255, 3, 3, 255}) {
		t.Errorf("red has become %v of %d", c, len(colours))
	}
}

// TestATerminalBecomesAPictureWithoutScript that shows each screen at its time, and one to who wants no motion.
func TestATerminalBecomesAPictureWithoutScript(t *testing.T) {
	e := vt.NewEmulator(20, 3)
	go io.Copy(io.Discard, e) //nolint:errcheck // its replies are for nobody
	write := func(text string) Screen {
		if _, err := e.WriteString(text); err != nil {
			t.Fatal(err)
		}
		s := Look(e)
		s.For = 500 * time.Millisecond
		return s
	}
	first := write("\x1b[1mGROUP\x1b[0m <a&b>\r\n\x1b[7m>web\x1b[0m  漢x\r\n\x1b[33mwarn\x1b[0m \x1b[31mbad\x1b[0m \x1b[2mfaint\x1b[0m")
	second := write("\x1b[1;1H\x1b[1mGROUPS")
	if first.Same(second) || !second.Same(Look(e)) {
		t.Error("screens are not told apart")
	}
	second.For = time.Second
	made := string(SVG("sluice top <x>", []Screen{first, second, first}, 1))
	for d := xml.NewDecoder(strings.NewReader(made)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, made)
		}
		if s, is := token.(xml.StartElement); is && (s.Name.Local == "script" || s.Name.Local == "foreignObject") {
			t.Errorf("it has a %s", s.Name.Local)
		}
	}
	for _, want := range []string{
		`class="b">GROUP</tspan>`, `&lt;a&amp;b&gt;`, `<rect class="r" x="0" width="33.6"`, `class="r">&gt;web</tspan>`, `class="y">warn`, `class="e">bad`, `class="f">faint`,
		`<g class="s still d1000" style="animation-delay:0.5s">`, `style="animation-delay:1.5s"`, "prefers-reduced-motion:reduce", "k1000 2s step-end infinite", "50.0000%{visibility:hidden}",
		`x="33.6" textLength="42">  漢x`,
	} {
		if !strings.Contains(made, want) {
			t.Errorf("it lacks %s", want)
		}
	}
	if n := strings.Count(made, "warn"); n != 1 {
		t.Errorf("a line that all screens have is there %d times", n)
	}
	if t.Failed() {
		t.Log(made)
	}
}
