package host

import (
	"errors"
	"strings"
	"testing"
)

const mountsV1 = `36 30 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
37 30 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
38 30 0:32 /docker/1 /sys/fs/cgroup/devices rw - cgroup cgroup rw,devices
39 30 0:33 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
40 30 0:34 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset
41 30 0:35 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
42 30 0:36 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
43 30 0:36 / /home rw - ext4 /dev/sda rw
`

const groupsV1 = "6:name=systemd:/\n5:cpuset:/\n4:pids:/\n3:devices:/docker/1/own\n2:memory:/own\n1:cpu,cpuacct:/own\n0::/\n"

func TestAMachinesGroupsAreBelowTheCallers(t *testing.T) {
	all, err := parseHierarchies(mountsV1, groupsV1)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, g := range all {
		got[g.Options+" as "+g.Name] = g.own
	}
	for name, want := range map[string]string{
		"cpu,cpuacct as cpu,cpuacct": "/sys/fs/cgroup/cpu,cpuacct/own", "memory as memory": "/sys/fs/cgroup/memory/own",
		"devices as devices": "/sys/fs/cgroup/devices/own", "name=systemd as systemd": "/sys/fs/cgroup/systemd",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	if len(all) != 6 {
		t.Errorf("%d hierarchies, want 6: %v", len(all), got)
	}
	// A host with version 2 alone is told apart from a mistake.
	if _, err := parseHierarchies("42 30 0:36 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/own\n"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("version 2: %v", err)
	}
	if _, err := parseHierarchies(mountsV1, strings.Replace(groupsV1, "/docker/1/own", "/elsewhere", 1)); err == nil {
		t.Error("a group outside of what is mounted was taken")
	}
}
