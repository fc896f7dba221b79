package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// perform starts the playground, plays the story, tells how it came out and cleans up. The error is [errWrong] when a check failed.
func perform(ctx context.Context, o options, w io.Writer) (err error) {
	n := newNarrator(w)
	defer n.close()
	n.line("sluice playground %s: a real control plane, a simulated Azure, and sluice", version)
	user := ctx // ends when the user wants it to
	p, ctx, err := open(user, o, n)
	defer func() {
		keep := err != nil && user.Err() == nil
		if closeErr := p.close(keep); closeErr != nil {
			err = errors.Join(err, fmt.Errorf("%w: %w", errCleanUp, closeErr))
		}
		if keep && p.dir != "" {
			n.line("\nLogs and journal: %s", p.dir)
		}
	}()
	if err != nil {
		return err
	}
	p.greet(n)
	if p.idle {
		return p.wait(user, ctx, n)
	}
	f, err := p.play(ctx, n)
	if err != nil {
		return err
	}
	f.summarize(w)
	good := judge(w, f.checks())
	if good {
		n.line("\nThe story came out right, after %s.", n.stamp())
	} else {
		n.line("\nThe story came out wrong, after %s.", n.stamp())
	}
	if p.keep {
		if err := p.wait(user, ctx, n); err != nil {
			return err
		}
	}
	if !good {
		return errWrong
	}
	return nil
}

// wait leaves everything up until the user ends it; the error is why it ended before.
func (p *playground) wait(user, ctx context.Context, n *narrator) error {
	p.invite(n)
	<-ctx.Done()
	if user.Err() == nil {
		return context.Cause(ctx)
	}
	n.line("Taking everything down.")
	return nil
}

// play plays the story and gathers the facts about it, also when it got stuck.
func (p *playground) play(ctx context.Context, n *narrator) (*facts, error) {
	s := &story{playground: p, n: n}
	if err := s.play(ctx); err != nil && !errors.Is(err, errStuck) {
		return nil, err
	}
	n.progress("gathering the facts")
	f, err := gather(ctx, s)
	n.close()
	return f, err
}

// greet says where everything is.
func (p *playground) greet(n *narrator) {
	n.say("the control plane, Azure and sluice are up")
	n.line("         the page     %s/", p.sluiceURL)
	n.line("         kubeconfig   %s", p.plane.Kubeconfig())
	n.line("         metrics      %s/metrics", p.sluiceURL)
	n.line("         logs         %s", filepath.Join(p.dir, "*.log"))
}

// invite prints commands to look around with.
func (p *playground) invite(n *narrator) {
	var nodes []string
	for _, g := range groups {
		nodes = append(nodes, "--nodes="+g.flag())
	}
	n.line(`
Everything stays up until Ctrl-C. To look around:

  export KUBECONFIG=%[1]s
  kubectl get nodes -L %[7]s
  kubectl get events -A --field-selector reportingComponent=sluice
  kubectl -n kube-system get configmap cluster-autoscaler-status -o yaml

  kubectl create deployment more --image=registry.example/more:1 --replicas=0
  kubectl set resources deployment more --requests=cpu=3
  kubectl scale deployment more --replicas=9

  make build
  bin/sluice explain group agents --server=%[2]s
  bin/sluice replay %[3]s
  bin/sluice plan %[4]s \
    --azure-resource-manager-endpoint=%[5]s --azure-authority-host=%[5]s --azure-metadata-endpoint=%[6]s
`, p.plane.Kubeconfig(), p.sluiceURL, p.path(journalFile), strings.Join(nodes, " "), p.managerURL, p.metadataURL, poolLabel)
}
