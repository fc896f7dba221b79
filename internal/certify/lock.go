package certify

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// A process that makes or removes what a ledger names holds a lock until it ends, however it ends: the kernel takes the lock back.
//
//	ledger  lock   what it means                     who may act
//	no      free   nothing is there                  a run begins
//	yes     held   a run or a removal goes on        that process
//	yes     free   a run was killed, or left things  a removal
//
// The lock is on a file of its own: each write puts a new file in the place of the ledger, and Windows lets nobody read a locked one.

// lockSuffix is what the lock's file is called beyond the ledger.
const lockSuffix = ".lock"

// RunningError says that another process holds a ledger.
type RunningError struct {
	Began time.Time // of the run; zero when its ledger is not written yet
}

func (e *RunningError) Error() string {
	if e.Began.IsZero() {
		return "a run or its removal goes on in another process"
	}
	return fmt.Sprintf("the run of %s or its removal goes on in another process", e.Began.Format(time.DateTime))
}

// acquire takes the lock of the ledger at a path, and waits for nobody.
func acquire(path string) (*flock.Flock, error) {
	for {
		l := flock.New(path+lockSuffix, flock.SetPermissions(0o600))
		held, err := l.TryLock()
		if err != nil {
			return nil, fmt.Errorf("the ledger cannot be locked, and nothing is made or removed without it: %w", err)
		}
		if !held {
			e := &RunningError{}
			if of, err := ReadLedger(path); err == nil && of != nil {
				e.Began = of.Began
			}
			return nil, e
		}
		mine, err := l.Stat()
		at, gone := os.Stat(l.Path())
		if err == nil && gone == nil && os.SameFile(mine, at) {
			return l, nil
		}
		_ = l.Close()
		if err = errors.Join(err, gone); !errors.Is(err, fs.ErrNotExist) && err != nil {
			return nil, fmt.Errorf("the ledger cannot be locked, and nothing is made or removed without it: %w", err)
		} // else whoever held it has removed its file meanwhile: another process may hold a new one
	}
}

// Running says whether a process holds the ledger at a path. It writes nothing.
func Running(path string) error {
	if _, err := os.Stat(path + lockSuffix); err != nil {
		return nil //nolint:nilerr // nobody has ever locked it
	}
	l, err := acquire(path)
	if err != nil {
		return err
	}
	return l.Close()
}

// Claim reads the ledger that a run left at a path, nil when there is none, and holds it until [Ledger.Release]. The error is a [RunningError]
// while another process holds it.
func Claim(path string) (*Ledger, error) {
	held, err := acquire(path)
	if err != nil {
		return nil, err
	}
	l, err := ReadLedger(path)
	if l == nil || err != nil {
		(&Ledger{lock: held}).Release()
		return nil, err
	}
	l.lock = held
	return l, nil
}

// Release lets other processes have the ledger. It may be called again.
func (l *Ledger) Release() {
	if l.lock == nil {
		return
	}
	err := os.Remove(l.lock.Path())
	_ = l.lock.Close()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		_ = os.Remove(l.lock.Path()) // Windows removes no open file
	}
	l.lock = nil
}
