package host

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cgroup is one hierarchy of control groups, version 1.
type cgroup struct {
	Name    string // of its folder below /sys/fs/cgroup
	Options string // that it is mounted with: cpu,cpuacct or name=systemd
	mount   string // where the host has it
	own     string // the caller's group in it
}

// hierarchies are the host's control groups. A machine's are below the caller's: its limits hold for the machines, too.
func hierarchies() ([]cgroup, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	return parseHierarchies(string(mounts), string(groups))
}

func parseHierarchies(mounts, groups string) ([]cgroup, error) {
	own := map[string]string{} // by controllers
	for _, line := range strings.Split(groups, "\n") {
		if f := strings.SplitN(line, ":", 3); len(f) == 3 {
			own[f[1]] = f[2]
		}
	}
	var all []cgroup
	for _, line := range strings.Split(mounts, "\n") {
		before, after, _ := strings.Cut(line, " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if len(f) < 5 || len(g) < 3 || g[0] != "cgroup" {
			continue
		}
		for controllers, group := range own {
			options := strings.Split(g[2], ",")
			if controllers == "" || slices.ContainsFunc(strings.Split(controllers, ","), func(c string) bool { return !slices.Contains(options, c) }) {
				continue
			}
			group, below := strings.CutPrefix(group, strings.TrimSuffix(f[3], "/"))
			if !below {
				return nil, fmt.Errorf("the control group %s of this process is outside of what is mounted on %s", group, f[4])
			}
			all = append(all, cgroup{Name: filepath.Base(f[4]), Options: controllers, mount: f[4], own: filepath.Join(f[4], group)})
		}
	}
	for _, needed := range []string{"name=systemd", "memory", "devices", "pids", "cpuset"} {
		if !slices.ContainsFunc(all, func(g cgroup) bool { return slices.Contains(strings.Split(g.Options, ","), needed) }) {
			return nil, fmt.Errorf("%w: this host has no control groups of version 1 for %s", errors.ErrUnsupported, needed)
		}
	}
	return all, nil
}

// makeGroups makes the machine's groups and puts its first process into them. Limits are on the upper of two groups, which the machine does not see.
func makeGroups(all []cgroup, name string, pid int, memoryMB int, drives []drive) error {
	for _, g := range all {
		upper := filepath.Join(g.own, name)
		inner := filepath.Join(upper, "machine")
		for _, dir := range []string{filepath.Dir(upper), upper, inner} {
			if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			if g.has("cpuset") { // a new group has none, and takes no process
				for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
					text, err := os.ReadFile(filepath.Join(filepath.Dir(dir), file))
					if err == nil {
						err = os.WriteFile(filepath.Join(dir, file), text, 0o644)
					}
					if err != nil {
						return err
					}
				}
			}
		}
		for _, limit := range g.limits(memoryMB, drives) {
			if err := os.WriteFile(filepath.Join(upper, limit[0]), []byte(limit[1]), 0o644); err != nil {
				return fmt.Errorf("limit the machine: %s %s: %w", limit[0], limit[1], err)
			}
		}
		if err := os.WriteFile(filepath.Join(inner, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644); err != nil {
			return fmt.Errorf("put the machine into %s: %w", inner, err)
		}
	}
	return nil
}

func (g cgroup) has(controller string) bool {
	return slices.Contains(strings.Split(g.Options, ","), controller)
}

// limits are files of a machine's group with what is written to them. Whatever node is made in a machine, also by a privileged container: the disks,
// the memory and the log of the host are not for it.
func (g cgroup) limits(memoryMB int, drives []drive) (all [][2]string) {
	if g.has("memory") && memoryMB > 0 {
		all = append(all, [2]string{"memory.limit_in_bytes", strconv.Itoa(memoryMB) + "M"})
	}
	if g.has("devices") {
		// What runc allows every container has to be allowed here, or none starts: tun (10:200) and a console (5:1) are.
		for _, node := range append(otherDrives(drives), "c 1:1", "c 1:2", "c 1:4", "c 1:11", "c 4:*", "c 10:130", "c 10:231", "c 10:232", "c 10:234", "c 10:235", "c 10:237") {
			all = append(all, [2]string{"devices.deny", node + " rw"})
		}
	}
	return all
}

// removeGroups kills whatever is in the groups of this name, and removes them. Groups that are not there are removed already.
func removeGroups(all []cgroup, name string) error {
	var errs []error
	for _, g := range all {
		errs = append(errs, removeGroup(filepath.Join(g.own, name)))
	}
	return errors.Join(errs...)
}

// groupPatience is how long killed processes may take to leave their groups.
const groupPatience = 10 * time.Second

func removeGroup(root string) error {
	for end := time.Now().Add(groupPatience); ; time.Sleep(20 * time.Millisecond) {
		var dirs []string
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return err
		})
		for _, dir := range slices.Backward(dirs) {
			for _, pid := range processes(dir) {
				_ = unix.Kill(pid, unix.SIGKILL) // it may be gone already
			}
			if is := os.Remove(dir); is != nil && !errors.Is(is, fs.ErrNotExist) {
				err = is
			}
		}
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}

// processes are those in a group.
func processes(dir string) (pids []int) {
	f, err := os.Open(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // it was only read
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if pid, err := strconv.Atoi(lines.Text()); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}
