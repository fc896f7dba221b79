// Package join is the door by which machines come into a cluster: a machine proves by Azure's attested document which machine it is, and gets a token that is good for
// that one machine and some minutes. No machine holds a secret before.
//
// The proof counts only together with what Resource Manager says now: the machine is in a pool, is young, has not joined, and the request comes from the
// address of its primary interface. Every process on a machine can have the document, pods on the host's network too; but no pod runs on a machine that is no node yet,
// and once it was one, the door gives it nothing more.
//
// A machine has one record, a ConfigMap named for its vmId, which says which token it was given and whether it has joined. Several replicas agree through it,
// and a restart forgets nothing. Challenges need no memory: they are signed with a key that is made of the door's own.
package join

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/internal/attest"
	"sluice.dev/sluice/internal/azure"
)

// Cloud is what the door asks of Azure. [azure.Arrivals] is one.
type Cloud interface {
	Subscription() string
	MachineID(id string) (group, set string, ok bool)
	Machine(ctx context.Context, id string) (azure.Arrival, error)
	Machines(ctx context.Context, group, set string) ([]azure.Arrival, error)
}

// The distributions that the door lets machines join.
const (
	K3s     = "k3s"
	Kubeadm = "kubeadm"
)

// Options say whom the door lets in, and into which cluster.
type Options struct {
	Client kubernetes.Interface
	Cloud  Cloud

	Groups       []string // resource groups whose machines may join
	Pools        []string // scale sets in them; none: all
	Distribution string   // K3s or Kubeadm
	Server       string   // of the cluster, as machines reach it: "https://10.10.0.4:6443"
	CA           []byte   // PEM, of that server; for k3s the bytes that it serves at /cacerts
	Age          time.Duration
	Life         time.Duration // of a token
	Key          []byte        // that challenges are signed with: the same in all replicas

	Roots         *x509.CertPool
	Intermediates []*x509.Certificate
	IssuersFrom   string            // where certificates of issuers are fetched, in place of https://www.microsoft.com/pkiops/certs; "" fetches none
	Transport     http.RoundTripper // for that; nil means connections of its own

	Now func() time.Time // nil means time.Now
	Log *slog.Logger     // nil discards
}

// Limits of what strangers can have the door do.
const (
	mostBody    = 64 << 10
	mostAtOnce  = 256         // requests that are judged, each of mostBody
	patience    = time.Minute // for one, all that is asked of others included
	mostGives   = 5           // tokens for one machine that has not joined
	DefaultAge  = 30 * time.Minute
	DefaultLife = 10 * time.Minute
)

// Door is an open one. It is safe for concurrent use.
type Door struct {
	o          Options
	challenges *challenges
	rates      *rates[netip.Addr]
	attempts   *rates[string] // by vmId
	issuers    *issuers
	machines   *machines
	cluster    *cluster
	metrics    *metrics
	told       *told
	judging    chan struct{}
	gave       chan struct{} // holds one where a token was given since the door looked last

	turns sync.Mutex
	turn  string // whose requests for serving certificates were looked at last
}

// New makes a door. It asks nobody anything.
func New(o Options) (*Door, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Age == 0 {
		o.Age = DefaultAge
	}
	if o.Life == 0 {
		o.Life = DefaultLife
	}
	switch {
	case o.Distribution != K3s && o.Distribution != Kubeadm:
		return nil, fmt.Errorf("distribution %q is unknown: give k3s or kubeadm", o.Distribution)
	case len(o.Groups) == 0:
		return nil, errors.New("no resource group is named whose machines may join")
	case o.Age < time.Minute, o.Life < time.Minute:
		return nil, errors.New("a machine's age and a token's life are at least a minute")
	case len(o.Key) < 16:
		return nil, errors.New("the key that challenges are signed with has fewer than 16 bytes")
	}
	given, err := newCredentials(o)
	if err != nil {
		return nil, err
	}
	return &Door{
		o: o, challenges: newChallenges(o.Key, o.Now), rates: newRates[netip.Addr](ofAddress, o.Now), attempts: newRates[string](ofMachine, o.Now), issuers: newIssuers(o), machines: newMachines(o.Cloud, o.Now),
		cluster: &cluster{client: o.Client, given: given}, metrics: newMetrics(), told: newTold(o.Now),
		judging: make(chan struct{}, mostAtOnce), gave: make(chan struct{}, 1),
	}, nil
}

