// Package expander asks an operator's own server which node groups may grow, by the protocol of cluster-autoscaler's expander grpc: the
// service grpcplugin.Expander with its one method BestOptions.
package expander

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
)

// Timeout is how long a server has for its answer, connecting included. It is cluster-autoscaler's.
const Timeout = 5 * time.Second

// method is the one that servers implement.
const method = "/grpcplugin.Expander/BestOptions"

// Offer is one way to help pods, with the objects that a server is told of.
type Offer struct {
	Group cluster.GroupID
	Nodes int
	Pods  []*corev1.Pod
	Node  *corev1.Node // such as a new machine of the group will become; nil when nothing is known of it
}

// Client is a connection to a server. Its methods may be called from several goroutines.
type Client struct{ connection *grpc.ClientConn }

// Dial prepares a connection, which is made with the first question and again whenever it is lost. The server must show a certificate that
// the PEM file vouches for: what pods run is nobody else's business. The error is one sentence for the operator.
func Dial(url, certificate string) (*Client, error) {
	if url == "" {
		return nil, fmt.Errorf("--grpc-expander-url is empty: give the address of the server, such as expander.kube-system.svc:7000")
	}
	if certificate == "" {
		return nil, fmt.Errorf("--grpc-expander-cert is empty: give the PEM file of the certificate, or of its authority, that the server at --grpc-expander-url=%s shows", url)
	}
	vouched, err := credentials.NewClientTLSFromFile(certificate, "")
	if err != nil {
		return nil, fmt.Errorf("--grpc-expander-cert=%s: %w; give a PEM file with at least one certificate", certificate, err)
	}
	connection, err := grpc.NewClient(url, grpc.WithTransportCredentials(vouched))
	if err != nil {
		return nil, fmt.Errorf("--grpc-expander-url=%s: %w; give such as expander.kube-system.svc:7000", url, err)
	}
	return &Client{connection}, nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.connection.Close() }

// Best asks the server. It answers within [Timeout].
func (c *Client) Best(ctx context.Context, offers []Offer) ([]cluster.GroupID, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	question, err := request(offers)
	if err != nil {
		return nil, err
	}
	var answer []byte
	if err := c.connection.Invoke(ctx, method, &question, &answer, grpc.ForceCodecV2(encoding.CodecV2(wire{}))); err != nil {
		return nil, fmt.Errorf("ask the expander's server at %s: %w", c.connection.Target(), err)
	}
	chosen, err := groups(answer)
	if err != nil {
		return nil, fmt.Errorf("read the answer of the expander's server at %s: %w", c.connection.Target(), err)
	}
	return chosen, nil
}
