package join

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"

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

// mostServing is how many requests for serving certificates one pass asks Azure about.
const mostServing = 4

// decide looks at the requests for certificates that nobody has decided on yet: those by tokens of the door, and those of machines whose pools it knows.
func (d *Door) decide(ctx context.Context, records []*record) error {
	list, err := d.cluster.client.CertificatesV1().CertificateSigningRequests().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list certificate signing requests: %w", err)
	}
	serving := 0
	for i := range list.Items {
		q := &list.Items[i]
		if len(q.Status.Conditions) > 0 {
			continue
		}
		var refused *refusal
		var r *record
		switch s := q.Spec; {
		case s.SignerName == certificates.KubeAPIServerClientKubeletSignerName && slices.Contains(s.Groups, tokenGroups[Kubeadm]) && strings.HasPrefix(s.Username, byToken):
			r = recordOf(records, strings.TrimPrefix(s.Username, byToken))
			refused = d.client(q, r)
		case s.SignerName == certificates.KubeletServingSignerName && strings.HasPrefix(s.Username, byNode) && serving < mostServing:
			serving++
			m, ours := d.host(ctx, strings.TrimPrefix(s.Username, byNode))
			if !ours {
				continue
			}
			refused = d.serving(q, m)
		default:
			continue
		}
		if err := d.conclude(ctx, q, r, refused); err != nil {
			return err
		}
	}
	return nil
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
		d.o.Log.Warn("denied a certificate", "request", q.Name, "user", q.Spec.Username, "code", refused.code, "why", refused.message)
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
