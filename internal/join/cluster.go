package join

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/internal/azure"
)

// The namespaces of the door's objects: where Kubernetes looks for bootstrap tokens, and where nothing but records is.
const (
	tokens    = "kube-system"
	namespace = "sluice-join"
)

// The groups that tokens make their bearers members of. The rights of each stand in deploy/join.yaml, or come with k3s.
var tokenGroups = map[string]string{Kubeadm: "system:bootstrappers:sluice", K3s: "system:bootstrappers:k3s:default-node-token"}

// What marks the door's objects.
const (
	recordLabel  = "sluice.dev/join"
	recordPrefix = "sluice-join-"
)

// credentials are what every machine gets beside its token.
type credentials struct {
	server, ca, hash, group, k3s string
}

func newCredentials(o Options) (credentials, error) {
	block, _ := pem.Decode(o.CA)
	if block == nil {
		return credentials{}, errors.New("the cluster's certificate authority is no PEM certificate")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return credentials{}, errors.New("the cluster's certificate authority cannot be read")
	}
	if !strings.HasPrefix(o.Server, "https://") {
		return credentials{}, fmt.Errorf("the cluster's server is %q: give its address, such as https://10.10.0.4:6443", o.Server)
	}
	key, whole := sha256.Sum256(c.RawSubjectPublicKeyInfo), sha256.Sum256(o.CA)
	return credentials{
		server: o.Server, ca: string(o.CA), hash: "sha256:" + hex.EncodeToString(key[:]), group: tokenGroups[o.Distribution],
		k3s: "K10" + hex.EncodeToString(whole[:]) + "::",
	}, nil
}

// cluster is what the door keeps in the API server.
type cluster struct {
	client kubernetes.Interface
	given  credentials
}

// record is what is known of a machine that was given a token. It holds no secret.
type record struct {
	object                             *corev1.ConfigMap // as it was read; nil before
	vmID, node, machine, address, pool string
	token                              string // its id, while there is one
	created, given, expires            time.Time
	gives                              int
	certified                          bool // a certificate of a kubelet was approved
	joined                             bool
}

func (r *record) encode() *corev1.ConfigMap {
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: recordPrefix + r.vmID, Labels: map[string]string{recordLabel: "record"}}}
	if r.object != nil {
		o.ResourceVersion = r.object.ResourceVersion
	}
	at := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	o.Data = map[string]string{
		"node": r.node, "machine": r.machine, "address": r.address, "pool": r.pool, "token": r.token, "created": at(r.created), "given": at(r.given), "expires": at(r.expires),
		"gives": strconv.Itoa(r.gives), "certified": strconv.FormatBool(r.certified), "joined": strconv.FormatBool(r.joined),
	}
	return o
}

func decode(o *corev1.ConfigMap) *record {
	at := func(key string) time.Time {
		t, _ := time.Parse(time.RFC3339, o.Data[key]) // one that somebody has spoilt is long ago
		return t
	}
	gives, _ := strconv.Atoi(o.Data["gives"])
	return &record{
		object: o, vmID: strings.TrimPrefix(o.Name, recordPrefix), node: o.Data["node"], machine: o.Data["machine"], address: o.Data["address"], pool: o.Data["pool"],
		token: o.Data["token"], created: at("created"), given: at("given"), expires: at("expires"), gives: gives,
		certified: o.Data["certified"] == "true", joined: o.Data["joined"] == "true",
	}
}

// unavailable is a refusal for what the API server did not do.
func unavailable(doing string, err error) *refusal {
	r := refuse(ClusterUnavailable, "the API server cannot be asked now")
	r.detail = doing + ": " + err.Error()
	r.person = apierrors.IsForbidden(err)
	return r
}

// give makes a token for a machine that has not joined. A machine that asks again before it has, since an answer was lost or it was started anew, gets another
// token, and the one before ends.
func (c *cluster) give(ctx context.Context, m azure.Arrival, now time.Time, life time.Duration) (*Answer, *refusal) {
	r := &record{vmID: m.UID}
	object, err := c.client.CoreV1().ConfigMaps(namespace).Get(ctx, recordPrefix+m.UID, metav1.GetOptions{})
	switch {
	case err == nil:
		r = decode(object)
	case !apierrors.IsNotFound(err):
		return nil, unavailable("read the machine's record", err)
	}
	if r.joined || r.certified {
		return nil, refuse(AlreadyJoined, "the machine has joined: it gets nothing more")
	}
	node, err := c.client.CoreV1().Nodes().Get(ctx, m.Name, metav1.GetOptions{})
	switch {
	case err == nil && !ownNode(node, m.ID, m.Created):
		return nil, refuse(NameTaken, "there is a node %s of an earlier machine", m.Name)
	case err == nil:
		if fault := c.joined(ctx, r); fault != nil && r.object != nil {
			return nil, unavailable("write the machine's record", fault)
		}
		return nil, refuse(AlreadyJoined, "the machine is node %s: it gets nothing more", m.Name)
	case !apierrors.IsNotFound(err):
		return nil, unavailable("read the node", err)
	}
	if r.gives >= mostGives {
		return nil, refuse(TokensSpent, "the machine was given %d tokens and has not joined (limit %d)", r.gives, mostGives)
	}
	before := r.token
	id, secret := word(6), word(16)
	r.node, r.machine, r.address, r.pool, r.created = m.Name, m.ID, m.Address.String(), m.ScaleSet, m.Created
	r.token, r.given, r.expires, r.gives = id, now, now.Add(life), r.gives+1
	if refused := c.keep(ctx, r); refused != nil {
		return nil, refused
	}
	if before != "" {
		if err := c.end(ctx, before); err != nil {
			return nil, unavailable("delete the machine's earlier token", err)
		}
	}
	if err := c.create(ctx, r, secret); err != nil {
		return nil, unavailable("make a token", err)
	}
	return &Answer{
		Node: r.node, Server: c.given.server, CACertificate: c.given.ca, CAHash: c.given.hash, Token: id + "." + secret, K3sToken: c.given.k3s + id + "." + secret,
		Expires: r.expires.UTC().Format(time.RFC3339),
	}, nil
}

