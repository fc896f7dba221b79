package world

import (
	"context"
	"errors"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/expander"
)

// advice is what the server of the expander grpc answers: as long as the script says nothing, every group that it is asked about.
type advice struct {
	said bool
	down bool
	keep []cluster.GroupID
}

// Best answers as the script says.
func (a *advice) Best(_ context.Context, offers []expander.Offer) ([]cluster.GroupID, error) {
	switch {
	case a.down:
		return nil, errors.New("the expander's server does not answer")
	case a.said:
		return a.keep, nil
	}
	var all []cluster.GroupID
	for _, o := range offers {
		all = append(all, o.Group)
	}
	return all, nil
}

func doExpander(w *world, s *statement) error {
	w.config.advice = advice{said: true}
	for _, name := range s.names {
		switch name {
		case "nothing":
		case "down":
			w.config.advice.down = true
		default:
			w.config.advice.keep = append(w.config.advice.keep, cluster.GroupID(name))
		}
	}
	return nil
}
