package controlplane

import (
	"context"
	"errors"
	"net/url"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
)

// etcdQuota is far above what a cluster of thousands of nodes stores; at etcd's own default of 2 GiB a long-lived
// playground could go read-only.
const etcdQuota = 8 << 30

// startEtcd runs a single member on a free loopback port and returns the URL of its client API, which asks for a client
// certificate, and the member itself. Data survives the end of the process but not that of the machine: nothing is synced to disk.
func startEtcd(ctx context.Context, dir string, keys etcdCredentials) (*component, *embed.Etcd, error) {
	loopback := url.URL{Scheme: "https", Host: "127.0.0.1:0"}
	tls := transport.TLSInfo{
		CertFile: keys.peer.certificateFile, KeyFile: keys.peer.keyFile,
		TrustedCAFile: keys.ca.certificateFile, ClientCertAuth: true,
	}
	cfg := embed.NewConfig()
	cfg.Dir = dir
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{loopback}, []url.URL{loopback}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{loopback}, []url.URL{loopback}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.ClientTLSInfo, cfg.PeerTLSInfo = tls, tls
	cfg.UnsafeNoFsync = true
	cfg.QuotaBackendBytes = etcdQuota
	cfg.EnableGRPCGateway = false
	cfg.TickMs, cfg.ElectionMs = 20, 200 // one member elects itself: there is nobody to wait for
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(etcdLog("etcd"))

	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, nil, err
	}
	etcd := run("etcd", func(ctx context.Context) error {
		defer server.Close()
		select {
		case err := <-server.Err():
			return err
		case <-server.Server.StopNotify():
			return errors.New("the server stopped")
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	select {
	case <-server.Server.ReadyNotify():
	case <-etcd.done:
		return nil, nil, etcd.err
	case <-ctx.Done():
		return nil, nil, errors.Join(context.Cause(ctx), etcd.stop())
	}
	return etcd, server, nil
}
