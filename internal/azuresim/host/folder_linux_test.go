package host

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAMachineBeginsWithWhatItsImageHasInItsFolders(t *testing.T) {
	upper, lower, to := t.TempDir(), t.TempDir(), t.TempDir()
	write := func(dir, name, text string, mode os.FileMode) {
		path := filepath.Join(dir, folders[0], name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(lower, "meta.db", "hidden by the layer above", 0o644)
	write(upper, "meta.db", "database", 0o640)
	write(upper, "content/blobs/sha256/1", "blob", 0o444)
	write(upper, "snapshots/1/fs/bin/tool", "tool", 0o755)
	if err := os.Symlink("tool", filepath.Join(upper, folders[0], "snapshots", "1", "fs", "bin", "link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{folders[0], "var/lib/etcd"} { // the latter is in no layer
		if err := fillFolder([]string{upper, lower}, name, to); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]struct {
		text   string
		mode   os.FileMode
		shared bool
	}{
		"meta.db": {"database", 0o640, false}, "content/blobs/sha256/1": {"blob", 0o444, true}, "snapshots/1/fs/bin/tool": {"tool", 0o755, true},
		"snapshots/1/fs/bin/link": {"tool", 0o755, true},
	} {
		path := filepath.Join(to, name)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := os.Stat(path)
		from, _ := os.Stat(filepath.Join(upper, folders[0], name))
		if string(text) != want.text || got.Mode().Perm() != want.mode || os.SameFile(got, from) != want.shared {
			t.Errorf("%s: %q %v, shared %v, want %+v", name, text, got.Mode(), os.SameFile(got, from), want)
		}
	}
}