// apart is how far the clocks of Azure and of the API server may be from each other.
const apart = 5 * time.Minute

// ownNode says whether a node is that of a machine, and not of an earlier one of its name. Where they are taken for one by mistake, the machine gets nothing.
func ownNode(node *corev1.Node, machine string, created time.Time) bool {
	if id, ok := strings.CutPrefix(node.Spec.ProviderID, "azure://"); ok && !strings.EqualFold(id, machine) {
		return false
	}
	return !node.CreationTimestamp.Time.Before(created.Add(-apart))
}

// keep writes a record. It is the lock: of two who do so for one machine, one fails.
func (c *cluster) keep(ctx context.Context, r *record) *refusal {
	var err error
	if r.object == nil {
		r.object, err = c.client.CoreV1().ConfigMaps(namespace).Create(ctx, r.encode(), metav1.CreateOptions{})
	} else {
		r.object, err = c.client.CoreV1().ConfigMaps(namespace).Update(ctx, r.encode(), metav1.UpdateOptions{})
	}
	switch {
	case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err):
		return refuse(Busy, "another request of the machine is being answered")
	case err != nil:
		return unavailable("write the machine's record", err)
	}
	return nil
}

// create makes the token that a record names. Kubernetes ends it at its time by itself where its token cleaner runs; the door does so in any case.
func (c *cluster) create(ctx context.Context, r *record, secret string) error {
	_, err := c.client.CoreV1().Secrets(tokens).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: tokens, Name: "bootstrap-token-" + r.token, Labels: map[string]string{recordLabel: "token"},
			Annotations: map[string]string{"sluice.dev/vm-id": r.vmID, "sluice.dev/node": r.node},
		},
		Type: corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{
			"description": "sluice: for " + r.node + " alone", "token-id": r.token, "token-secret": secret, "expiration": r.expires.UTC().Format(time.RFC3339),
			"usage-bootstrap-authentication": "true", "usage-bootstrap-signing": "true", "auth-extra-groups": c.given.group,
		},
	}, metav1.CreateOptions{})
	return err
}

// end deletes a token.
func (c *cluster) end(ctx context.Context, token string) error {
	err := c.client.CoreV1().Secrets(tokens).Delete(ctx, "bootstrap-token-"+token, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// ended ends a record's token, if it has one, and writes that down.
func (c *cluster) ended(ctx context.Context, r *record) error {
	if r.token != "" {
		if err := c.end(ctx, r.token); err != nil {
			return err
		}
		r.token = ""
	}
	return c.write(ctx, r)
}

// joined notes that the machine is a node, and ends its token.
func (c *cluster) joined(ctx context.Context, r *record) error {
	if r.object == nil {
		return nil
	}
	r.joined = true
	return c.ended(ctx, r)
}

// write is keep for who has looked at the record in this pass.
func (c *cluster) write(ctx context.Context, r *record) error {
	if refused := c.keep(ctx, r); refused != nil {
		return errors.New(refused.message + refused.detail)
	}
	return nil
}

// forget deletes a record whose machine is too old to be given anything.
func (c *cluster) forget(ctx context.Context, r *record) error {
	err := c.client.CoreV1().ConfigMaps(namespace).Delete(ctx, r.object.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &r.object.UID, ResourceVersion: &r.object.ResourceVersion},
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// records are all there are.
func (c *cluster) records(ctx context.Context) ([]*record, error) {
	list, err := c.client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{LabelSelector: recordLabel + "=record"})
	if err != nil {
		return nil, fmt.Errorf("list the records of machines: %w", err)
	}
	all := make([]*record, len(list.Items))
	for i := range list.Items {
		all[i] = decode(&list.Items[i])
	}
	return all, nil
}

// word is chance in n letters and digits, as tokens have them.
func word(n int) string {
	const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789"
	b := make([]byte, n)
	for i := range b {
		k, err := rand.Int(rand.Reader, big.NewInt(int64(len(alphabet))))
		if err != nil {
			panic(err) // crypto/rand does not fail
		}
		b[i] = alphabet[k.Int64()]
	}
	return string(b)
}
