package host

import (
	"slices"
	"testing"
)

func TestAMachineMayHaveItsOwnDisksAndNoOther(t *testing.T) {
	if got := otherDrives(nil); !slices.Equal(got, []string{"b *:*"}) {
		t.Errorf("without disks it is denied %v", got)
	}
	denied := otherDrives([]drive{{LUN: 0, Minor: 3}, {LUN: 5, Minor: 0}})
	for _, node := range []string{"b *:*", "b 7:*", "b 7:3", "b 7:0"} {
		if slices.Contains(denied, node) {
			t.Errorf("its own disk is denied: %s", node)
		}
	}
	for _, node := range []string{"b 0:*", "b 6:*", "b 8:*", "b 254:*", "b 259:*", "b 511:*", "b 7:1", "b 7:2", "b 7:255"} {
		if !slices.Contains(denied, node) {
			t.Errorf("the disk of another is not denied: %s", node)
		}
	}
}

func TestADiskKeepsWhatWasWrittenAndGrows(t *testing.T) {
	h := &Host{config: Config{Dir: t.TempDir()}}
	write := func(size int, want string) {
		t.Helper()
		f, err := h.diskFile(Disk{ID: "/Subscriptions/x/disks/data", SizeGB: size})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }() // it is a test's
		first := make([]byte, 4)
		if _, err := f.ReadAt(first, 0); err != nil || string(first) != want {
			t.Errorf("it begins with %q, %v", first, err)
		}
		if info, err := f.Stat(); err != nil || info.Size() != int64(max(size, 1))<<30 {
			t.Errorf("it has %d bytes, %v", info.Size(), err)
		}
		if _, err := f.WriteAt([]byte("kept"), 0); err != nil {
			t.Error(err)
		}
	}
	write(0, "\x00\x00\x00\x00")
	write(2, "kept")
	if f, err := h.diskFile(Disk{ID: "/subscriptions/X/disks/DATA", SizeGB: 1}); err != nil {
		t.Error(err)
	} else {
		defer func() { _ = f.Close() }()                               // it is a test's
		if info, err := f.Stat(); err != nil || info.Size() != 2<<30 { // Azure shrinks none, and its ids have no case
			t.Errorf("it is another disk, or has shrunk: %d bytes, %v", info.Size(), err)
		}
	}
}
