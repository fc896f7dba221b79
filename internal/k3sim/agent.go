package k3sim

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Agent plays what of an agent of K3s meets a supervisor: it fetches its certificates and registers its node. The fields say how it is started.
type Agent struct {
	Server string // URL of a supervisor
	Token  string

	Host       string // the machine's name, in any letter case; the node's is in lower case
	WithNodeID bool   // --with-node-id
	IP         string
	UUID       string // of the machine, as its firmware tells it

	Labels        map[string]string // --node-label
	ProviderID    string            // --kubelet-arg=provider-id
	ExternalCloud bool              // --kubelet-arg=cloud-provider=external

	Disk *Disk // of the machine; what [Agent.Join] finds there it uses again
}

// Disk is what of an agent outlives its process. The zero value is a new machine's.
type Disk struct {
	Password, ID string // /etc/rancher/node/password and id

	// ClientCert and ClientKey are agent/client-kubelet.crt and .key of the data folder, the serving ones those of serving-kubelet.
	ClientCert, ClientKey, ServingCert, ServingKey []byte
}

// Node is the name of the agent's node.
func (a *Agent) Node() string {
	name := strings.ToLower(a.Host)
	if a.WithNodeID {
		name += "-" + a.Disk.ID
	}
	return name
}

// Join is one try to join: what an agent does between its start and the Node object, which is then there and Ready. An agent repeats a try that
// fails about every ten seconds, for ever; the error is what it logs.
func (a *Agent) Join(ctx context.Context) error {
	t, err := parseToken(a.Token)
	if err != nil {
		return err
	}
	bundle, err := a.trust(ctx, t)
	if err != nil {
		return err
	}
	var config Config
	answer, err := a.get(ctx, t, bundle, "config")
	if err != nil {
		return fmt.Errorf("failed to retrieve configuration from server: %w", err)
	}
	if err := json.Unmarshal(answer, &config); err != nil {
		return err
	}
	if a.Disk.Password == "" {
		a.Disk.Password = random(16)
	}
	if a.Disk.ID == "" {
		a.Disk.ID = random(4)
	}
	certificate, key, err := a.fetch(ctx, t, bundle, "serving-kubelet.crt")
	if err != nil {
		return err
	}
	a.Disk.ServingCert, a.Disk.ServingKey = certificate, key
	if certificate, key, err = a.fetch(ctx, t, bundle, "client-kubelet.crt"); err != nil {
		return err
	}
	a.Disk.ClientCert, a.Disk.ClientKey = certificate, key
	return a.register(ctx, bundle, config)
}

// trust fetches the server's authority, and holds it to the token.
func (a *Agent) trust(ctx context.Context, t token) ([]byte, error) {
	unverified := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the token's hash is what verifies, as in K3s
	}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.Server+"/cacerts", nil)
	if err != nil {
		return nil, err
	}
	bundle, err := do(unverified, r)
	if err != nil {
		return nil, fmt.Errorf("failed to get CA certs: %w", err)
	}
	return bundle, t.trusts(bundle)
}

// client trusts the server's authority, and shows the client certificate that is on the disk.
func (a *Agent) client(bundle []byte) *http.Client {
	config := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	config.RootCAs.AppendCertsFromPEM(bundle)
	if pair, err := tls.X509KeyPair(a.Disk.ClientCert, a.Disk.ClientKey); err == nil {
		config.Certificates = []tls.Certificate{pair}
	}
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: config}}
}

func (a *Agent) get(ctx context.Context, t token, bundle []byte, path string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.Server+"/v1-k3s/"+path, nil)
	if err != nil {
		return nil, err
	}
	t.sign(r)
	return do(a.client(bundle), r)
}

func do(c *http.Client, r *http.Request) ([]byte, error) {
	resp, err := c.Do(r)
	if err != nil {
		return nil, err
	}
	return taken(r, resp)
}

func taken(r *http.Request, resp *http.Response) ([]byte, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", r.URL, resp.Status)
	}
	return body, err
}

