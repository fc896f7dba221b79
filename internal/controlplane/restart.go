package controlplane

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes"
)

// RestartAPIServer ends kube-apiserver, which cuts all watches and refuses connections, and starts it again at the same address after it was away for so
// long. It returns when /readyz answers ok, and takes as long as it takes to read all objects from etcd. The other components go on, as they do on a
// real control plane. After an error only Stop makes sense.
func (c *ControlPlane) RestartAPIServer(ctx context.Context, away time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.components, func(one *component) bool { return one.name == "kube-apiserver" })
	exiting.Store(true)
	err := c.components[i].stop()
	exiting.Store(false)
	if err != nil {
		return err
	}
	select {
	case <-time.After(away):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	address, err := url.Parse(c.config.Host)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp4", address.Host)
	if err != nil {
		return fmt.Errorf("kube-apiserver: %w", err)
	}
	if c.components[i], err = c.serve(listener); err != nil {
		listener.Close()
		return fmt.Errorf("kube-apiserver: %w", err)
	}
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return err
	}
	return c.components[i].await(ctx, "ready", func(ctx context.Context) error { return readyz(ctx, client) })
}
