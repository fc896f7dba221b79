package host

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// machine is one that was switched on at least once.
type machine struct {
	Machine
	host    *Host
	dir     string
	console console

	asking sync.Mutex // one script at a time

	turn sync.Mutex // one switches it at a time
	mu   sync.Mutex
	on   bool          // it is meant to run: one that reboots from inside boots again
	pid  int           // of its first process; 0: it is off
	over chan struct{} // closed when that process has ended
	held []*os.File    // its data disks, as long as it runs
	told *commands     // of this boot
}

func newMachine(h *Host, m Machine) *machine {
	return &machine{Machine: m, host: h, dir: filepath.Join(h.config.Dir, "machines", m.VMID), told: newCommands()}
}

// commands are what the machine's agent is told in this boot.
func (m *machine) commands() *commands {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.told
}

func (m *machine) running() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pid != 0
}

func (m *machine) powerOn() error {
	m.turn.Lock()
	defer m.turn.Unlock()
	return m.turnOn()
}

// reboot boots a machine that ended to boot again, unless somebody switched it off or away in between.
func (m *machine) reboot() error {
	m.turn.Lock()
	defer m.turn.Unlock()
	m.mu.Lock()
	on := m.on
	m.mu.Unlock()
	if !on {
		return nil
	}
	return m.turnOn()
}

// turnOn is for whoever has the turn.
func (m *machine) turnOn() error {
	if m.running() {
		return nil
	}
	if err := m.makeDisk(); err != nil {
		return fmt.Errorf("make the disk of %s: %w", m.Name, err)
	}
	if err := m.boot(); err != nil {
		m.releaseDisks()
		return fmt.Errorf("boot %s: %w", m.Name, err)
	}
	return nil
}

// powerSignal asks systemd to switch off: SIGRTMIN+4.
const powerSignal = syscall.Signal(34 + 4)

func (m *machine) powerOff(ctx context.Context) error {
	m.turn.Lock()
	defer m.turn.Unlock()
	m.mu.Lock()
	pid, over := m.pid, m.over
	m.on = false
	m.mu.Unlock()
	if pid == 0 {
		return nil
	}
	if ctx.Err() == nil {
		_ = unix.Kill(pid, powerSignal) // it may have ended just now
		select {
		case <-over:
		case <-ctx.Done():
		}
	}
	m.mu.Lock()
	if m.pid == pid {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	m.mu.Unlock()
	<-over
	return nil
}

// makeDisk makes what differs from other machines, once.
func (m *machine) makeDisk() error {
	if _, err := os.Stat(filepath.Join(m.dir, "upper")); err == nil {
		return nil
	}
	for _, name := range append([]string{"root", "work", "upper.new/etc", "upper.new/var/lib/waagent"}, folders...) {
		if err := os.MkdirAll(filepath.Join(m.dir, name), 0o755); err != nil {
			return err
		}
	}
	for _, name := range folders {
		if err := fillFolder(m.host.config.Image, name, filepath.Join(m.dir, name)); err != nil {
			return err
		}
	}
	for name, text := range map[string][]byte{
		"etc/machine-id":              []byte(m.machineID() + "\n"),
		"etc/hostname":                []byte(m.Name + "\n"),
		"var/lib/waagent/ovf-env.xml": provisioningDocument(m.Machine), // where cloud-init keeps what it found on Azure's first disk
	} {
		mode := os.FileMode(0o644)
		if strings.HasSuffix(name, ".xml") {
			mode = 0o600
		}
		if err := os.WriteFile(filepath.Join(m.dir, "upper.new", name), text, mode); err != nil {
			return err
		}
	}
	return os.Rename(filepath.Join(m.dir, "upper.new"), filepath.Join(m.dir, "upper"))
}

// stage is what the machine's first process is told.
func (m *machine) stage() stage {
	s := stage{
		Root: filepath.Join(m.dir, "root"), HostName: m.Name, Cgroups: m.host.groups, Binds: map[string]string{},
		Overlay: fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s",
			strings.Join(m.host.config.Image, ":"), filepath.Join(m.dir, "upper"), filepath.Join(m.dir, "work")),
		Sysctls: map[string]string{ // what a kubelet wants to find
			"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
			"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
			"kernel/random/boot_id": newBootID(), // by which a kubelet knows a reboot
		},
		Proc: map[string]string{
			"cmdline": "BOOT_IMAGE=/boot/vmlinuz root=/dev/sda1 ro console=ttyS0 systemd.show_status=1",
		},
		DMI: map[string]string{
			"chassis_asset_tag": "7783-7084-3265-9085-8269-3286-77", "chassis_vendor": "Microsoft Corporation", "sys_vendor": "Microsoft Corporation",
			"product_name": "Virtual Machine", "product_version": "7.0", "board_vendor": "Microsoft Corporation", "board_name": "Virtual Machine",
			"bios_vendor": "American Megatrends Inc.", "product_uuid": m.VMID, "product_serial": m.VMID, "chassis_serial": m.VMID, "board_serial": m.VMID,
		},
	}
	for _, name := range folders {
		s.Binds[name] = filepath.Join(m.dir, name)
	}
	if m.MemoryMB > 0 {
		s.Proc["meminfo"] = memoryText(m.MemoryMB)
	}
	return s
}

func newBootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/uuid")
	if err != nil {
		return "00000000-0000-0000-0000-000000000000"
	}
	return strings.TrimSpace(string(id))
}