// fetch has a new key certified. NB: the second try after a 401 sends the same request again, whose body was read: it fails in the client, as in
// K3s at that commit. That is why an agent never joins whose Node was deleted and whose data folder was kept.
func (a *Agent) fetch(ctx context.Context, t token, bundle []byte, path string) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, private)
	if err != nil {
		return nil, nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.Server+"/v1-k3s/"+path, bytes.NewReader(request))
	if err != nil {
		return nil, nil, err
	}
	t.sign(r)
	r.Header.Set(headerName, a.Node())
	r.Header.Set(headerPassword, a.Disk.Password)
	r.Header.Set(headerIP, a.IP)
	client := a.client(bundle)
	resp, err := client.Do(r)
	if err != nil {
		return nil, nil, err
	}
	if shows := client.Transport.(*http.Transport).TLSClientConfig; resp.StatusCode == http.StatusUnauthorized && len(shows.Certificates) > 0 {
		resp.Body.Close()
		again := shows.Clone()
		again.Certificates = nil
		client.Transport = &http.Transport{DisableKeepAlives: true, TLSClientConfig: again}
		if resp, err = client.Do(r); err != nil {
			return nil, nil, err
		}
	}
	if resp.StatusCode == http.StatusForbidden {
		resp.Body.Close()
		return nil, nil, errors.New("Node password rejected, duplicate hostname or contents of '/etc/rancher/node/password' may not match server " +
			"node-passwd entry, try enabling a unique node name with the --with-node-id flag")
	}
	if certificate, err = taken(r, resp); err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalECPrivateKey(private)
	return certificate, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), err
}

// Kubelet is a configuration of the API with the node's own client certificate.
func (a *Agent) Kubelet(bundle []byte) *rest.Config {
	return &rest.Config{Host: a.Server, TLSClientConfig: rest.TLSClientConfig{CAData: bundle, CertData: a.Disk.ClientCert, KeyData: a.Disk.ClientKey}}
}

// register makes the Node object, or takes over the one of its name, and reports it Ready, as a kubelet does when it starts.
func (a *Agent) register(ctx context.Context, bundle []byte, config Config) error {
	client, err := kubernetes.NewForConfig(a.Kubelet(bundle))
	if err != nil {
		return err
	}
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: a.Node(), Labels: map[string]string{
			corev1.LabelHostname: a.Node(), corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux",
		}, Annotations: a.annotations()},
		Spec: corev1.NodeSpec{ProviderID: a.ProviderID},
	}
	maps.Copy(n.Labels, a.Labels)
	if a.ExternalCloud || !config.DisableCCM {
		n.Spec.Taints = []corev1.Taint{{Key: uninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule}}
	}
	if _, err := client.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("unable to register node with API server: %w", err)
	}
	return a.Beat(ctx)
}

// annotations are those that an agent sets on its node. They name no secret.
func (a *Agent) annotations() map[string]string {
	args := []string{"agent", "--server", a.Server, "--token", "********"}
	if a.ProviderID != "" {
		args = append(args, "--kubelet-arg", "provider-id="+a.ProviderID)
	}
	for _, key := range slices.Sorted(maps.Keys(a.Labels)) {
		args = append(args, "--node-label", key+"="+a.Labels[key])
	}
	text, err := json.Marshal(args)
	if err != nil {
		panic("k3sim: marshal strings: " + err.Error()) // strings always marshal
	}
	sum := sha256.Sum256(text)
	return map[string]string{
		"k3s.io/hostname": a.Host, "k3s.io/internal-ip": a.IP, "k3s.io/node-args": string(text), "k3s.io/node-env": "{}",
		"k3s.io/node-config-hash": base32.StdEncoding.EncodeToString(sum[:]),
	}
}

// Beat reports the node's status. A node that is not there is an error, and a kubelet that runs does not make it again: [Agent.Join] does.
func (a *Agent) Beat(ctx context.Context) error {
	bundle, err := a.trust(ctx, token{})
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(a.Kubelet(bundle))
	if err != nil {
		return err
	}
	now := metav1.Now()
	full := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("110")}
	body, err := json.Marshal(map[string]any{"status": corev1.NodeStatus{
		Capacity: full, Allocatable: full,
		Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: a.IP}, {Type: corev1.NodeHostName, Address: a.Node()}},
		NodeInfo:   corev1.NodeSystemInfo{SystemUUID: a.UUID, KubeletVersion: Version, OperatingSystem: "linux", Architecture: "amd64"},
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: now, LastTransitionTime: now}},
	}})
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Nodes().Patch(ctx, a.Node(), types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
	return err
}

// random is that many bytes in hexadecimal.
func random(bytes int) string {
	b := make([]byte, bytes)
	if _, err := rand.Read(b); err != nil {
		panic("k3sim: " + err.Error()) // never, says crypto/rand
	}
	return hex.EncodeToString(b)
}
