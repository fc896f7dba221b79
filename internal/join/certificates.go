package join

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	certificates "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/internal/azure"
)

// The users that kubelets have: by a token, and by their certificate.
const (
	byToken = "system:bootstrap:"
	byNode  = "system:node:"
)

// How many requests are looked at in a pass. Of serving certificates each asks Azure.
const (
	mostOfAsker = 2
	mostServing = 4 // askers
	page        = 100
)

// decide looks at the requests for certificates that nobody has decided on yet: those by tokens of the door, and those of machines whose pools it knows. Askers
// take turns: who floods the API server with requests keeps its own waiting. It gives the users whose serving certificate was approved.
func (d *Door) decide(ctx context.Context, records []*record) (served map[string]bool, err error) {
	byTokens, _, err := d.cluster.undecided(ctx, certificates.KubeAPIServerClientKubeletSignerName, func(s *certificates.CertificateSigningRequestSpec) bool {
		return slices.Contains(s.Groups, tokenGroups[Kubeadm]) && strings.HasPrefix(s.Username, byToken)
	})
	if err != nil {
		return nil, err
	}
	var faults []error // of one asker none is another's
	for _, asker := range slices.Sorted(maps.Keys(byTokens)) {
		r := recordOf(records, strings.TrimPrefix(asker, byToken))
		for _, q := range byTokens[asker] {
			if err := d.conclude(ctx, q, r, d.client(q, r)); err != nil {
				faults = append(faults, err)
				break
			}
		}
	}
	byNodes, served, err := d.cluster.undecided(ctx, certificates.KubeletServingSignerName, func(s *certificates.CertificateSigningRequestSpec) bool {
		return strings.HasPrefix(s.Username, byNode)
	})
	if err != nil {
		return nil, errors.Join(append(faults, err)...)
	}
	for _, asker := range d.next(slices.Sorted(maps.Keys(byNodes)), mostServing) {
		m, ours := d.host(ctx, strings.TrimPrefix(asker, byNode))
		if !ours {
			continue
		}
		for _, q := range byNodes[asker] {
			if err := d.conclude(ctx, q, nil, d.serving(q, m)); err != nil {
				faults = append(faults, err)
				break
			}
		}
	}
	return served, errors.Join(faults...)
}

// next are those whose turn it is, of all in their order.
func (d *Door) next(all []string, most int) []string {
	d.turns.Lock()
	defer d.turns.Unlock()
	at, found := slices.BinarySearch(all, d.turn)
	if found {
		at++
	}
	all = slices.Concat(all[at:], all[:at])
	if len(all) > most {
		all = all[:most]
	}
	if len(all) > 0 {
		d.turn = all[len(all)-1]
	}
	return all
}

// undecided are the requests to a signer that wait, some of each asker, and the askers of those that were approved. Of a flood it holds a page at a time.
func (c *cluster) undecided(ctx context.Context, signer string, ours func(*certificates.CertificateSigningRequestSpec) bool) (
	waiting map[string][]*certificates.CertificateSigningRequest, approved map[string]bool, err error,
) {
	waiting, approved = map[string][]*certificates.CertificateSigningRequest{}, map[string]bool{}
	o := metav1.ListOptions{FieldSelector: "spec.signerName=" + signer, Limit: page}
	for {
		list, err := c.client.CertificatesV1().CertificateSigningRequests().List(ctx, o)
		if err != nil {
			return nil, nil, fmt.Errorf("list certificate signing requests: %w", err)
		}
		for i := range list.Items {
			q := &list.Items[i]
			asker := q.Spec.Username
			switch {
			case !ours(&q.Spec):
			case len(q.Status.Conditions) == 0 && len(waiting[asker]) < mostOfAsker:
				waiting[asker] = append(waiting[asker], q.DeepCopy()) // the page itself can go
			case slices.ContainsFunc(q.Status.Conditions, isApproval):
				approved[asker] = true
			}
		}
		if o.Continue = list.Continue; o.Continue == "" {
			return waiting, approved, nil
		}
	}
}

func isApproval(c certificates.CertificateSigningRequestCondition) bool {
	return c.Type == certificates.CertificateApproved
}

func recordOf(records []*record, token string) *record {
	for _, r := range records {
		if r.token == token && token != "" {
			return r
		}
	}
	return nil
}

// conclude writes a decision down. The machine's record says first that a certificate was approved: it gets no other token from then on.
func (d *Door) conclude(ctx context.Context, q *certificates.CertificateSigningRequest, r *record, refused *refusal) error {
	condition := certificates.CertificateSigningRequestCondition{Type: certificates.CertificateApproved, Status: corev1.ConditionTrue, Reason: "JoinByProof", Message: "sluice knows the machine"}
	if refused != nil {
		condition.Type, condition.Reason, condition.Message = certificates.CertificateDenied, string(refused.code), refused.message
	} else if r != nil && !r.certified {
		r.certified = true
		if err := d.cluster.write(ctx, r); err != nil {
			return err
		}
	}
	if err := d.cluster.approve(ctx, q, condition); err != nil {
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return nil // another replica was faster, or the request is gone
		}
		return fmt.Errorf("decide on certificate signing request %s: %w", q.Name, err)
	}
	signer := strings.TrimPrefix(q.Spec.SignerName, "kubernetes.io/")
	d.metrics.certificates.WithLabelValues(signer, string(condition.Type)).Inc()
	if refused != nil {
		d.metrics.refusals.WithLabelValues(string(refused.code)).Inc()
		if d.told.may(d.told.lines, refused.code, linesPer, time.Minute) {
			d.o.Log.Warn("denied a certificate", "request", q.Name, "user", q.Spec.Username, "code", refused.code, "why", refused.message)
		}
		d.event(ctx, refused.code, refused.message)
	} else {
		d.o.Log.Info("approved a certificate", "request", q.Name, "user", q.Spec.Username, "signer", signer)
	}
	return nil
}

