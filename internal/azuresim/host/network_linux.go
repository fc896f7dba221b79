package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"syscall"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// bridge is the one link that all machines are at.
const bridge = "azure0"

// network is the machines' own: a namespace without a name and without a way out. It ends with the descriptors that hold it.
type network struct {
	space  int // its namespace
	prefix netip.Prefix
	links  *netlink.Handle
}

// openNetwork makes a namespace with a bridge, the router's address and those of Azure's services.
func openNetwork(prefix netip.Prefix) (*network, error) {
	n := &network{prefix: prefix.Masked(), space: -1}
	made := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread, which is in the new namespace, ends with the goroutine
		made <- n.make()
	}()
	if err := <-made; err != nil {
		n.close()
		return nil, fmt.Errorf("make the machines' network: %w", err)
	}
	return n, nil
}

func (n *network) make() (err error) {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	if n.space, err = unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return err
	}
	if n.links, err = netlink.NewHandle(); err != nil {
		return err
	}
	if err := writeSysctl("net/ipv4/ip_forward", "1"); err != nil {
		return err
	}
	lo, err := n.links.LinkByName("lo")
	if err != nil {
		return err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = bridge
	// The hardware address of Azure's routers. A bridge of its own would change its address with its first machine.
	attrs.HardwareAddr = net.HardwareAddr{0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc}
	br := &netlink.Bridge{LinkAttrs: attrs}
	if err := n.links.LinkAdd(br); err != nil {
		return err
	}
	for address, link := range map[netip.Prefix]netlink.Link{
		netip.PrefixFrom(router(n.prefix), n.prefix.Bits()): br,
		netip.PrefixFrom(metadataAddress, 32):               lo,
		netip.PrefixFrom(wireAddress, 32):                   lo,
	} {
		if err := n.links.AddrAdd(link, &netlink.Addr{IPNet: ipNet(address)}); err != nil {
			return err
		}
	}
	return errors.Join(n.links.LinkSetUp(lo), n.links.LinkSetUp(br))
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), 32)}
}

func (n *network) close() {
	if n.links != nil {
		n.links.Close()
	}
	if n.space >= 0 {
		_ = unix.Close(n.space)
	}
}

// within runs a function in the machines' network. What it opens stays there.
func (n *network) within(do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		home, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			done <- err
			return
		}
		defer func() { _ = unix.Close(home) }() // a name of the namespace
		if err := unix.Setns(n.space, unix.CLONE_NEWNET); err != nil {
			done <- fmt.Errorf("enter the machines' network: %w", err)
			return
		}
		err = do()
		if unix.Setns(home, unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread() // otherwise the thread ends here, with the goroutine
		}
		done <- err
	}()
	return <-done
}

// dial connects from the router to an address in the network. Names are not looked up.
func (n *network) dial(ctx context.Context, kind, address string) (c net.Conn, err error) {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, fmt.Errorf("the machines' network has addresses only: %w", err)
	}
	err = n.within(func() (err error) {
		c, err = (&net.Dialer{}).DialContext(ctx, kind, to.String())
		return err
	})
	return c, err
}

// listen listens at an address of the router's or of Azure's services, which it adds to the network if it is another.
func (n *network) listen(address netip.AddrPort) (l net.Listener, err error) {
	err = n.within(func() (err error) {
		if !n.prefix.Contains(address.Addr()) {
			lo, err := n.links.LinkByName("lo")
			if err != nil {
				return err
			}
			err = n.links.AddrAdd(lo, &netlink.Addr{IPNet: ipNet(netip.PrefixFrom(address.Addr(), 32))})
			if err != nil && !errors.Is(err, unix.EEXIST) {
				return err
			}
		}
		l, err = net.Listen("tcp4", address.String())
		return err
	})
	return l, err
}

