// Package k3sim is a stand-in of K3s's supervisor: it lets agents join in front of a real API server, by the routes, tokens, certificates and
// refusals of K3s, and does with Node objects what K3s's controllers do. Nothing that passes against it was tried on K3s.
//
// Its facts are those of K3s's main branch of 2026-07-28, for Kubernetes 1.36.3, as it behaved when it was run, and as its source says where it
// was not seen. It has no etcd member of its own, no servicelb, no tunnel and no kubelet: [Agent] plays what of an agent meets the supervisor.
package k3sim

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Version is what kubelets of such a server say they are.
const Version = "v1.36.3+k3s1"

// The names by which static tokens sign in.
const (
	userNode   = "node"
	userServer = "server"
)

// Options say how a server is started.
type Options struct {
	// API is an administrator's configuration of the API server that stands behind. Bootstrap tokens are tokens there, too.
	API *rest.Config

	// Token is the servers' static token, as of --token. AgentToken is the agents', as of --agent-token; "" means that they have the servers'.
	Token, AgentToken string

	// DisableCloudController is --disable-cloud-controller.
	DisableCloudController bool

	// Now says when certificates begin; nil means time.Now. Whether a bootstrap token has expired is judged by the API server, and its clock.
	Now func() time.Time

	// Log is given the lines that a server's log would have; nil means that they are lost.
	Log func(line string)
}

// Server is a supervisor that runs. Its methods may be called from several goroutines.
type Server struct {
	options  Options
	client   kubernetes.Interface
	url      string
	serverCA *authority // of what listens: this server, and kubelets
	clientCA *authority // of who asks
	http     *http.Server

	idle  atomic.Bool // its controllers do not run
	nodes *controllers
	stop  context.CancelFunc
	ended sync.WaitGroup
}

// Start has a server listen on a free port of 127.0.0.1 until [Server.Stop]. Its controllers run.
func Start(o Options) (*Server, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.AgentToken == "" {
		o.AgentToken = o.Token
	}
	client, err := kubernetes.NewForConfig(o.API)
	if err != nil {
		return nil, err
	}
	s := &Server{options: o, client: client}
	if s.serverCA, err = newAuthority("k3s-server-ca", o.Now()); err != nil {
		return nil, err
	}
	if s.clientCA, err = newAuthority("k3s-client-ca", o.Now()); err != nil {
		return nil, err
	}
	own, err := s.serverCA.own(o.Now())
	if err != nil {
		return nil, err
	}
	api, err := newProxy(o.API)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.url = "https://" + listener.Addr().String()
	s.http = &http.Server{
		Handler:           s.routes(api),
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0), // a first try without this server's authority is expected to fail
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{own},
			ClientAuth:   tls.RequestClientCert, // it is verified where somebody asks who it is: a bad one is 401, and no broken connection
			MinVersion:   tls.VersionTLS12,
		},
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	if s.nodes, err = s.runControllers(ctx); err != nil {
		cancel()
		return nil, errors.Join(err, listener.Close())
	}
	s.ended.Go(func() { _ = s.http.ServeTLS(listener, "", "") })
	return s, nil
}

// Stop ends the server and waits for it. Who is connected is cut off.
func (s *Server) Stop() {
	s.stop()
	_ = s.http.Close()
	s.ended.Wait()
}

// URL is where the supervisor listens, and the API with it.
func (s *Server) URL() string { return s.url }

// CACerts is what the server answers at /cacerts.
func (s *Server) CACerts() []byte { return s.serverCA.bundle() }

// Kubeconfig is what a server writes to /etc/rancher/k3s/k3s.yaml: an administrator's.
func (s *Server) Kubeconfig() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	subject := pkix.Name{Organization: []string{"system:masters"}, CommonName: "system:admin"}
	leaf, err := s.clientCA.leaf(subject, x509.ExtKeyUsageClientAuth, nil, nil, key.Public(), s.options.Now())
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	const name = "default"
	return clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {Server: s.url, CertificateAuthorityData: s.CACerts()}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {
			ClientCertificateData: inPEM(leaf), ClientKeyData: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}),
		}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	})
}

// Pause has the server's controllers do nothing until it is called with false, as while no server of K3s runs: Node objects get no finalizers
// then, and keep those that they have.
func (s *Server) Pause(is bool) {
	s.idle.Store(is)
	if !is {
		s.nodes.again()
	}
}

// routes are those of the port: the supervisor's, and the API for all the rest.
func (s *Server) routes(api *proxy) http.Handler {
	agents := func(h http.HandlerFunc) http.HandlerFunc {
		return s.only(h, groupAgent, groupNodes, groupBootstrappers)
	}
	servers := func(h http.HandlerFunc) http.HandlerFunc { return s.only(h, groupServer) }
	m := http.NewServeMux()
	m.HandleFunc("/ping", text("pong"))
	m.HandleFunc("/cacerts", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(s.serverCA.bundle()) })
	m.HandleFunc("/v1-k3s/config", agents(s.config))
	m.HandleFunc("/v1-k3s/apiservers", agents(s.apiServers))
	m.HandleFunc("/v1-k3s/readyz", agents(text("ok")))
	m.HandleFunc("/v1-k3s/server-ca.crt", agents(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(s.serverCA.bundle()) }))
	m.HandleFunc("/v1-k3s/client-ca.crt", agents(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(s.clientCA.bundle()) }))
	m.HandleFunc("/v1-k3s/serving-kubelet.crt", agents(s.servingKubelet))
	m.HandleFunc("/v1-k3s/client-kubelet.crt", agents(s.clientKubelet))
	m.HandleFunc("/v1-k3s/server-bootstrap", servers(func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, http.StatusBadRequest, errors.New("etcd disabled"))
	}))
	m.HandleFunc("/", s.behind(api))
	return m
}

func text(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

// config is what agents are told of the cluster: the fields that they act on.
func (s *Server) config(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, Config{DisableCCM: s.options.DisableCloudController, FlannelBackend: "vxlan", ClusterIPRange: "10.42.0.0/16"})
}

// Config is the part of the answer at /v1-k3s/config that is known.
type Config struct {
	DisableCCM     bool
	FlannelBackend string
	ClusterIPRange string
}

func (s *Server) apiServers(w http.ResponseWriter, r *http.Request) {
	answer(w, http.StatusOK, []string{r.Host})
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // whoever does not read it has gone
}

// refuse answers with an error as Kubernetes words one, and logs it.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, code int, err error) {
	s.logf("level=error msg=\"Sending HTTP %d response to %s: %v\"", code, r.RemoteAddr, err)
	reasons := map[int]metav1.StatusReason{
		http.StatusBadRequest: metav1.StatusReasonBadRequest, http.StatusUnauthorized: metav1.StatusReasonUnauthorized,
		http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusInternalServerError: metav1.StatusReasonInternalError,
	}
	answer(w, code, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Message: err.Error(), Reason: reasons[code], Code: int32(code), //nolint:gosec // a status code
	})
}