// The paths of the protocol, version 1.
const (
	ChallengePath = "/join/v1/challenge"
	JoinPath      = "/join/v1/join"
)

// request is what a machine posts to JoinPath.
type request struct {
	Nonce      string `json:"nonce"`
	ResourceID string `json:"resourceId"`
	Document   struct {
		Encoding  string `json:"encoding"`
		Signature string `json:"signature"`
	} `json:"document"`
}

// Answer is what a machine that may join gets.
type Answer struct {
	Node          string `json:"node"`
	Server        string `json:"server"`
	CACertificate string `json:"caCertificate"`
	CAHash        string `json:"caHash"` // of the certificate's public key, as kubeadm wants it
	Token         string `json:"token"`
	K3sToken      string `json:"k3sToken"`
	Expires       string `json:"expires"`
}

// ServeHTTP implements [http.Handler].
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		panic(http.ErrAbortHandler) // net/http always says it of TCP
	}
	source := from.Addr().Unmap().WithZone("")
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	var body any
	var refused *refusal
	var asked request
	switch {
	case r.URL.Path != ChallengePath && r.URL.Path != JoinPath:
		http.NotFound(w, r)
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "POST it", http.StatusMethodNotAllowed)
		return
	case !d.rates.take(source):
		refused = refuse(TooManyRequests, "%s asks too often", source)
	case r.URL.Path == ChallengePath:
		body = map[string]string{"nonce": d.challenges.make(source)}
	default:
		if refused = asked.read(w, r); refused == nil {
			body, refused = d.judge(ctx, asked, source)
		}
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	if refused != nil {
		d.refuse(ctx, refused, source, asked.ResourceID)
		row := rows[refused.code]
		if row.retry > 0 {
			h.Set("Retry-After", strconv.Itoa(int(max(row.retry, refused.wait)/time.Second)))
		}
		w.WriteHeader(row.status)
		body = map[string]string{"code": string(refused.code), "message": refused.message}
	}
	_ = json.NewEncoder(w).Encode(body) // who hung up hears nothing
}

func (q *request) read(w http.ResponseWriter, r *http.Request) *refusal {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return refuse(RequestTooLarge, "the request has more than %d KiB", mostBody>>10)
	case err != nil || json.Unmarshal(raw, q) != nil:
		return refuse(RequestUnreadable, "the request is not the JSON of the protocol")
	case q.Document.Encoding != "pkcs7":
		return refuse(RequestUnreadable, "the document's encoding is %.20q (only pkcs7 is known)", q.Document.Encoding)
	}
	return nil
}

// judge looks at a request, cheapest first. What it asks of Azure rests on a document that Azure has signed.
func (d *Door) judge(ctx context.Context, q request, source netip.Addr) (any, *refusal) {
	select {
	case d.judging <- struct{}{}:
		defer func() { <-d.judging }()
	default:
		return nil, refuse(Busy, "%d requests are being judged", mostAtOnce)
	}
	if r := d.challenges.check(q.Nonce, source); r != nil {
		return nil, r
	}
	claims, r := d.verify(ctx, q)
	if r != nil {
		return nil, r
	}
	// This comes first, so that no machine fills the memory of challenges.
	if !d.attempts.take(claims.VMID) {
		return nil, refuse(TooManyRequests, "machine %s asks too often", claims.VMID)
	}
	if r := d.challenges.use(q.Nonce); r != nil {
		return nil, r
	}
	m, r := d.machine(ctx, q.ResourceID, claims.VMID, source)
	if r != nil {
		return nil, r
	}
	g, r := d.cluster.give(ctx, m, d.o.Now(), d.o.Life)
	if r != nil {
		return nil, r
	}
	select {
	case d.gave <- struct{}{}:
	default:
	}
	d.metrics.given.Inc()
	d.o.Log.Info("let a machine join", "node", g.Node, "machine", m.ID, "from", source, "token", g.Token[:6], "expires", g.Expires)
	return g, nil
}

