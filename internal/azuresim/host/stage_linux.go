package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// stageName is what a process of the caller's own program is called while it makes itself a machine.
const stageName = "sluice-machine"

// stageSocket is the descriptor over which a stage talks to its host.
const stageSocket = 3

// stage is what a machine's first process is told by its host before it becomes systemd.
type stage struct {
	Root     string            // where the overlay is mounted
	Overlay  string            // its options
	Binds    map[string]string // folders of the host by those in the machine: what an overlay cannot hold
	HostName string
	Cgroups  []cgroup
	Sysctls  map[string]string // by path below /proc/sys: private copies
	Proc     map[string]string // by path below /proc: texts in the place of the host's
	DMI      map[string]string
	Drives   []drive
	Shown    []string // of DMI: where the host has no such class of devices
}

// Stage makes this process a machine's first if it was started for that. It reports true when that failed, and the process is to end; otherwise it was
// not started for that. Every program that opens a host calls it first in its main: a machine begins as another process of that program.
func Stage() (failed bool) {
	if len(os.Args) == 0 || os.Args[0] != stageName {
		return false
	}
	runtime.LockOSThread() // namespaces and capabilities are a thread's
	socket, err := net.FileConn(os.NewFile(stageSocket, "host"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return true
	}
	unix.CloseOnExec(stageSocket)
	err = becomeMachine(socket.(*net.UnixConn))
	_, _ = fmt.Fprintln(socket, err) // a host that is gone ends this process
	return true
}

// becomeMachine returns only when it fails.
func becomeMachine(socket *net.UnixConn) error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("tie this machine to its host: %w", err)
	}
	var s stage
	if err := json.NewDecoder(socket).Decode(&s); err != nil { // also when the host died before it was tied
		return fmt.Errorf("read what this machine is: %w", err)
	}
	// By now the host has put this process into the machine's own control groups: they become the roots of what the machine sees.
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("unshare control groups: %w", err)
	}
	if err := unix.Sethostname([]byte(s.HostName)); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	if err := s.mountAll(); err != nil {
		return err
	}
	console, err := s.console(socket)
	if err != nil {
		return err
	}
	if err := s.enter(); err != nil {
		return err
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	if _, err := unix.Setsid(); err != nil {
		return fmt.Errorf("setsid: %w", err)
	}
	unix.Umask(0)
	for fd := range 3 {
		if err := unix.Dup2(console, fd); err != nil {
			return fmt.Errorf("take the console: %w", err)
		}
	}
	env := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TERM=vt220"}
	return fmt.Errorf("start systemd: %w", unix.Exec("/lib/systemd/systemd", []string{"/sbin/init"}, env))
}

// A mounting is one call of mount.
type mounting struct {
	source, target, kind string
	flags                uintptr
	data                 string
}

func (m mounting) do() error {
	if err := unix.Mount(m.source, m.target, m.kind, m.flags, m.data); err != nil {
		return fmt.Errorf("mount %s (%s) on %s: %w", m.source, m.kind, m.target, err)
	}
	return nil
}

func doAll(all ...mounting) error {
	for _, m := range all {
		if err := m.do(); err != nil {
			return err
		}
	}
	return nil
}

const (
	harmless = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	readOnly = unix.MS_REMOUNT | unix.MS_BIND | unix.MS_RDONLY | harmless
)

// mountAll makes the machine's file systems below s.Root, in a mount namespace of its own.
func (s *stage) mountAll() error {
	// Before anything else: what is mounted below stays in this namespace.
	if err := (mounting{target: "/", flags: unix.MS_REC | unix.MS_PRIVATE}).do(); err != nil {
		return err
	}
	if err := doAll(
		mounting{"overlay", s.Root, "overlay", 0, s.Overlay},
		mounting{"proc", s.in("proc"), "proc", harmless, ""},
		mounting{"sysfs", s.in("sys"), "sysfs", harmless | unix.MS_RDONLY, ""},
		mounting{"tmpfs", s.in("dev"), "tmpfs", unix.MS_NOSUID, "mode=0755,size=1m"},
		mounting{"tmpfs", s.in("run"), "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=0755,size=256m"},
	); err != nil {
		return err
	}
	for _, part := range []func() error{s.devices, s.kernel, s.hardware, s.controlGroups, s.folders} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) in(path string) string { return filepath.Join(s.Root, path) }

