package host

import (
	"net/netip"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// nameLife is how long an answer may be kept, in seconds.
const nameLife = 60

// answerName answers a question for the address of a name; nil for what is no question. Names that nobody knows are not there.
func answerName(question []byte, find func(name string) (netip.Addr, bool)) []byte {
	var p dnsmessage.Parser
	header, err := p.Start(question)
	if err != nil || header.Response {
		return nil
	}
	q, err := p.Question()
	if err != nil {
		return nil
	}
	address, known := find(strings.ToLower(strings.TrimSuffix(q.Name.String(), ".")))
	answer := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: header.ID, Response: true, Authoritative: true, RecursionDesired: header.RecursionDesired, RecursionAvailable: true},
		Questions: []dnsmessage.Question{q},
	}
	switch {
	case !known:
		answer.RCode = dnsmessage.RCodeNameError
	case q.Type == dnsmessage.TypeA:
		answer.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: nameLife}, Body: &dnsmessage.AResource{A: address.As4()},
		}}
	}
	text, err := answer.Pack()
	if err != nil {
		return nil
	}
	return text
}

// named finds a name in a table. One that begins with a dot stands for all below it.
func named(names map[string]netip.Addr, name string) (netip.Addr, bool) {
	if a, ok := names[name]; ok {
		return a, true
	}
	if _, below, ok := strings.Cut(name, "."); ok {
		a, known := names["."+below]
		return a, known
	}
	return netip.Addr{}, false
}
