// Package film makes moving pictures that a README shows: of a page as an animated GIF, of a terminal as an animated SVG without script.
package film

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"slices"
	"time"
)

// A Frame is a picture, and how long it is seen.
type Frame struct {
	Image image.Image
	For   time.Duration
}

// Within joins frames to a picture of at most so many bytes: with fewer colours where it would be larger, and then with fewer frames.
func Within(largest int, frames []Frame) (made []byte, err error) {
	for {
		for _, colours := range []int{31, 15} {
			if made, err = GIF(frames, colours); err != nil || len(made) <= largest {
				return made, err
			}
		}
		if len(frames) < 4 {
			return nil, fmt.Errorf("%d frames are %d bytes (limit %d)", len(frames), len(made), largest)
		}
		frames = thinned(frames)
	}
}

// thinned leaves out one frame of four, in whose time the one before is seen.
func thinned(frames []Frame) (out []Frame) {
	for i, f := range frames {
		if i%4 == 2 && i < len(frames)-1 {
			out[len(out)-1].For += f.For
			continue
		}
		out = append(out, f)
	}
	return out
}

// GIF joins frames of one size to a picture that begins anew at its end. Each frame holds what changed since the one before, in at most so many colours
// that all share: a page of text with 31 has two thirds of the size that it has with 255.
func GIF(frames []Frame, most int) ([]byte, error) {
	if len(frames) == 0 {
		return nil, errors.New("there is no frame")
	}
	images := make([]image.Image, len(frames))
	for i, f := range frames {
		images[i] = f.Image
	}
	colours := append(Colours(most, images...), color.RGBA{}) // the last one means: as before
	same := uint8(len(colours) - 1)                           //nolint:gosec // of 256
	out := gif.GIF{Config: image.Config{ColorModel: colours, Width: images[0].Bounds().Dx(), Height: images[0].Bounds().Dy()}}
	before := (*image.Paletted)(nil)
	for _, f := range frames {
		now := Paletted(f.Image, colours[:same])
		now.Palette = colours
		shown := now
		if before != nil {
			shown = changed(before, now, same)
		}
		before = now
		out.Image = append(out.Image, shown)
		out.Delay = append(out.Delay, int(f.For/(10*time.Millisecond)))
		out.Disposal = append(out.Disposal, gif.DisposalNone)
	}
	var to bytes.Buffer
	err := gif.EncodeAll(&to, &out)
	return to.Bytes(), err
}

// changed is the smallest part of a picture outside of which it is as before; within it, what is as before is transparent.
func changed(before, now *image.Paletted, same uint8) *image.Paletted {
	area := image.Rectangle{}
	for y := range now.Rect.Dy() {
		for x := range now.Rect.Dx() {
			if before.ColorIndexAt(x, y) != now.ColorIndexAt(x, y) {
				area = area.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	if area.Empty() {
		area = image.Rect(0, 0, 1, 1) // a frame has at least one point
	}
	out := image.NewPaletted(area, now.Palette)
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			i := now.ColorIndexAt(x, y)
			if before.ColorIndexAt(x, y) == i {
				i = same
			}
			out.SetColorIndex(x, y, i)
		}
	}
	return out
}

// coarse is a colour without the last bits of it, which nobody sees.
func coarse(c color.Color) color.RGBA {
	r, g, b, _ := c.RGBA()
	return color.RGBA{uint8(r>>8) | 3, uint8(g>>8) | 3, uint8(b>>8) | 3, 255} //nolint:gosec // eight bits each
}

// like says whether nobody tells two colours apart in a picture.
func like(a, b color.RGBA) bool {
	far := func(x, y uint8) int { return max(int(x)-int(y), int(y)-int(x)) }
	return far(a.R, b.R)+far(a.G, b.G)+far(a.B, b.B) < 12
}

// Colours are at most so many of pictures: the commonest ones, and no two of them alike. A rare one that no other is like is kept: it may be the red one.
func Colours(most int, images ...image.Image) (colours color.Palette) {
	counts := map[color.RGBA]int{}
	for _, from := range images {
		area := from.Bounds()
		for y := area.Min.Y; y < area.Max.Y; y++ {
			for x := area.Min.X; x < area.Max.X; x++ {
				counts[coarse(from.At(x, y))]++
			}
		}
	}
	var common []color.RGBA
	for c := range counts {
		common = append(common, c)
	}
	slices.SortFunc(common, func(a, b color.RGBA) int { return bytes.Compare([]byte{a.R, a.G, a.B}, []byte{b.R, b.G, b.B}) })
	slices.SortStableFunc(common, func(a, b color.RGBA) int { return counts[b] - counts[a] })
	for _, c := range common {
		if len(colours) < most && !slices.ContainsFunc(colours, func(other color.Color) bool { return like(c, other.(color.RGBA)) }) {
			colours = append(colours, c)
		}
	}
	return colours
}

// Paletted is a picture in these colours: each point has the nearest one.
func Paletted(from image.Image, colours color.Palette) *image.Paletted {
	area := from.Bounds()
	plain := image.NewRGBA(image.Rect(0, 0, area.Dx(), area.Dy()))
	draw.Draw(plain, plain.Rect, from, area.Min, draw.Src)
	to, nearest := image.NewPaletted(plain.Rect, colours), map[color.RGBA]uint8{}
	for y := range area.Dy() {
		for x := range area.Dx() {
			c := coarse(plain.RGBAAt(x, y))
			i, known := nearest[c]
			if !known {
				i = uint8(colours.Index(c)) //nolint:gosec // of 256
				nearest[c] = i
			}
			to.SetColorIndex(x, y, i)
		}
	}
	return to
}