// approve writes the decision on a request for a certificate.
func (c *cluster) approve(ctx context.Context, q *certificates.CertificateSigningRequest, condition certificates.CertificateSigningRequestCondition) error {
	own := q.DeepCopy()
	own.Status.Conditions = append(own.Status.Conditions, condition)
	_, err := c.client.CertificatesV1().CertificateSigningRequests().UpdateApproval(ctx, q.Name, own, metav1.UpdateOptions{})
	return err
}

// client is the first request of a kubelet, by the token of its machine: for the certificate of that one node and nothing else.
func (d *Door) client(q *certificates.CertificateSigningRequest, r *record) *refusal {
	if r == nil || !d.o.Now().Before(r.expires) {
		return refuse(CertificateToken, "the token %s has ended", strings.TrimPrefix(q.Spec.Username, byToken))
	}
	asked, refused := parse(q, r.node)
	switch {
	case refused != nil:
		return refused
	case len(asked.DNSNames)+len(asked.IPAddresses)+len(asked.EmailAddresses)+len(asked.URIs) > 0:
		return refuse(CertificateName, "a client certificate has no alternative names")
	case !only(q.Spec.Usages, certificates.UsageClientAuth):
		return refuse(CertificateUsages, "the usages %v are more than a kubelet's", q.Spec.Usages)
	}
	return nil
}

// serving is a request of a kubelet for the certificate that it shows to callers.
func (d *Door) serving(q *certificates.CertificateSigningRequest, m azure.Arrival) *refusal {
	asked, refused := parse(q, m.Name)
	if refused != nil {
		return refused
	}
	for _, name := range asked.DNSNames {
		if name != m.Name {
			return refuse(CertificateAddress, "the name %.64q is not the machine's, which is %s", name, m.Name)
		}
	}
	for _, ip := range asked.IPAddresses {
		if ip.String() != m.Address.String() {
			return refuse(CertificateAddress, "the address %s is not the machine's, which is %s", ip, m.Address)
		}
	}
	switch {
	case len(asked.EmailAddresses)+len(asked.URIs) > 0 || len(asked.DNSNames)+len(asked.IPAddresses) == 0:
		return refuse(CertificateAddress, "a serving certificate is for a name or an address, and nothing else")
	case !only(q.Spec.Usages, certificates.UsageServerAuth):
		return refuse(CertificateUsages, "the usages %v are more than a kubelet's", q.Spec.Usages)
	}
	return nil
}

// parse reads a request and wants the subject of a node's kubelet.
func parse(q *certificates.CertificateSigningRequest, node string) (*x509.CertificateRequest, *refusal) {
	block, rest := pem.Decode(q.Spec.Request)
	if block == nil || len(rest) > 0 || block.Type != "CERTIFICATE REQUEST" {
		return nil, refuse(CertificateName, "the request holds no request for a certificate")
	}
	asked, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil || asked.CheckSignature() != nil {
		return nil, refuse(CertificateName, "the request for a certificate cannot be read")
	}
	if asked.Subject.CommonName != byNode+node || !slices.Equal(asked.Subject.Organization, []string{"system:nodes"}) || len(asked.Subject.Names) != 2 {
		return nil, refuse(CertificateName, "the request is for %.80q, the machine is %s%s", asked.Subject.String(), byNode, node)
	}
	return asked, nil
}

// only says whether usages are those that every kubelet asks for and the one.
func only(usages []certificates.KeyUsage, one certificates.KeyUsage) bool {
	found := false
	for _, u := range usages {
		if found = found || u == one; u != one && u != certificates.UsageDigitalSignature && u != certificates.UsageKeyEncipherment {
			return false
		}
	}
	return found
}

// host is the machine of a node, as Azure has it now. It is not the door's unless it is in one of its pools and bears the node's name: a node writes its own provider id.
func (d *Door) host(ctx context.Context, name string) (azure.Arrival, bool) {
	node, err := d.cluster.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return azure.Arrival{}, false
	}
	id, found := strings.CutPrefix(node.Spec.ProviderID, "azure://")
	group, set, ok := d.o.Cloud.MachineID(id)
	if !found || !ok || !has(d.o.Groups, group) || set != "" && len(d.o.Pools) > 0 && !has(d.o.Pools, set) {
		return azure.Arrival{}, false
	}
	m, err := d.machines.find(ctx, id, "", d.metrics)
	if err != nil || m.ScaleSet == "" || len(d.o.Pools) > 0 && !has(d.o.Pools, m.ScaleSet) || m.Name != name {
		return azure.Arrival{}, false
	}
	return m, true
}