// verify is the proof by the document alone. Certificates of issuers are fetched only for one that is right in all else.
func (d *Door) verify(ctx context.Context, q request) (attest.Claims, *refusal) {
	o := attest.Options{
		Roots: d.o.Roots, Intermediates: d.o.Intermediates, Now: d.o.Now(), Nonce: q.Nonce, Subscription: d.o.Cloud.Subscription(),
	}
	document, err := attest.Parse(q.Document.Signature)
	if err != nil {
		return attest.Claims{}, ofDocument(err)
	}
	claims, err := document.Verify(o)
	var refused *attest.Error
	if errors.As(err, &refused) && refused.Missing && d.o.IssuersFrom != "" {
		fetched, fault := d.issuers.fetch(ctx, document.Signer)
		if fault != nil {
			return claims, refuse(IssuerUnavailable, "%s; its certificate cannot be fetched: %v", refused.Message, fault)
		}
		o.Intermediates = append(slices.Clone(o.Intermediates), fetched...)
		claims, err = document.Verify(o)
	}
	if err != nil {
		return claims, ofDocument(err)
	}
	return claims, nil
}

// ofDocument is a refusal of package attest. Its codes are rows of the table, too.
func ofDocument(err error) *refusal {
	var refused *attest.Error
	if !errors.As(err, &refused) {
		return refuse(Code(attest.Unreadable), "the document cannot be read")
	}
	return refuse(Code(refused.Code), "%s", refused.Message)
}

// label is a name that a node can have.
var label = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$`)

// machine holds the claims against what Resource Manager says.
func (d *Door) machine(ctx context.Context, id, vmID string, source netip.Addr) (azure.Arrival, *refusal) {
	group, set, ok := d.o.Cloud.MachineID(id)
	if !ok {
		return azure.Arrival{}, refuse(MachineID, "the resource id names no machine of the subscription")
	}
	if !has(d.o.Groups, group) || set != "" && len(d.o.Pools) > 0 && !has(d.o.Pools, set) {
		return azure.Arrival{}, refuse(MachineGroup, "the machine is in resource group %s%s, whose machines may not join", group, inSet(set))
	}
	m, err := d.machines.find(ctx, id, vmID, d.metrics)
	if err != nil {
		return azure.Arrival{}, ofCloud(err)
	}
	age := d.o.Now().Sub(m.Created)
	switch {
	case m.UID != vmID:
		return m, refuse(MachineOther, "the document is of another machine than the resource id")
	case m.ScaleSet == "" || len(d.o.Pools) > 0 && !has(d.o.Pools, m.ScaleSet):
		return m, refuse(MachineGroup, "the machine is in resource group %s%s, whose machines may not join", group, inSet(m.ScaleSet))
	case m.Address != source:
		return m, refuse(AddressOther, "the request comes from %s, the machine has %s", source, m.Address)
	case age > d.o.Age:
		return m, refuse(MachineOld, "the machine was made %s ago (limit %s)", age.Round(time.Second), d.o.Age)
	case !label.MatchString(m.Name):
		return m, refuse(MachineName, "the computer name %.64q is no name for a node", m.Name)
	}
	return m, nil
}

func inSet(set string) string {
	if set == "" {
		return ", and in no scale set"
	}
	return ", scale set " + set
}

func has(all []string, one string) bool {
	return slices.ContainsFunc(all, func(s string) bool { return strings.EqualFold(s, one) })
}

// ofCloud is a refusal for what Azure did not answer.
func ofCloud(err error) *refusal {
	var said *cloud.Error
	if !errors.As(err, &said) {
		return refuse(AzureUnavailable, "Azure cannot be asked about the machine")
	}
	if said.Kind == cloud.NotFound {
		return refuse(MachineUnknown, "Azure knows no such machine")
	}
	r := refuse(AzureUnavailable, "Azure cannot be asked about the machine (%s)", said.Code)
	r.wait, r.person, r.detail = min(said.RetryAfter, 5*time.Minute), said.Kind == cloud.Unauthorized, said.Message
	return r
}
