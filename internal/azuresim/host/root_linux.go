package host

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

//go:embed root.sh
var recipe []byte

// Root is a root file system for machines below a folder: made with debootstrap the first time, which loads packages from Debian for some minutes, and
// found there from then on. What happens meanwhile is written to log.
func Root(ctx context.Context, cache string, log io.Writer) (string, error) {
	cache, err := filepath.Abs(cache)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(recipe)
	root := filepath.Join(cache, "root-"+hex.EncodeToString(sum[:6]))
	if _, err := os.Stat(root); err == nil {
		return root, nil
	}
	if _, err := exec.LookPath("debootstrap"); err != nil {
		return "", fmt.Errorf("%w: the machines' file system needs debootstrap, which is not installed", errors.ErrUnsupported)
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(root+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }()                              // which gives it free
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil { // whoever makes it at the same time is waited for
		return "", err
	}
	if _, err := os.Stat(root); err == nil {
		return root, nil
	}
	half := root + ".half"
	if err := os.RemoveAll(half); err != nil { // of one that was killed
		return "", err
	}
	// In namespaces of its own: what it mounts, and every process that it leaves, ends with it.
	cmd := exec.CommandContext(ctx, "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", string(recipe), "root.sh", half)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	for _, name := range []string{"http_proxy", "https_proxy", "MIRROR"} {
		if value := os.Getenv(name); value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("make the machines' file system: %w", err)
	}
	return root, os.Rename(half, root)
}
