package page

import (
	"html/template"
	"net/url"
	"time"

	"sluice.dev/sluice/internal/timeline"
	"sluice.dev/sluice/internal/view"
)

// many is from how many machines on they are squares instead of tiles.
const many = 150

// Now is the body of the page that shows one cycle.
type Now struct {
	View  *view.Now
	Fleet Fleet
	Told  []timeline.Telling
	Strip template.HTML // of the last hour
}

// NewNow is the body for a query, which chooses how [Fleet] is shown.
func NewNow(v *view.Now, f Frame, query url.Values) Now {
	return Now{View: v, Fleet: newFleet(v, f.Root, query)}
}

// USD is the sum of what is known.
func (n Now) USD() string {
	if n.View.USD == 0 && n.View.Unpriced > 0 {
		return "unknown"
	}
	return Money(n.View.USD)
}

// ToldSince ends the sentence "Nothing".
func (n Now) ToldSince() string { return "since this process started" }

// ZeroTime is no time, for links to the present.
func (Frame) ZeroTime() time.Time { return time.Time{} }

// Machines are all machines of groups.
func (n Now) Machines() int { return count(n.View.Groups) }
