//go:build boot

package host

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// launcherEnv makes this program a host with one machine in the folder that it names, until it is killed.
const launcherEnv = "SLUICE_TEST_LAUNCHER"

func TestMain(m *testing.M) {
	if Stage() {
		os.Exit(1)
	}
	if dir := os.Getenv(launcherEnv); dir != "" {
		if err := launch(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if err := Able(); errors.Is(err, errors.ErrUnsupported) && os.Getenv("ALLOW_SKIP") != "" {
		fmt.Fprintf(os.Stderr, "boot-test: LEFT OUT, as ALLOW_SKIP allows: no machine booted, nothing was tried.\nboot-test: %v\n", err)
		return
	}
	os.Exit(m.Run())
}

// launch boots a machine, says so, and lives until somebody kills it.
func launch(dir string) error {
	h, err := Open(Config{Dir: dir, Image: []string{os.Getenv("SLUICE_TEST_ROOT")}})
	if err != nil {
		return err
	}
	if err := h.PowerOn(one); err != nil {
		return err
	}
	if err := await(h, one.ID, "THE MACHINE IS UP"); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(os.Stdout, "up")
	select {}
}

// one is a machine that touches what a system touches, and more: each line of it has changed a host that did not keep it off.
var one = Machine{
	ID: "/one", VMID: "3f0d1a52-8a7b-4c58-9d0a-0123456789ab", Name: "one", Address: netip.MustParseAddr("10.0.0.4"), MAC: "00:0d:0a:00:00:04", MemoryMB: 1024,
	Disks: []Disk{{ID: "/disks/data", LUN: 0, SizeGB: 1}},
	Data: []byte(`#cloud-config
runcmd:
- chmod 0600 /dev/null /dev/zero /dev/tty /dev/random
- for f in vm/overcommit_memory kernel/panic kernel/core_pattern fs/file-max kernel/printk vm/swappiness; do echo 3 > /proc/sys/$f; done
- echo 1 > /proc/sys/net/ipv4/ip_forward
- date --set 2001-01-01
- hostname changed
- for f in /sys/block/*/queue/read_ahead_kb; do echo 77 > $f; done
- mkdir -p /mnt/x && mount -t tmpfs none /mnt/x
- ip link add dummy9 type veth peer name dummy8
- iptables -t nat -A POSTROUTING -j MASQUERADE
- mknod /root/disk b $(cat /sys/block/vda/dev 2>/dev/null | tr ':' ' ' | grep . || echo 8 0) && head -c 512 /root/disk | wc -c > /dev/console
- mkfs.ext4 -q -F /dev/disk/azure/scsi1/lun0 && mkdir -p /mnt/data && mount /dev/disk/azure/data/by-lun/0 /mnt/data && echo THE DISK IS MOUNTED > /dev/console
- for n in 0 1 2 3 4 5 6 7; do mknod /root/loop$n b 7 $n; head -c 1 /root/loop$n > /dev/null && echo "A LOOP DEVICE OPENS" > /dev/console; done
- sleep 9999 &
- echo THE MACHINE IS UP > /dev/console
`),
}

// await waits until a machine's console shows a text.
func await(h *Host, id, text string) error { return awaitNew(h, id, "", text) }

// awaitNew waits until it shows a text after what it showed before.
func awaitNew(h *Host, id, before, text string) error {
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		said, _ := h.Console(id)
		if strings.Contains(strings.TrimPrefix(said, before), text) {
			return nil
		}
	}
	said, _ := h.Console(id)
	return fmt.Errorf("no %q in three minutes:\n%s", text, said)
}

func root(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	root, err := Root(t.Context(), filepath.Join(cache, "sluice", "boot"), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// hostState is what a machine must leave as it is, as lines by what they are of.
func hostState(t *testing.T) map[string][]string {
	t.Helper()
	s := map[string][]string{}
	walk := func(kind, top string, line func(path string, info fs.FileInfo) string) {
		_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			info, err := d.Info()
			if err != nil {
				return nil
			}
			if text := line(path, info); text != "" {
				s[kind] = append(s[kind], text)
			}
			return nil
		})
	}
	walk("/dev", "/dev", func(path string, info fs.FileInfo) string {
		if strings.HasPrefix(path, "/dev/pts/") || strings.HasPrefix(path, "/dev/shm/") {
			return ""
		}
		st := info.Sys().(*syscall.Stat_t)
		return fmt.Sprintf("%s %v %d:%d %x", path, info.Mode(), st.Uid, st.Gid, st.Rdev)
	})
	moving := []string{"fs/dentry-state", "fs/file-nr", "fs/inode-", "fs/aio-nr", "fs/quota/", "kernel/random/", "kernel/ns_last_pid", "kernel/pty/nr", "net/netfilter/nf_conntrack_count", "kernel/perf_event_max_sample_rate"}
	walk("/proc/sys", "/proc/sys", func(path string, info fs.FileInfo) string {
		name := strings.TrimPrefix(path, "/proc/sys/")
		if info.IsDir() || info.Mode()&0o400 == 0 || slices.ContainsFunc(moving, func(m string) bool { return strings.HasPrefix(name, m) }) {
			return ""
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return ""
		}
		return name + " " + strings.TrimSpace(string(text))
	})
	queues, _ := filepath.Glob("/sys/block/*/queue/read_ahead_kb")
	for _, q := range queues {
		text, _ := os.ReadFile(q)
		s["disks"] = append(s["disks"], q+" "+string(text))
	}
	// Groups of others come and go; ours are below this process's, in every hierarchy, or have our name.
	walk("cgroups", "/sys/fs/cgroup", func(path string, info fs.FileInfo) string {
		if !info.IsDir() || !strings.Contains(path, "sluice-host") {
			return ""
		}
		return path
	})
	groups, err := hierarchies()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		for _, limit := range g.limits(1, nil) {
			text, _ := os.ReadFile(filepath.Join(g.own, limit[0]))
			s["limits"] = append(s["limits"], limit[0]+" "+string(text))
		}
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	s["mounts"] = strings.Split(string(mounts), "\n")
	name, _ := os.Hostname()
	s["host name"] = []string{name}
	s["loop devices in use"], _ = filepath.Glob("/sys/block/loop*/loop/backing_file")
	s["modules"] = lines("cat", "/proc/modules")
	for _, command := range []string{"ip -o link", "ip -o addr", "ip route show table all", "ip rule", "ip netns list", "iptables-save", "nft list ruleset", "cat /proc/net/ip_tables_names", "swapon --show"} {
		s[command] = lines(strings.Fields(command)...)
	}
	s["tmpfs /run"], _ = filepath.Glob("/run/*")
	return s
}

// lines are what a command prints; a command that is not there prints nothing.
func lines(command ...string) []string {
	out, _ := exec.Command(command[0], command[1:]...).Output()
	return strings.Split(string(out), "\n")
}

// unchanged compares what the host is with what it was.
func unchanged(t *testing.T, before map[string][]string) {
	t.Helper()
	if diff := cmp.Diff(before, hostState(t)); diff != "" {
		t.Errorf("the host is not what it was (-before +after):\n%s", diff)
	}
	if drift := time.Since(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)); drift < 0 {
		t.Errorf("the clock of the host was set back: %v", time.Now())
	}
}

