package doctor

// FailureKind is how something failed, as far as the remedy depends on it.
type FailureKind string

// The kinds of failures.
const (
	NameUnresolved FailureKind = "name-unresolved" // DNS does not know the host
	Untrusted      FailureKind = "untrusted"       // the host's certificate is not trusted
	Unreachable    FailureKind = "unreachable"     // no connection
	NoAnswer       FailureKind = "no-answer"       // a connection, and no answer in time
	Foreign        FailureKind = "foreign"         // something else answers in the service's place
	Failing        FailureKind = "failing"         // the service answers that it fails
	Throttled      FailureKind = "throttled"       // it asks to be left alone for a while
	Forbidden      FailureKind = "forbidden"       // it refuses for want of a right
	Stranger       FailureKind = "stranger"        // it does not know who asks
	NotFound       FailureKind = "not-found"       // it does not have the thing
	Refused        FailureKind = "refused"         // any other refusal
)

// Failure is why something could not be had. The nil Failure is that it could.
type Failure struct {
	Kind     FailureKind
	Sentence string
}

// Error is the sentence.
func (f *Failure) Error() string { return f.Sentence }

// Distant says that no answer of the service itself came.
func (k FailureKind) Distant() bool {
	switch k {
	case NameUnresolved, Untrusted, Unreachable, NoAnswer, Foreign, Failing:
		return true
	}
	return false
}

// remedy is what mends a failure that lies between this machine and a host, whatever is asked there; "" for other kinds.
func (k FailureKind) remedy() string {
	switch k {
	case NameUnresolved:
		return "correct this machine's DNS, or the endpoint when the name is wrong"
	case Untrusted:
		return "add the issuer to this machine's root certificates, or correct the endpoint"
	case Unreachable:
		return "open the way from this machine to that host and port (route, firewall, HTTPS_PROXY), or correct the endpoint"
	case NoAnswer:
		return "look for a firewall or proxy that swallows requests; if the host is merely slow, give --timeout more"
	case Foreign:
		return "look at the proxy or gateway between (HTTPS_PROXY, NO_PROXY), or correct the endpoint"
	case Failing:
		return "ask again in some minutes; until it answers, sluice does nothing that rests on it"
	case Throttled:
		return "ask again in some minutes; if it stays so, find who else spends the subscription's request limits"
	}
	return ""
}
