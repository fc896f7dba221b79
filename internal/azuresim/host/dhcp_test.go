package host

import (
	"net"
	"net/netip"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"
)

func TestDHCPGivesAMachineItsAddressAndWhereAzureIs(t *testing.T) {
	network, address := netip.MustParsePrefix("10.1.0.0/20"), netip.MustParseAddr("10.1.0.7")
	mac := net.HardwareAddr{0, 0x0d, 10, 1, 0, 7}
	discover, err := dhcpv4.NewDiscovery(mac)
	if err != nil {
		t.Fatal(err)
	}
	offer, err := answerDHCP(discover, address, network)
	if err != nil {
		t.Fatal(err)
	}
	if offer, err = dhcpv4.FromBytes(offer.ToBytes()); err != nil { // as a machine reads it
		t.Fatal(err)
	}
	request, err := dhcpv4.NewRequestFromOffer(offer)
	if err != nil {
		t.Fatal(err)
	}
	ack, err := answerDHCP(request, address, network)
	if err != nil {
		t.Fatal(err)
	}
	for want, got := range map[dhcpv4.MessageType]*dhcpv4.DHCPv4{dhcpv4.MessageTypeOffer: offer, dhcpv4.MessageTypeAck: ack} {
		routes := got.ClasslessStaticRoute()
		switch {
		case got.MessageType() != want:
			t.Errorf("answer %v, want %v", got.MessageType(), want)
		case !got.YourIPAddr.Equal(net.IP{10, 1, 0, 7}) || got.ClientHWAddr.String() != mac.String() || got.TransactionID != discover.TransactionID:
			t.Errorf("%v gives %v to %v", want, got.YourIPAddr, got.ClientHWAddr)
		case got.SubnetMask().String() != "fffff000" || len(got.Router()) != 1 || !got.Router()[0].Equal(net.IP{10, 1, 0, 1}):
			t.Errorf("%v: mask %v, router %v", want, got.SubnetMask(), got.Router())
		case net.IP(got.Options.Get(wireOption)).String() != "168.63.129.16":
			t.Errorf("%v: option 245 is %v", want, got.Options.Get(wireOption))
		case len(routes) != 3 || routes[0].Dest.String() != "0.0.0.0/0" || routes[1].Dest.String() != "168.63.129.16/32" || routes[2].Dest.String() != "169.254.169.254/32":
			t.Errorf("%v: routes %v", want, routes)
		}
	}
}

func TestDHCPRefusesAnotherAddress(t *testing.T) {
	network := netip.MustParsePrefix("10.1.0.0/20")
	request, err := dhcpv4.New(dhcpv4.WithMessageType(dhcpv4.MessageTypeRequest), dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(net.IP{10, 1, 0, 8})))
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := answerDHCP(request, netip.MustParseAddr("10.1.0.7"), network); err != nil || answer.MessageType() != dhcpv4.MessageTypeNak {
		t.Errorf("answer %v, %v", answer, err)
	}
	release, err := dhcpv4.New(dhcpv4.WithMessageType(dhcpv4.MessageTypeRelease))
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := answerDHCP(release, netip.MustParseAddr("10.1.0.7"), network); err != nil || answer != nil {
		t.Errorf("a release is answered: %v, %v", answer, err)
	}
}
