package azure

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/imds"
)

// reader reads one group.
type reader struct {
	*state
	addresses *addresses
}

// read asks for what a reading of the group needs. It looks twice where the first answer is a bad one and the last was good: one bad answer changes no
// decision.
func (rd *reader) read(ctx context.Context, g *group, known *model) (*reading, *cloud.Error) {
	r, err := rd.look(ctx, g.name, known)
	if rd.dubious(g, r, err) {
		r, err = rd.look(ctx, g.name, nil)
	}
	if err != nil {
		return nil, rd.readError(g, err)
	}
	return r, nil
}

// dubious says whether an answer about the group, whose last one was good, deserves a second look.
func (rd *reader) dubious(g *group, r *reading, err error) bool {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	switch {
	case g.problem.text != "" || g.unknowns > 0:
		return false
	case err != nil:
		return rd.once(err)
	}
	return g.unknown(r, rd.beyond(g)) != nil
}

// once says whether an error is a bad answer that may be the only one: one that asks for a wait is not, nor is none at all, which costs time.
func (c *client) once(err error) bool {
	var (
		refused *azcore.ResponseError
		own     *cloud.Error
		shut    *shutError
		login   *azidentity.AuthenticationFailedError
		machine *imds.Error
	)
	switch {
	case errors.As(err, &refused):
		a, status := answerOf(refused)
		return kindOf(status, a) != cloud.Throttled && status != http.StatusUnauthorized &&
			(refused.RawResponse == nil || retryAfter(refused.RawResponse, c.now(), 0) == 0)
	case errors.As(err, &own), errors.As(err, &shut), errors.As(err, &login), errors.As(err, &machine):
		return false
	}
	code, _ := unanswered(err, "")
	return code == unreadable || code == connectionLost
}

// look asks for what is missing of a reading: the model, unless the caller has it already, and the machines.
func (rd *reader) look(ctx context.Context, name string, known *model) (*reading, error) {
	m := known
	if m == nil {
		var err error
		if m, err = rd.source.model(ctx, name); err != nil {
			return nil, err
		}
	}
	rd.gate.place(rd.options.ResourceGroup, "virtualMachineScaleSets/"+name, m.location)
	r := &reading{model: m, at: rd.now().UTC(), asked: rd.options.Ledger.Instant()} // an answer that takes long tells what was so when it was asked for
	if m.unfit != "" {
		return r, nil // its machines may answer to other calls
	}
	machines, err := m.kind.machines(ctx, m)
	if err != nil {
		return nil, err
	}
	r.machines = machines
	rd.addresses.fill(machines)
	return r, nil
}

// readError is a failed read of one group.
func (s *state) readError(g *group, err error) *cloud.Error {
	e := s.wrap(g.id, "read "+g.String(), err)
	if e.Kind == cloud.NotFound {
		return s.missing(g.id, g.name)
	}
	return e
}

// missing says that a group does not exist.
func (s *state) missing(id cluster.GroupID, name string) *cloud.Error {
	return &cloud.Error{Kind: cloud.NotFound, Group: id, Code: "ResourceNotFound", Message: fmt.Sprintf("%s %q %s", s.source.noun(), name, s.source.lacking())}
}
