package join

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Woken says whether a token was given since the door looked last, and forgets it.
func (d *Door) Woken() bool {
	select {
	case <-d.gave:
		return true
	default:
		return false
	}
}

// TestATokenThatIsGivenWakesTheDoor has a door that idles give tokens, one and many.
func TestATokenThatIsGivenWakesTheDoor(t *testing.T) {
	for name, c := range map[string]struct {
		tokens []int // when they are given, in milliseconds
		busy   int   // until when there is something to be watched
		want   []int // when it looks
	}{
		"none":               {nil, 0, []int{0, 15000, 30000}},
		"one":                {[]int{3000}, 0, []int{0, 5000, 20000}},
		"one each second":    {[]int{3000, 3900, 4800, 5700, 6600}, 0, []int{0, 5000, 7700, 22700}},
		"one while it looks": {[]int{1000, 3000}, 5000, []int{0, 2000, 4000, 6000, 21000}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var looks []int
				d := &Door{gave: make(chan struct{}, 1)}
				ctx, cancel := context.WithTimeout(t.Context(), 31*time.Second)
				defer cancel()
				for _, at := range c.tokens {
					time.AfterFunc(time.Duration(at)*time.Millisecond, func() { d.gave <- struct{}{} })
				}
				if err := d.rounds(ctx, nil, func() bool {
					at := int(time.Since(began).Milliseconds())
					looks = append(looks, at)
					return at < c.busy
				}); err != nil {
					t.Error(err)
				}
				if !slices.Equal(looks, c.want) {
					t.Errorf("it looks at %d, want %d", looks, c.want)
				}
			})
		})
	}
}

// TestADoorThatCannotServeEnds has the listener fail.
func TestADoorThatCannotServeEnds(t *testing.T) {
	ended, fault := make(chan error, 1), errors.New("closed")
	ended <- fault
	d := &Door{gave: make(chan struct{}, 1)}
	if err := d.rounds(t.Context(), ended, func() bool { return true }); !errors.Is(err, fault) {
		t.Errorf("%v, want %v", err, fault)
	}
}
