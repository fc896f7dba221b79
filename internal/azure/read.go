package azure

import (
	"context"
	"fmt"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
)

// read asks for what is missing of a reading: the model, unless the caller has it already, and the machines.
func (p *Provider) read(ctx context.Context, id cluster.GroupID, name string, known *model) (*reading, *cloud.Error) {
	m := known
	if m == nil {
		var err error
		if m, err = p.source.model(ctx, name); err != nil {
			return nil, p.readError(id, name, err)
		}
	}
	p.gate.place(p.options.ResourceGroup, "virtualMachineScaleSets/"+name, m.location)
	r := &reading{model: m, at: p.now().UTC()} // an answer that takes long tells what was so when it was asked for
	if m.unfit != "" {
		return r, nil // its machines may answer to other calls
	}
	machines, err := m.kind.machines(ctx, m)
	if err != nil {
		return nil, p.readError(id, name, err)
	}
	r.machines = machines
	p.addresses.fill(machines)
	return r, nil
}

// readError is a failed read of one group.
func (p *Provider) readError(id cluster.GroupID, name string, err error) *cloud.Error {
	e := p.wrap(id, fmt.Sprintf("read %s %q", p.source.noun(), name), err)
	if e.Kind == cloud.NotFound {
		return p.missing(id, name)
	}
	return e
}

// unlisted says that the list of all groups lacks one.
func (p *Provider) unlisted(g *group) *cloud.Error {
	e := p.missing(g.id, g.name)
	if g.discovered {
		e.Message = fmt.Sprintf("the last list of resource group %q lacks %s: the next one decides whether it is managed any more", p.options.ResourceGroup, g)
	}
	return e
}

// missing says that a group does not exist.
func (p *Provider) missing(id cluster.GroupID, name string) *cloud.Error {
	return &cloud.Error{Kind: cloud.NotFound, Group: id, Code: "ResourceNotFound", Message: fmt.Sprintf("%s %q %s", p.source.noun(), name, p.source.lacking())}
}
