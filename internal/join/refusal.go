package join

import (
	"fmt"
	"net/http"
	"time"

	"sluice.dev/sluice/internal/attest"
)

// A Code says why a machine may not join, or why a certificate is not issued. Codes are stable: machines print them to their console.
type Code string

// The codes beside those of package attest.
const (
	RequestTooLarge   Code = "request-too-large"
	RequestUnreadable Code = "request-unreadable"
	TooManyRequests   Code = "too-many-requests"
	Busy              Code = "busy"

	ChallengeUnknown Code = "challenge-unknown"
	ChallengeExpired Code = "challenge-expired"
	ChallengeUsed    Code = "challenge-used"

	IssuerUnavailable Code = "issuer-unavailable"

	MachineID        Code = "machine-id"
	MachineGroup     Code = "machine-group"
	MachineUnknown   Code = "machine-unknown"
	MachineOther     Code = "machine-other"
	MachineOld       Code = "machine-old"
	MachineName      Code = "machine-name"
	AddressOther     Code = "address-other"
	AzureUnavailable Code = "azure-unavailable"

	AlreadyJoined      Code = "already-joined"
	NameTaken          Code = "name-taken"
	TokensSpent        Code = "tokens-spent"
	ClusterUnavailable Code = "cluster-unavailable"

	CertificateToken   Code = "certificate-token"
	CertificateName    Code = "certificate-name"
	CertificateUsages  Code = "certificate-usages"
	CertificateAddress Code = "certificate-address"
)

// row is what a code means.
type row struct {
	status int
	retry  time.Duration // above zero: the machine tries again, and not before
	person bool          // somebody must act: an Event says so
	remedy string
}

// rows is the one table of codes.
var rows = map[Code]row{
	RequestTooLarge:   {http.StatusRequestEntityTooLarge, 0, false, "use sluice-join of this version"},
	RequestUnreadable: {http.StatusBadRequest, 0, false, "use sluice-join of this version"},
	TooManyRequests:   {http.StatusTooManyRequests, 5 * time.Second, false, "wait"},
	Busy:              {http.StatusServiceUnavailable, 5 * time.Second, false, "wait"},

	ChallengeUnknown: {http.StatusForbidden, 0, false, "ask for a challenge from the same address, at the same door"},
	ChallengeExpired: {http.StatusServiceUnavailable, time.Second, false, "ask for another challenge"},
	ChallengeUsed:    {http.StatusForbidden, 0, false, "ask for another challenge"},

	Code(attest.Unreadable):   {http.StatusBadRequest, 0, false, "see what the machine's metadata service answers"},
	Code(attest.BadSignature): {http.StatusForbidden, 0, false, "see who answers in the place of the machine's metadata service"},
	Code(attest.Signer):       {http.StatusForbidden, 0, false, "see who answers in the place of the machine's metadata service"},
	Code(attest.Expired):      {http.StatusServiceUnavailable, 30 * time.Second, true, "see to the clock of the door's machine"},
	Code(attest.Nonce):        {http.StatusServiceUnavailable, 5 * time.Second, false, "ask for another challenge"},
	Code(attest.Subscription): {http.StatusForbidden, 0, false, "make the machine in the cluster's subscription"},
	Code(attest.Chain):        {http.StatusForbidden, 0, true, "give the certificates of Azure's issuers with --attest-certificates, or let them be fetched (--attest-aia)"},
	IssuerUnavailable: {http.StatusServiceUnavailable, 30 * time.Second, true,
		"let the door reach www.microsoft.com, or give the certificate with --attest-certificates"},

	MachineID:      {http.StatusForbidden, 0, false, "make the machine in the cluster's subscription"},
	MachineGroup:   {http.StatusForbidden, 0, true, "name the scale set with --join-pools and its resource group with --join-resource-groups, if its machines shall join"},
	MachineUnknown: {http.StatusServiceUnavailable, 10 * time.Second, false, "wait until Resource Manager shows the machine"},
	MachineOther:   {http.StatusForbidden, 0, false, "see which process asks in the machine's place"},
	MachineOld:     {http.StatusForbidden, 0, true, "delete the machine: a new one joins. Or raise --join-max-age"},
	MachineName:    {http.StatusForbidden, 0, true, "give the scale set a computer name prefix of lower-case letters, digits and -"},
	AddressOther:   {http.StatusForbidden, 0, false, "no proxy and no address translation may stand between the machine and the door"},
	AzureUnavailable: {http.StatusServiceUnavailable, 15 * time.Second, false,
		"see to sluice's identity in Azure and the way to Resource Manager"},

	AlreadyJoined:      {http.StatusForbidden, 0, false, "delete the machine: a new one joins"},
	NameTaken:          {http.StatusServiceUnavailable, 20 * time.Second, true, "delete the Node of the machine that is gone"},
	TokensSpent:        {http.StatusForbidden, 0, true, "see in the machine's console why it does not join, and delete it"},
	ClusterUnavailable: {http.StatusServiceUnavailable, 5 * time.Second, true, "see to the API server and to the rights of deploy/join.yaml"},

	CertificateToken:   {http.StatusForbidden, 0, false, "the machine asks for another token"},
	CertificateName:    {http.StatusForbidden, 0, true, "see what runs on the machine: it asks for the certificate of another node"},
	CertificateUsages:  {http.StatusForbidden, 0, true, "see what runs on the machine: it asks for more than a kubelet does"},
	CertificateAddress: {http.StatusForbidden, 0, true, "see to the kubelet's node name and --node-ip: only the machine's own are certified"},
}

// refusal is one that happened.
type refusal struct {
	code    Code
	message string        // for the machine's console
	detail  string        // for the log
	wait    time.Duration // at least, where somebody has asked for it
	person  bool          // somebody must act, this time
}

func refuse(code Code, format string, args ...any) *refusal {
	return &refusal{code: code, message: fmt.Sprintf(format, args...)}
}
