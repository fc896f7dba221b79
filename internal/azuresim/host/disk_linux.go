package host

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// disksFolder is where data disks are, below a host's folder.
const disksFolder = "disks"

// drive is a data disk as a machine sees it: a loop device of the host's, which lives as long as somebody holds it.
type drive struct {
	LUN   int
	Minor uint32
}

// loopMajor is the number of loop devices.
const loopMajor = 7

// attachDisks makes block devices of the machine's data disks, and holds them.
func (m *machine) attachDisks() (drives []drive, err error) {
	for _, d := range m.Disks {
		file, err := m.host.diskFile(d)
		if err != nil {
			return nil, fmt.Errorf("disk %s: %w", d.ID, err)
		}
		loop, err := attachLoop(file)
		_ = file.Close() // the loop device has it
		if err != nil {
			return nil, fmt.Errorf("disk %s: %w", d.ID, err)
		}
		m.mu.Lock()
		m.held = append(m.held, loop)
		m.mu.Unlock()
		var st unix.Stat_t
		if err := unix.Fstat(int(loop.Fd()), &st); err != nil {
			return nil, err
		}
		drives = append(drives, drive{d.LUN, unix.Minor(st.Rdev)})
	}
	return drives, nil
}

// releaseDisks lets go of them: each ends as soon as nothing in the machine has it.
func (m *machine) releaseDisks() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range m.held {
		_ = f.Close() // nothing was written through it
	}
	m.held = nil
}

// diskFile is a disk's content: a file that takes only the room of what was written.
func (h *Host) diskFile(d Disk) (*os.File, error) {
	folder := filepath.Join(h.config.Dir, disksFolder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(strings.ToLower(d.ID)))
	file, err := os.OpenFile(filepath.Join(folder, hex.EncodeToString(sum[:8])), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if size := int64(max(d.SizeGB, 1)) << 30; err == nil && info.Size() < size { // a disk can grow
		err = file.Truncate(size)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// attachLoop makes a free loop device show a file. Of those that are there: making another would leave it on the host.
func attachLoop(file *os.File) (*os.File, error) {
	names, err := filepath.Glob("/dev/loop[0-9]*")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	for _, name := range names {
		loop, err := os.OpenFile(name, os.O_RDWR, 0)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENXIO) {
			continue
		}
		if err != nil {
			return nil, err
		}
		config := unix.LoopConfig{Fd: uint32(file.Fd())}
		config.Info.Flags = unix.LO_FLAGS_AUTOCLEAR // also when this process is killed
		err = unix.IoctlLoopConfigure(int(loop.Fd()), &config)
		if err == nil {
			return loop, nil
		}
		_ = loop.Close() // somebody else's
		if !errors.Is(err, unix.EBUSY) {
			return nil, fmt.Errorf("configure %s: %w", name, err)
		}
	}
	return nil, fmt.Errorf("this host has no free loop device (%d in use)", len(names))
}

// show makes the disk's device in a machine's folder of devices, under the names that Azure's images have for it.
func (d drive) show(dev string) error {
	name := fmt.Sprintf("sd%c", 'c'+d.LUN) // behind the system's and the temporary disk
	if err := unix.Mknod(filepath.Join(dev, name), unix.S_IFBLK|0o660, int(unix.Mkdev(loopMajor, d.Minor))); err != nil {
		return fmt.Errorf("make the device of the disk at LUN %d: %w", d.LUN, err)
	}
	for _, folder := range []string{"disk/azure/data/by-lun/", "disk/azure/scsi1/lun"} {
		link := filepath.Join(dev, fmt.Sprint(folder, d.LUN))
		if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
			return err
		}
		if err := os.Symlink("/dev/"+name, link); err != nil {
			return err
		}
	}
	return nil
}

// otherDrives are the block devices that a machine must not have: all but its own. Control groups know no exception of what is forbidden as a whole, which
// is why a machine with disks has them one by one.
func otherDrives(own []drive) (nodes []string) {
	if len(own) == 0 {
		return []string{"b *:*"}
	}
	const majors, loops = 512, 256
	for major := range majors {
		if major != loopMajor {
			nodes = append(nodes, fmt.Sprintf("b %d:*", major))
		}
	}
	for minor := range uint32(loops) {
		if !slices.ContainsFunc(own, func(d drive) bool { return d.Minor == minor }) {
			nodes = append(nodes, fmt.Sprintf("b %d:%d", loopMajor, minor))
		}
	}
	return nodes
}
