package app

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/internal/azuresim"
)

// simulated is the simulated Azure as a container finds the real one: at its names and over TLS, by way of a proxy.
type simulated struct {
	*azuresim.Server
	proxy     string // its URL
	metadata  string // URL of the server's instance metadata
	authority []byte // that has signed its certificate, PEM
}

// authorities is where a machine has the certificate authorities that it trusts.
const authorities = "/etc/ssl/certs/ca-certificates.crt"

// The names of the public cloud.
var public = []string{"management.azure.com", "login.microsoftonline.com"}

const (
	subscription = "00000000-0000-0000-0000-000000000001"
	tenant       = "00000000-0000-0000-0000-000000000002"
	application  = "00000000-0000-0000-0000-000000000003"
	secret       = "the-applications-secret" // #nosec G101 -- of a simulator
	location     = "westeurope"
	size         = "Standard_D4s_v5"
	family       = "standardDSv5Family"
	first        = "first" // the deployment that made the pools
)

func newSimulated(t *testing.T) *simulated {
	t.Helper()
	s := &simulated{Server: &azuresim.Server{Boot: azuresim.Fixed(0), Delete: azuresim.Fixed(100 * time.Millisecond), RetryAfter: time.Second, TenantID: tenant}}
	for _, err := range []error{
		s.AddServicePrincipal(azuresim.ServicePrincipal{TenantID: tenant, ClientID: application, Secret: secret}),
		s.AddMachine(azuresim.Machine{Subscription: subscription, ResourceGroup: "servers", Name: server, Location: location, SystemAssigned: true}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	metadata := httptest.NewServer(s.Metadata(server))
	t.Cleanup(metadata.Close)
	s.metadata = metadata.URL

	behind := &tunnel{conns: make(chan net.Conn), closed: make(chan struct{})}
	certificate := s.certify(t)
	serves := &http.Server{
		Handler: s.Server, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0),
	}
	var serve sync.WaitGroup
	serve.Go(func() {
		if err := serves.ServeTLS(behind, "", ""); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	proxy := httptest.NewServer(behind)
	s.proxy = proxy.URL
	t.Cleanup(func() {
		proxy.Close()
		if err := serves.Close(); err != nil {
			t.Error(err)
		}
		serve.Wait()
	})
	return s
}

// certify makes a certificate for the names of the public cloud, which is its own authority.
func (s *simulated) certify(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: public, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	s.authority = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}

// tunnel is an HTTP proxy to the public cloud and nowhere else, and the listener of who is behind it.
type tunnel struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *tunnel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect || r.Host != public[0]+":443" && r.Host != public[1]+":443" {
		http.Error(w, "the public cloud alone is behind this proxy", http.StatusBadGateway)
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n")
	select {
	case p.conns <- conn:
	case <-p.closed:
		_ = conn.Close()
	}
}

func (p *tunnel) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *tunnel) Close() error   { close(p.closed); return nil }
func (p *tunnel) Addr() net.Addr { return &net.TCPAddr{} }

// resources is the resource group of a manifest's groups.
func (m incumbent) resources() string {
	if m.servers {
		return "servers"
	}
	return "Farm-" + m.manifest
}

// series is what the names of a pool's machines begin with. Its digits tell the manifests apart, whose pools have the same names.
func (m incumbent) series(g group) string {
	return fmt.Sprintf("k8s-%s-%08d-", g.name, len(m.manifest))
}

// machines are those of a manifest's groups.
func (s *simulated) machines(m incumbent) (all []azuresim.MachineState) {
	for _, one := range s.Machines() {
		if one.ComputerName != server && strings.Contains(strings.ToLower(one.ID), strings.ToLower("/resourceGroups/"+m.resources()+"/")) {
			all = append(all, one)
		}
	}
	return all
}

// build makes a manifest's groups at their least size.
func (s *simulated) build(t *testing.T, m incumbent) {
	t.Helper()
	add := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	if !m.servers {
		add(s.AddResourceGroup(azuresim.ResourceGroup{Subscription: subscription, Name: m.resources(), Location: location}))
	}
	for _, g := range m.groups {
		if !m.pools {
			add(s.AddScaleSet(azuresim.ScaleSet{
				Subscription: subscription, ResourceGroup: m.resources(), Name: g.name, Location: location, Size: size, VCPUs: 4, Family: family, Capacity: g.min, Tags: g.tags,
				ComputerNamePrefix: m.manifest + "-" + g.name + "-",
			}))
			continue
		}
		add(s.AddAvailabilitySet(azuresim.AvailabilitySet{Subscription: subscription, ResourceGroup: m.resources(), Name: g.name + "-set", Location: location}))
		for n := range g.min {
			add(s.AddMachine(azuresim.Machine{
				Subscription: subscription, ResourceGroup: m.resources(), Name: fmt.Sprint(m.series(g), n), Location: location,
				Size: size, VCPUs: 4, Family: family, AvailabilitySet: g.name + "-set", Tags: map[string]string{"poolName": g.name},
			}))
		}
	}
	if m.pools {
		parameters, err := json.Marshal(m.parameters())
		if err != nil {
			t.Fatal(err)
		}
		add(s.AddDeployment(azuresim.Deployment{
			Subscription: subscription, ResourceGroup: m.resources(), Name: first, Template: m.template(), Parameters: parameters,
		}))
	}
}

// parameters are those of the deployment that made the pools.
func (m incumbent) parameters() map[string]any {
	all := map[string]any{"password": map[string]any{"value": "of-the-machines"}}
	for _, g := range m.groups {
		all[g.name+"Count"] = map[string]any{"value": g.min}
	}
	return all
}

// template is that of the deployment.
func (m incumbent) template() json.RawMessage {
	parameters, resources := []string{`"password":{"type":"secureString"}`}, []string{}
	for _, g := range m.groups {
		parameters = append(parameters, fmt.Sprintf(`"%[1]sCount":{"type":"int"},"%[1]sOffset":{"type":"int","defaultValue":0}`, g.name))
		resources = append(resources, strings.NewReplacer("POOL", g.name, "NAME", fmt.Sprintf("concat('%s', copyIndex(parameters('%sOffset')))", m.series(g), g.name), "SIZE", size).Replace(`
 {"type":"Microsoft.Network/networkInterfaces","name":"[concat(NAME, '-nic')]","apiVersion":"2024-05-01","location":"[resourceGroup().location]",
  "copy":{"name":"POOLNics","count":"[sub(parameters('POOLCount'), parameters('POOLOffset'))]"},
  "properties":{"ipConfigurations":[{"name":"ipconfig1","properties":{"subnet":{"id":"/subscriptions/x/subnets/agents"}}}]}},
 {"type":"Microsoft.Compute/availabilitySets","name":"POOL-set","apiVersion":"2024-07-01","location":"[resourceGroup().location]","properties":{}},
 {"type":"Microsoft.Compute/virtualMachines","name":"[NAME]","apiVersion":"2024-07-01","location":"[resourceGroup().location]",
  "copy":{"name":"POOLVms","count":"[sub(parameters('POOLCount'), parameters('POOLOffset'))]"},"tags":{"poolName":"POOL"},
  "dependsOn":["[concat('Microsoft.Network/networkInterfaces/', NAME, '-nic')]","[resourceId('Microsoft.Compute/availabilitySets', 'POOL-set')]"],
  "properties":{"availabilitySet":{"id":"[resourceId('Microsoft.Compute/availabilitySets', 'POOL-set')]"},"hardwareProfile":{"vmSize":"SIZE"},
   "osProfile":{"computerName":"[NAME]","adminPassword":"[parameters('password')]"},
   "networkProfile":{"networkInterfaces":[{"id":"[resourceId('Microsoft.Network/networkInterfaces', concat(NAME, '-nic'))]"}]},
   "storageProfile":{"imageReference":{"id":"/images/linux"},"osDisk":{"createOption":"FromImage","name":"[concat(NAME, '-os')]","diskSizeGB":64}}}}`))
	}
	return json.RawMessage(`{"parameters":{` + strings.Join(parameters, ",") + `},"resources":[` + strings.Join(resources, ",") + `]}`)
}

// secrets are those that a manifest names, filled in by an operator.
func (s *simulated) secrets(t *testing.T, m incumbent, of *appsv1.Deployment) []*corev1.Secret {
	t.Helper()
	kind := "vmss"
	if m.pools {
		kind = "standard"
	}
	mounted, err := json.Marshal(map[string]any{"parameters": m.parameters()})
	if err != nil {
		t.Fatal(err)
	}
	name := "cluster-autoscaler-azure"
	if m.manifest == "chart" {
		name = of.Name
	}
	return []*corev1.Secret{
		{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{
			"SubscriptionID": subscription, "ResourceGroup": m.resources(), "TenantID": tenant, "ClientID": application, "ClientSecret": secret, "VMType": kind, "Deployment": first,
		}},
		{ObjectMeta: metav1.ObjectMeta{Name: "cluster-autoscaler-azure-deploy-parameters"}, Data: map[string][]byte{"deploy-parameters": mounted}},
	}
}
