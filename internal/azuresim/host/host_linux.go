package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Config says what machines are made of.
type Config struct {
	// Dir keeps the machines' disks, and the names of all that a killed host leaves behind. One host at a time has it.
	Dir string

	// Image are the folders that every machine's file system is made of, the uppermost first: the last is a [Root].
	Image []string

	// Network is the machines'. The zero value is 10.0.0.0/16, where azuresim's addresses begin. Azure keeps the first three addresses.
	Network netip.Prefix

	// Names are what machines can look up: addresses by names in lower case. A name that begins with a dot stands for all below it.
	Names map[string]netip.Addr

	// Metadata is the metadata service of a machine, by resource id; nil: there is none.
	Metadata func(id string) http.Handler

	// Report is told what the machine with a vmId reports of itself: that it is provisioned, or why not; nil: nobody is.
	Report func(vmID string, ready bool, why string)

	// Say is told what happens to machines; nil: nobody is.
	Say func(format string, args ...any)
}

// Host has machines. It is safe for concurrent use.
type Host struct {
	config  Config
	lock    *os.File
	groups  []cgroup
	group   string // the name of all machines' control groups
	network *network
	closers []func() error

	mu       sync.Mutex
	machines map[string]*machine // by id
}

// defaultNetwork is where azuresim's addresses begin.
var defaultNetwork = netip.MustParsePrefix("10.0.0.0/16")

// Open makes a host without machines, after it has removed what an earlier one left in its folder.
func Open(c Config) (*Host, error) {
	if err := Able(); err != nil {
		return nil, err
	}
	if !c.Network.IsValid() {
		c.Network = defaultNetwork
	}
	if c.Say == nil {
		c.Say = func(string, ...any) {}
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, err
	}
	c.Dir = dir
	for _, folder := range append([]string{dir}, c.Image...) {
		if strings.ContainsAny(folder, ":,\\") {
			return nil, fmt.Errorf("the folder %s has a colon, comma or backslash in its name, which overlays cannot name", folder)
		}
	}
	h := &Host{config: c, machines: map[string]*machine{}, group: groupName(dir)}
	if h.lock, h.groups, err = clean(dir); err != nil {
		return nil, err
	}
	if err := h.openServices(); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// Able says why machines cannot boot here; nil: they can, so far as it shows. It is [errors.ErrUnsupported] where that is the host's nature.
func Able() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: machines that boot need root", errors.ErrUnsupported)
	}
	if _, err := hierarchies(); err != nil {
		return err
	}
	systems, err := os.ReadFile("/proc/filesystems")
	if err == nil && !strings.Contains(string(systems), "\toverlay\n") {
		return fmt.Errorf("%w: this kernel has no overlay file system", errors.ErrUnsupported)
	}
	return err
}

// groupName names the control groups of the host with this folder.
func groupName(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return "sluice-host-" + hex.EncodeToString(sum[:4])
}

// openServices opens the network with DHCP, metadata service and wire server.
func (h *Host) openServices() (err error) {
	if h.network, err = openNetwork(h.config.Network); err != nil {
		return err
	}
	stop, err := h.network.serveDHCP(h.byMAC, h.config.Say)
	if err != nil {
		return err
	}
	h.closers = append(h.closers, stop)
	names, err := h.network.serveNames(func(name string) (netip.Addr, bool) { return named(h.config.Names, name) })
	if err != nil {
		return err
	}
	h.closers = append(h.closers, names)
	for at, serve := range map[netip.Addr]func(http.ResponseWriter, *http.Request, Machine){
		metadataAddress: h.serveMetadata,
		wireAddress: func(w http.ResponseWriter, r *http.Request, m Machine) {
			var asked *commands
			if known := h.machine(m.ID); known != nil {
				asked = known.commands()
			}
			serveWire(w, r, m, func(report health) { h.heard(m, report) }, asked)
		},
	} {
		server, err := h.network.serveMachines(at, h.byAddress, serve)
		if err != nil {
			return err
		}
		h.closers = append(h.closers, server.Close)
	}
	return nil
}

func (h *Host) serveMetadata(w http.ResponseWriter, r *http.Request, m Machine) {
	if h.config.Metadata == nil {
		http.NotFound(w, r)
		return
	}
	h.config.Metadata(m.ID).ServeHTTP(w, r)
}

func (h *Host) heard(m Machine, report health) {
	if h.config.Report != nil {
		h.config.Report(m.VMID, report.State == "Ready", report.Description)
	}
	if report.State == "Ready" {
		h.config.Say("%s reports to be ready", m.Name)
		return
	}
	h.config.Say("%s reports %s: %s %s", m.Name, report.State, report.SubStatus, report.Description)
}

// find is the machine that something holds for.
func (h *Host) find(holds func(Machine) bool) (Machine, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range h.machines {
		if holds(m.Machine) {
			return m.Machine, true
		}
	}
	return Machine{}, false
}

func (h *Host) byMAC(mac string) (Machine, bool) {
	return h.find(func(m Machine) bool { return strings.EqualFold(m.MAC, mac) })
}

func (h *Host) byAddress(a netip.Addr) (Machine, bool) {
	return h.find(func(m Machine) bool { return m.Address == a })
}

// machine is one that was switched on at least once, or nil.
func (h *Host) machine(id string) *machine {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.machines[id]
}

