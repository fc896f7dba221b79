package world

import (
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"sluice.dev/sluice/internal/kube"
)

// untimed is the kube.Background of a world, whose time goes on between the steps of its clock alone: what nobody waits for is over before the next
// step, no timer ends, and what failed is asked again at once.
type untimed struct{}

func (untimed) Go(f func()) { f() }

func (untimed) After(time.Duration, func()) kube.Timer { return never{} }

func (untimed) Retries(usual wait.Backoff) wait.Backoff {
	usual.Duration, usual.Cap = time.Millisecond, 10*time.Millisecond
	return usual
}

// never is a timer that does not end.
type never struct{}

func (never) Stop() bool { return true }

func (never) Reset(time.Duration) bool { return true }

// noWall is the machine's clock as a world shows it to sluice, which is not at all: it never jumps.
func noWall() time.Time { return time.Time{} }