// plug gives the machine whose first process this is an interface with this hardware address, at the bridge.
func (n *network) plug(pid int, m Machine) error {
	mac, err := net.ParseMAC(m.MAC)
	if err != nil {
		return err
	}
	br, err := n.links.LinkByName(bridge)
	if err != nil {
		return err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = fmt.Sprintf("m%x", m.Address.As4())
	attrs.MasterIndex = br.Attrs().Index
	_ = n.unplug(attrs.Name) // of a machine that is not quite gone
	if err := n.links.LinkAdd(&netlink.Veth{
		LinkAttrs: attrs, PeerName: "eth0", PeerHardwareAddr: mac, PeerNamespace: netlink.NsPid(pid),
	}); err != nil {
		return fmt.Errorf("plug %s in: %w", m.Name, err)
	}
	link, err := n.links.LinkByName(attrs.Name)
	if err != nil {
		return err
	}
	return n.links.LinkSetUp(link)
}

func (n *network) unplug(name string) error {
	link, err := n.links.LinkByName(name)
	if err != nil {
		return err
	}
	return n.links.LinkDel(link)
}

// route sends what is for a network to a machine, as a route table of Azure's does.
func (n *network) route(to netip.Prefix, via netip.Addr) error {
	return n.links.RouteReplace(&netlink.Route{Dst: ipNet(to), Gw: via.AsSlice()})
}

// serveDHCP answers machines until the socket is closed.
func (n *network) serveDHCP(find func(mac string) (Machine, bool), say func(string, ...any)) (stop func() error, err error) {
	var socket net.PacketConn
	bound := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		if is := c.Control(func(fd uintptr) {
			err = errors.Join(unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_BROADCAST, 1), unix.BindToDevice(int(fd), bridge))
		}); is != nil {
			return is
		}
		return err
	}}
	if err := n.within(func() (err error) {
		socket, err = bound.ListenPacket(context.Background(), "udp4", ":67")
		return err
	}); err != nil {
		return nil, fmt.Errorf("serve DHCP: %w", err)
	}
	go func() {
		buffer := make([]byte, 2048)
		for {
			size, _, err := socket.ReadFrom(buffer)
			if err != nil {
				return
			}
			question, err := dhcpv4.FromBytes(buffer[:size])
			if err != nil {
				continue
			}
			m, known := find(question.ClientHWAddr.String())
			if !known {
				say("a machine with the unknown hardware address %s asks for an address", question.ClientHWAddr)
				continue
			}
			answer, err := answerDHCP(question, m.Address, n.prefix)
			if err != nil || answer == nil {
				continue
			}
			// A machine that asks has no address yet, or one that others use: all hear the answer, and one knows itself by its hardware address.
			_, _ = socket.WriteTo(answer.ToBytes(), &net.UDPAddr{IP: net.IPv4bcast, Port: 68})
		}
	}()
	return socket.Close, nil
}

// serveNames answers machines at Azure's address for that, until the socket is closed.
func (n *network) serveNames(find func(string) (netip.Addr, bool)) (stop func() error, err error) {
	var socket net.PacketConn
	if err := n.within(func() (err error) {
		socket, err = net.ListenPacket("udp4", netip.AddrPortFrom(wireAddress, 53).String())
		return err
	}); err != nil {
		return nil, fmt.Errorf("serve names: %w", err)
	}
	go func() {
		buffer := make([]byte, 1500)
		for {
			size, from, err := socket.ReadFrom(buffer)
			if err != nil {
				return
			}
			if answer := answerName(buffer[:size], find); answer != nil {
				_, _ = socket.WriteTo(answer, from) // who gets no answer asks again
			}
		}
	}()
	return socket.Close, nil
}

// serveMachines answers machines, known by where their requests come from, at one of Azure's addresses for them.
func (n *network) serveMachines(at netip.Addr, find func(netip.Addr) (Machine, bool), serve func(http.ResponseWriter, *http.Request, Machine)) (*http.Server, error) {
	l, err := n.listen(netip.AddrPortFrom(at, 80))
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, err := netip.ParseAddrPort(r.RemoteAddr)
		m, known := find(from.Addr())
		if err != nil || !known {
			http.Error(w, "no machine has the address "+strings.TrimSpace(r.RemoteAddr), http.StatusForbidden)
			return
		}
		serve(w, r, m)
	})}
	go func() { _ = server.Serve(l) }() // ends with the server
	return server, nil
}

// writeSysctl sets a setting of the network namespace that the calling thread is in.
func writeSysctl(name, value string) error {
	return os.WriteFile("/proc/sys/"+name, []byte(value), 0o644)
}