// children are the processes in control groups of the host with this folder.
func children(t *testing.T, dir string) (pids []int) {
	t.Helper()
	groups, err := hierarchies()
	if err != nil {
		t.Fatal(err)
	}
	_ = filepath.WalkDir(filepath.Join(groups[0].own, groupName(dir)), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			pids = append(pids, processes(path)...)
		}
		return nil
	})
	return pids
}

func TestAMachineLeavesTheHostAsItWas(t *testing.T) {
	dir := t.TempDir()
	_ = root(t)
	before := hostState(t)
	h, err := Open(Config{Dir: dir, Image: []string{root(t)}, Say: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := h.PowerOn(one); err != nil {
		_ = h.Close()
		t.Fatal(err)
	}
	err = await(h, one.ID, "THE MACHINE IS UP")
	t.Logf("up after %v, %d processes", time.Since(start).Round(100*time.Millisecond), len(children(t, dir)))
	if err != nil {
		t.Error(err)
	}
	console, _ := h.Console(one.ID)
	t.Log(console)
	if mounted, opens := strings.Contains(console, "\nTHE DISK IS MOUNTED"), strings.Count(console, "\nA LOOP DEVICE OPENS"); !mounted || opens != 1 {
		t.Errorf("its disk is mounted: %v, and it can open %d loop devices, which should be its own", mounted, opens)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	unchanged(t, before)
}

func TestALauncherThatIsKilledLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	before := hostState(t)
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), launcherEnv+"="+dir, "SLUICE_TEST_ROOT="+root(t))
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "up\n" {
		t.Fatalf("the launcher says %q, %v\n%s", line, err, said.String())
	}
	if len(children(t, dir)) < 5 {
		t.Error("the machine runs nothing, so nothing is proved")
	}
	if err := Clean(dir); err == nil {
		t.Error("the folder of a host that lives was cleaned")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for end := time.Now().Add(10 * time.Second); len(children(t, dir)) > 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
	}
	if left := children(t, dir); len(left) > 0 {
		t.Errorf("processes %v outlive their launcher", left)
	}
	for range 2 { // also of a folder that is clean
		if err := Clean(dir); err != nil {
			t.Error(err)
		}
	}
	unchanged(t, before)
	if _, err := os.Stat(filepath.Join(dir, "machines")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("disks are left: %v", err)
	}
}

func TestAMachineRebootsSwitchesOffAndKeepsItsDisk(t *testing.T) {
	m := one
	m.Data = []byte(`#cloud-config
bootcmd:
- [sh, -c, "echo A BOOT $(cat /root/kept) > /dev/console 2>&1"]
runcmd:
- echo WITH A DISK > /root/kept
- python3 -c "import urllib.request as u; print(u.urlopen('http://169.254.169.254/metadata/any').read().decode())" > /dev/console
- reboot
`)
	var mu sync.Mutex
	var said []string
	h, err := Open(Config{
		Dir: t.TempDir(), Image: []string{root(t)},
		Metadata: func(id string) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "METADATA OF", id, r.URL.Path) })
		},
		Say: func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, fmt.Sprintf(format, args...))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := h.PowerOn(m); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"METADATA OF /one /metadata/any", "A BOOT WITH A DISK"} {
		if err := await(h, m.ID, text); err != nil {
			t.Fatal(err)
		}
	}
	patient, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := h.PowerOff(patient, m.ID); err != nil || patient.Err() != nil || h.Running(m.ID) {
		t.Errorf("the machine did not end in order: %v, %v", err, patient.Err())
	}
	before, _ := h.Console(m.ID)
	if err := h.PowerOn(m); err != nil {
		t.Fatal(err)
	}
	if err := awaitNew(h, m.ID, before, "A BOOT WITH A DISK"); err != nil {
		t.Error(err)
	}
	if kept, err := h.ReadFile(m.ID, "/root/kept"); err != nil || string(kept) != "WITH A DISK\n" {
		t.Errorf("on its disk is %q, %v", kept, err)
	}
	if err := h.Delete(m.ID); err != nil || h.Running(m.ID) {
		t.Errorf("delete: %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{"one reboots", "one switched off"} {
		if !slices.Contains(said, want) {
			t.Errorf("nobody said %q, but %q", want, said)
		}
	}
}
