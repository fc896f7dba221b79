package host

import (
	"net"
	"net/netip"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
)

// The addresses of Azure's services for machines, the same in every network.
var (
	metadataAddress = netip.MustParseAddr("169.254.169.254")
	wireAddress     = netip.MustParseAddr("168.63.129.16")
)

// wireOption is where Azure's DHCP says where the wire server is.
const wireOption = dhcpv4.GenericOptionCode(245)

// lease is how long an address is given for. Azure's leases never end.
const lease = 24 * time.Hour * 365

// answerDHCP answers a machine's question for its address; nil for what is to be left without an answer. The machine has one address for ever, and
// its first router is the network's.
func answerDHCP(question *dhcpv4.DHCPv4, address netip.Addr, network netip.Prefix) (*dhcpv4.DHCPv4, error) {
	var kind dhcpv4.MessageType
	switch question.MessageType() {
	case dhcpv4.MessageTypeDiscover:
		kind = dhcpv4.MessageTypeOffer
	case dhcpv4.MessageTypeRequest:
		kind = dhcpv4.MessageTypeAck
		for _, wanted := range []net.IP{question.RequestedIPAddress(), question.ClientIPAddr} {
			if a, is := netip.AddrFromSlice(wanted.To4()); is && !a.IsUnspecified() && a != address {
				kind = dhcpv4.MessageTypeNak
			}
		}
	default:
		return nil, nil
	}
	router := net.IP(router(network).AsSlice())
	mask := net.CIDRMask(network.Bits(), 32)
	host := net.CIDRMask(32, 32)
	return dhcpv4.NewReplyFromRequest(question,
		dhcpv4.WithMessageType(kind),
		dhcpv4.WithYourIP(address.AsSlice()),
		dhcpv4.WithServerIP(wireAddress.AsSlice()),
		dhcpv4.WithOption(dhcpv4.OptServerIdentifier(wireAddress.AsSlice())),
		dhcpv4.WithLeaseTime(uint32(lease/time.Second)),
		dhcpv4.WithNetmask(mask),
		dhcpv4.WithRouter(router),
		dhcpv4.WithOption(dhcpv4.OptClasslessStaticRoute(
			&dhcpv4.Route{Dest: &net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}, Router: router},
			&dhcpv4.Route{Dest: &net.IPNet{IP: wireAddress.AsSlice(), Mask: host}, Router: router},
			&dhcpv4.Route{Dest: &net.IPNet{IP: metadataAddress.AsSlice(), Mask: host}, Router: router},
		)),
		dhcpv4.WithOption(dhcpv4.OptGeneric(wireOption, wireAddress.AsSlice())),
	)
}

// router is the first address of a network, which Azure keeps for its router.
func router(network netip.Prefix) netip.Addr { return network.Masked().Addr().Next() }