// memoryText is a /proc/meminfo of a machine of this size. It does not move: the kubelet measures by control groups.
func memoryText(mb int) string {
	kb := mb * 1024
	var b strings.Builder
	for _, line := range []struct {
		name string
		kb   int
	}{{"MemTotal", kb}, {"MemFree", kb / 2}, {"MemAvailable", kb * 3 / 4}, {"Buffers", 0}, {"Cached", kb / 4}, {"SwapCached", 0}, {"Shmem", 0}, {"SReclaimable", 0}, {"SwapTotal", 0}, {"SwapFree", 0}} {
		fmt.Fprintf(&b, "%-16s%8d kB\n", line.name+":", line.kb)
	}
	return strings.TrimSpace(b.String())
}

// bootPatience is how long a machine's first process may take to become systemd.
const bootPatience = time.Minute

// boot starts the machine's first process and waits until it is systemd.
func (m *machine) boot() error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "machine"), os.NewFile(uintptr(pair[1]), "host")
	conn, err := net.FileConn(ours)
	_ = ours.Close() // the connection has a copy
	if err != nil {
		return errors.Join(err, theirs.Close())
	}
	socket := conn.(*net.UnixConn)
	defer func() { _ = socket.Close() }() // the machine has its own
	_ = socket.SetDeadline(time.Now().Add(bootPatience))

	pid, over, err := m.start(theirs)
	_ = theirs.Close()
	if err != nil {
		return err
	}
	if err := m.host.introduce(m, pid, socket); err != nil {
		_ = unix.Kill(pid, unix.SIGKILL)
		<-over
		return err
	}
	return nil
}

// introduce gives a machine's first process its place: control groups and network. It then tells it what it is, and waits until it has become that.
func (h *Host) introduce(m *machine, pid int, socket *net.UnixConn) error {
	if err := h.writeMade(); err != nil {
		return err
	}
	drives, err := m.attachDisks()
	if err != nil {
		return err
	}
	if err := makeGroups(h.groups, filepath.Join(h.group, m.VMID), pid, m.MemoryMB, drives); err != nil {
		return err
	}
	if err := h.network.plug(pid, m.Machine); err != nil {
		return err
	}
	s := m.stage()
	s.Drives = drives
	if err := json.NewEncoder(socket).Encode(s); err != nil {
		return err
	}
	text, files, err := hear(socket)
	if err != nil {
		return err
	}
	if len(files) == 2 { // the console's far side, and the machine's own, which is held until the far side ends
		go func() {
			m.console.read(files[0])
			_ = files[1].Close()
		}()
		m.mu.Lock()
		over := m.over
		m.mu.Unlock()
		go func() {
			<-over
			_ = files[0].Close() // ends the reading
		}()
	}
	rest, err := io.ReadAll(bufio.NewReader(socket)) // ends when the descriptor closes as systemd starts
	if err != nil {
		return err
	}
	text = strings.TrimSpace(strings.TrimPrefix(text+string(rest), "console\n"))
	if text != "" {
		return errors.New(text)
	}
	return nil
}

// hear reads what a stage says first, with the files that it hands over.
func hear(socket *net.UnixConn) (text string, files []*os.File, err error) {
	buffer, control := make([]byte, 4096), make([]byte, unix.CmsgSpace(2*4))
	n, c, _, _, err := socket.ReadMsgUnix(buffer, control)
	if err != nil {
		return "", nil, fmt.Errorf("the machine's first process ended: %w", err)
	}
	messages, err := unix.ParseSocketControlMessage(control[:c])
	if err != nil {
		return "", nil, err
	}
	for _, message := range messages {
		fds, err := unix.ParseUnixRights(&message)
		if err != nil {
			return "", nil, err
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			if err := unix.SetNonblock(fd, true); err != nil { // so that closing it ends a read
				return "", nil, err
			}
			files = append(files, os.NewFile(uintptr(fd), "console"))
		}
	}
	return string(buffer[:n]), files, nil
}

// start starts the machine's first process, and watches over it from a thread that lives as long: the process is tied to the thread.
func (m *machine) start(theirs *os.File) (pid int, over chan struct{}, err error) {
	started := make(chan error)
	over = make(chan struct{})
	cmd := exec.Command("/proc/self/exe")
	cmd.Args, cmd.ExtraFiles, cmd.Stderr, cmd.Dir = []string{stageName}, []*os.File{theirs}, os.Stderr, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWNET,
		Pdeathsig:  syscall.SIGKILL,
	}
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		m.mu.Lock()
		m.on, m.pid, m.over, m.told = true, cmd.Process.Pid, over, newCommands()
		m.mu.Unlock()
		started <- nil
		_ = cmd.Wait() // how it ended is in the state
		m.ended(cmd.ProcessState.Sys().(syscall.WaitStatus), over)
	}()
	if err := <-started; err != nil {
		return 0, nil, err
	}
	return cmd.Process.Pid, over, nil
}

// ended is told that the machine's first process has ended. The kernel ends it by SIGHUP when the machine rebooted, by SIGINT when it switched off.
func (m *machine) ended(how syscall.WaitStatus, over chan struct{}) {
	_ = removeGroups(m.host.groups, filepath.Join(m.host.group, m.VMID)) // else Close does
	m.releaseDisks()
	m.mu.Lock()
	again := m.on && how.Signaled() && how.Signal() == syscall.SIGHUP
	m.pid = 0
	m.mu.Unlock()
	close(over)
	switch {
	case again:
		m.host.config.Say("%s reboots", m.Name)
		go func() {
			if err := m.reboot(); err != nil {
				m.host.config.Say("%s does not come up: %v", m.Name, err)
			}
		}()
	case how.Signaled() && how.Signal() == syscall.SIGINT:
		m.host.config.Say("%s switched off", m.Name)
	default:
		m.host.config.Say("%s ended: %s", m.Name, strconv.Quote(describe(how)))
	}
}

func describe(how syscall.WaitStatus) string {
	if how.Signaled() {
		return how.Signal().String()
	}
	return "exit " + strconv.Itoa(how.ExitStatus())
}
