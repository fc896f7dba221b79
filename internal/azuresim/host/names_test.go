package host

import (
	"net/netip"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

func TestMachinesLookUpTheNamesThatTheHostKnows(t *testing.T) {
	azure := netip.MustParseAddr("40.113.0.1")
	names := map[string]netip.Addr{"management.azure.com": azure, ".vault.azure.net": azure}
	ask := func(name string, kind dnsmessage.Type) (dnsmessage.RCode, []dnsmessage.Resource) {
		t.Helper()
		q := dnsmessage.Message{
			Header:    dnsmessage.Header{ID: 77, RecursionDesired: true},
			Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: kind, Class: dnsmessage.ClassINET}},
		}
		text, err := q.Pack()
		if err != nil {
			t.Fatal(err)
		}
		var a dnsmessage.Message
		if err := a.Unpack(answerName(text, func(name string) (netip.Addr, bool) { return named(names, name) })); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if a.ID != 77 || !a.Response || len(a.Questions) != 1 || a.Questions[0] != q.Questions[0] {
			t.Errorf("%s: the answer is to something else: %+v", name, a)
		}
		return a.RCode, a.Answers
	}
	for _, name := range []string{"management.azure.com.", "Management.Azure.com.", "farm.vault.azure.net."} {
		code, got := ask(name, dnsmessage.TypeA)
		if len(got) != 1 || code != dnsmessage.RCodeSuccess || got[0].Body.(*dnsmessage.AResource).A != azure.As4() {
			t.Errorf("%s is %v, %v", name, code, got)
		}
		if code, got := ask(name, dnsmessage.TypeAAAA); len(got) != 0 || code != dnsmessage.RCodeSuccess {
			t.Errorf("%s has other addresses: %v, %v", name, code, got)
		}
	}
	for _, name := range []string{"azure.com.", "vault.azure.net.", "a.farm.vault.azure.net.", "example.com.", "."} {
		if code, got := ask(name, dnsmessage.TypeA); len(got) != 0 || code != dnsmessage.RCodeNameError {
			t.Errorf("%s is %v, %v", name, code, got)
		}
	}
	for _, garbage := range [][]byte{nil, []byte("hello"), make([]byte, 12)} {
		if got := answerName(garbage, func(string) (netip.Addr, bool) { return azure, true }); got != nil {
			t.Errorf("%q has the answer %q", garbage, got)
		}
	}
}
