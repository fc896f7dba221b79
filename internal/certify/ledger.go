package certify

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// Ledger is what a run has asked Azure to make, written down before it is asked for. It names the subscription, and is for this machine alone.
type Ledger struct {
	Run          string    `json:"run"` // a random word, which the resource group's tag holds
	Began        time.Time `json:"began"`
	Subscription string    `json:"subscription"`
	Group        string    `json:"group"`
	Region       string    `json:"region"`
	Answered     bool      `json:"answered"` // Azure has answered the request for the group
	Asked        []string  `json:"asked"`    // paths, in the order in which they were asked for; the group is not among them

	path string       // the file; "" keeps it in memory alone
	lock *flock.Flock // nil while this process does not hold the ledger
}

// groupTag is the tag of a run's resource group and of what is in it. Its value is the run.
const groupTag = "sluice-certify"

// GroupPrefix begins the names of the resource groups of runs.
const GroupPrefix = "sluice-certify-"

// ReadLedger reads the ledger at a path, also of a run that goes on; nil when there is none.
func ReadLedger(path string) (*Ledger, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	l := &Ledger{path: path}
	if err == nil {
		err = json.Unmarshal(raw, l)
	}
	if err == nil && (l.Run == "" || l.Group != GroupPrefix+l.Run || l.Subscription == "") {
		err = errors.New("it names no run")
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read as a ledger: %w; move it away once nothing of it is left in Azure", path, err)
	}
	return l, nil
}

// keep writes the ledger to its file, whole or not at all.
func (l *Ledger) keep() error {
	if l.path == "" {
		return nil
	}
	raw, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	if err := writeWhole(l.path, append(raw, '\n')); err != nil {
		return fmt.Errorf("the ledger cannot be written, and nothing is made without it: %w", err)
	}
	return nil
}

// newSuffix is what a file is called beyond the one that it is about to replace.
const newSuffix = ".new"

// writeWhole replaces a file by a new one.
func writeWhole(path string, raw []byte) error {
	beside := path + newSuffix
	f, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(beside, path)
	}
	if err != nil {
		_ = os.Remove(beside) // it is of no use
	}
	return err
}

// ask notes a path that is about to be asked for.
func (l *Ledger) ask(path string) error {
	if slices.Contains(l.Asked, path) {
		return nil
	}
	l.Asked = append(l.Asked, path)
	return l.keep()
}

// close forgets the ledger once nothing of it is left.
func (l *Ledger) close() error {
	if l.path == "" {
		return nil
	}
	defer l.Release()                 // after the file is gone: whoever comes next finds neither
	_ = os.Remove(l.path + newSuffix) // of a run that was killed while it wrote
	return os.Remove(l.path)
}

// groupPath is the path of the run's resource group.
func (l *Ledger) groupPath() string {
	return "/subscriptions/" + l.Subscription + "/resourceGroups/" + l.Group
}

// Command is what removes by hand all that the run made.
func (l *Ledger) Command() string {
	return fmt.Sprintf("az group delete --subscription %s --name %s", l.Subscription, l.Group)
}

// ours says whether a resource of the group is the run's: the ledger names it, its tag or its name has the run, or Azure named it after one of the
// run's sets.
func (l *Ledger) ours(id, name string, tags map[string]string) bool {
	if tags[groupTag] == l.Run || strings.Contains(name, l.Run) {
		return true
	}
	for _, path := range l.Asked {
		if strings.EqualFold(path, id) || strings.HasPrefix(strings.ToLower(name), strings.ToLower(lastPart(path))+"_") {
			return true
		}
	}
	return false
}

func lastPart(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