// devices makes nodes of the machine's own. A mode that systemd sets on one of them is not that of the host's.
func (s *stage) devices() error {
	for name, number := range map[string]uint64{
		"null": unix.Mkdev(1, 3), "zero": unix.Mkdev(1, 5), "full": unix.Mkdev(1, 7), "random": unix.Mkdev(1, 8), "urandom": unix.Mkdev(1, 9),
		"tty":  unix.Mkdev(5, 0),
		"kmsg": unix.Mkdev(1, 3), // reads nothing: the kernel's log is the host's
	} {
		if err := unix.Mknod(s.in("dev/"+name), unix.S_IFCHR|0o666, int(number)); err != nil {
			return fmt.Errorf("make the device %s: %w", name, err)
		}
		if err := os.Chmod(s.in("dev/"+name), 0o666); err != nil { // whatever the umask
			return err
		}
	}
	for name, target := range map[string]string{
		"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx",
	} {
		if err := os.Symlink(target, s.in("dev/"+name)); err != nil {
			return err
		}
	}
	for _, d := range s.Drives {
		if err := d.show(s.in("dev")); err != nil {
			return err
		}
	}
	for _, name := range []string{"pts", "shm", "mqueue"} {
		if err := os.Mkdir(s.in("dev/"+name), 0o755); err != nil {
			return err
		}
	}
	return doAll(
		mounting{"devpts", s.in("dev/pts"), "devpts", unix.MS_NOSUID | unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620,gid=5"},
		mounting{"tmpfs", s.in("dev/shm"), "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=1777"},
	)
}

// kernel shows the host's kernel and keeps its settings from being changed. Those of the network are the machine's own. Those that a kubelet sets are
// private copies, as are texts that tell of the machine and not of the host.
func (s *stage) kernel() error {
	sys, network := s.in("proc/sys"), s.in("proc/sys/net")
	if err := doAll(
		mounting{source: sys, target: sys, flags: unix.MS_BIND},
		mounting{source: network, target: network, flags: unix.MS_BIND},
		mounting{target: sys, flags: readOnly},
	); err != nil {
		return err
	}
	for _, name := range []string{"sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi"} {
		path := s.in("proc/" + name)
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := doAll(mounting{source: path, target: path, flags: unix.MS_BIND}, mounting{target: path, flags: readOnly}); err != nil {
			return err
		}
	}
	private := s.in("run/host/proc")
	if err := os.MkdirAll(private, 0o755); err != nil {
		return err
	}
	texts := map[string]string{}
	for name, text := range s.Sysctls {
		texts["sys/"+name] = text
	}
	for name, text := range s.Proc {
		texts[name] = text
	}
	for name, text := range texts {
		target := s.in("proc/" + name)
		if _, err := os.Stat(target); errors.Is(err, fs.ErrNotExist) {
			continue // a kernel without this setting
		}
		file := filepath.Join(private, strings.ReplaceAll(name, "/", "."))
		if err := os.WriteFile(file, []byte(text+"\n"), 0o644); err != nil {
			return err
		}
		if err := (mounting{source: file, target: target, flags: unix.MS_BIND}).do(); err != nil {
			return err
		}
	}
	return nil
}

// hardware shows the machine's firmware: by its chassis cloud-init knows Azure, by its serial number the kubelet knows the machine.
func (s *stage) hardware() error {
	firmware := s.in("run/host/dmi")
	id := filepath.Join(firmware, "class", "dmi", "id")
	if err := os.MkdirAll(id, 0o755); err != nil {
		return err
	}
	for name, text := range s.DMI {
		if err := os.WriteFile(filepath.Join(id, name), []byte(text+"\n"), 0o444); err != nil {
			return err
		}
	}
	if shown, err := filepath.EvalSymlinks(s.in("sys/class/dmi/id")); err == nil {
		return mounting{source: id, target: shown, flags: unix.MS_BIND}.do()
	}
	class := s.in("sys/class")
	return mounting{"overlay", class, "overlay", unix.MS_RDONLY | harmless, "lowerdir=" + filepath.Join(firmware, "class") + ":" + class}.do()
}

// controlGroups shows the machine's own groups as if there were no others.
func (s *stage) controlGroups() error {
	root := s.in("sys/fs/cgroup")
	if err := (mounting{"tmpfs", root, "tmpfs", harmless, "mode=0755,size=1m"}).do(); err != nil {
		return err
	}
	for _, g := range s.Cgroups {
		target := filepath.Join(root, g.Name)
		if err := os.Mkdir(target, 0o755); err != nil {
			return err
		}
		if err := (mounting{"cgroup", target, "cgroup", harmless, g.Options}).do(); err != nil {
			return err
		}
	}
	return mounting{target: root, flags: readOnly}.do()
}

// folders brings folders of the host that hold what an overlay cannot: another overlay.
func (s *stage) folders() error {
	for target, source := range s.Binds {
		if err := os.MkdirAll(s.in(target), 0o755); err != nil {
			return err
		}
		if err := (mounting{source: source, target: s.in(target), flags: unix.MS_BIND}).do(); err != nil {
			return err
		}
	}
	return nil
}

// console makes the machine's console and gives its other side to the host. The host also holds the machine's side: otherwise reading ends whenever
// nobody in the machine has it open.
func (s *stage) console(socket *net.UnixConn) (int, error) {
	master, err := unix.Open(s.in("dev/pts/ptmx"), unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("open a console: %w", err)
	}
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return 0, fmt.Errorf("unlock the console: %w", err)
	}
	number, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	if err != nil {
		return 0, fmt.Errorf("number the console: %w", err)
	}
	name := s.in(fmt.Sprintf("dev/pts/%d", number))
	side, err := unix.Open(name, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("open the console: %w", err)
	}
	// Wide, so that systemd does not shorten what it says of its units.
	if err := unix.IoctlSetWinsize(side, unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 200}); err != nil {
		return 0, fmt.Errorf("size the console: %w", err)
	}
	if err := os.WriteFile(s.in("dev/console"), nil, 0o600); err != nil {
		return 0, err
	}
	if err := (mounting{source: name, target: s.in("dev/console"), flags: unix.MS_BIND}).do(); err != nil {
		return 0, err
	}
	if _, _, err := socket.WriteMsgUnix([]byte("console\n"), unix.UnixRights(master, side), nil); err != nil {
		return 0, fmt.Errorf("hand over the console: %w", err)
	}
	return side, nil
}

// enter makes s.Root the root of everything, with nothing of the host below it.
func (s *stage) enter() error {
	if err := unix.Chdir(s.Root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("enter the machine's root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the host's root: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	// A kubelet hands mounts to its containers and takes some back.
	return mounting{target: "/", flags: unix.MS_REC | unix.MS_SHARED}.do()
}

// lacking are capabilities that a machine does not have: what they change is the kernel's, and so the host's.
var lacking = []uintptr{
	unix.CAP_SYS_TIME, unix.CAP_SYS_MODULE, unix.CAP_SYS_RAWIO, unix.CAP_SYSLOG, unix.CAP_SYS_TTY_CONFIG, unix.CAP_SYS_PACCT,
	unix.CAP_MAC_ADMIN, unix.CAP_MAC_OVERRIDE, unix.CAP_AUDIT_CONTROL, unix.CAP_WAKE_ALARM, unix.CAP_BLOCK_SUSPEND,
}

func dropCapabilities() error {
	for _, c := range lacking {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	return nil
}