// PowerOn boots a machine, for the first time or again from the disk that it has. It returns when its first process runs.
func (h *Host) PowerOn(m Machine) error {
	h.mu.Lock()
	known := h.machines[m.ID]
	if known == nil {
		known = newMachine(h, m)
		h.machines[m.ID] = known
	}
	h.mu.Unlock()
	return known.powerOn()
}

// PowerOff ends a machine and keeps its disk. Until the context is over it may end in order; one that is over already pulls the plug.
func (h *Host) PowerOff(ctx context.Context, id string) error {
	if m := h.machine(id); m != nil {
		return m.powerOff(ctx)
	}
	return nil
}

// Delete pulls a machine's plug and removes its disk.
func (h *Host) Delete(id string) error {
	m := h.machine(id)
	if m == nil {
		return nil
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	err := m.powerOff(gone)
	h.mu.Lock()
	delete(h.machines, id)
	h.mu.Unlock()
	return errors.Join(err, os.RemoveAll(m.dir))
}

// Running reports whether a machine's first process runs.
func (h *Host) Running(id string) bool {
	m := h.machine(id)
	return m != nil && m.running()
}

// Console is what a machine has written to its serial console, also in earlier boots; false: it was never switched on.
func (h *Host) Console(id string) (string, bool) {
	if m := h.machine(id); m != nil {
		return m.console.text(), true
	}
	return "", false
}

// ConsoleOf is [Host.Console] by vmId, as [azuresim.Server] asks for it.
func (h *Host) ConsoleOf(vmID string) (string, bool) {
	m, known := h.find(func(m Machine) bool { return m.VMID == vmID })
	if !known {
		return "", false
	}
	return h.Console(m.ID)
}

// ReadFile is a file that was written on a machine's disk, by its path there. Links that lead out of the disk are not followed.
func (h *Host) ReadFile(id, name string) ([]byte, error) {
	m := h.machine(id)
	if m == nil {
		return nil, fmt.Errorf("read %s: there is no machine %s", name, id)
	}
	disk, err := os.OpenRoot(filepath.Join(m.dir, "upper"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = disk.Close() }() // it was only read
	return disk.ReadFile(strings.TrimPrefix(name, "/"))
}

// Dial connects to an address in the machines' network.
func (h *Host) Dial(ctx context.Context, kind, address string) (net.Conn, error) {
	return h.network.dial(ctx, kind, address)
}

// Start starts a program whose network is the machines': it sees what somebody at their router sees.
func (h *Host) Start(cmd *exec.Cmd) error { return h.network.within(cmd.Start) }

// Listen listens in the machines' network: at the router's address, or at one outside of the network, which machines then reach.
func (h *Host) Listen(address netip.AddrPort) (net.Listener, error) { return h.network.listen(address) }

// Route sends what is for a network to a machine's address, as a route table of Azure's does.
func (h *Host) Route(to netip.Prefix, via netip.Addr) error { return h.network.route(to, via) }

// Close ends and removes all machines, and the network.
func (h *Host) Close() error {
	h.mu.Lock()
	ids := slicesOf(maps.Keys(h.machines))
	h.mu.Unlock()
	var errs []error
	for _, id := range ids {
		errs = append(errs, h.Delete(id))
	}
	for _, stop := range h.closers {
		errs = append(errs, stop())
	}
	if h.network != nil {
		h.network.close()
	}
	errs = append(errs, removeMade(h.config.Dir, h.groups), h.lock.Close())
	return errors.Join(errs...)
}

func slicesOf[T any](all iter.Seq[T]) (list []T) {
	for v := range all {
		list = append(list, v)
	}
	return list
}

// Clean removes what a host that was killed left in its folder: disks and control groups. It refuses while a host lives there.
func Clean(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lock, _, err := clean(dir)
	if err != nil {
		return err
	}
	return lock.Close()
}

// clean takes a host's folder, makes it empty and keeps others from it.
func clean(dir string) (*os.File, []cgroup, error) {
	groups, err := hierarchies()
	if err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("another host has the folder %s: %w", dir, err), lock.Close())
	}
	if err := removeMade(dir, groups); err != nil {
		return nil, nil, errors.Join(err, lock.Close())
	}
	return lock, groups, nil
}

// madeFile names the control groups that machines of this folder are in, one a line. It is written before they are made.
const madeFile = "made"

// removeMade removes what the folder says was made. It can be repeated.
func removeMade(dir string, groups []cgroup) error {
	text, err := os.ReadFile(filepath.Join(dir, madeFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var errs []error
	for _, line := range strings.Split(string(text), "\n") {
		// The last part is the name of ours, whoever wrote the rest.
		if filepath.Base(line) == groupName(dir) && strings.HasPrefix(line, "/sys/fs/cgroup/") {
			errs = append(errs, removeGroup(line))
		}
	}
	errs = append(errs, removeGroups(groups, groupName(dir)), os.RemoveAll(filepath.Join(dir, "machines")), os.RemoveAll(filepath.Join(dir, disksFolder)))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(dir, madeFile))
}

// writeMade writes what a machine will leave if this process is killed.
func (h *Host) writeMade() error {
	var b strings.Builder
	for _, g := range h.groups {
		fmt.Fprintln(&b, filepath.Join(g.own, h.group))
	}
	return os.WriteFile(filepath.Join(h.config.Dir, madeFile), []byte(b.String()), 0o600)
}
