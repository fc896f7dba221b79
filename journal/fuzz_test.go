package journal_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"sluice.dev/sluice/journal"
)

// FuzzJournal damages a journal in one place. What can still be read is decided again; what cannot is an error that names the line. A
// reader that goes on after errors comes to the end.
func FuzzJournal(f *testing.F) {
	whole := written(&testing.T{}, history())
	for at := 0; at < len(whole); at += 97 {
		f.Add(uint32(at), uint32(1), []byte(nil))
		f.Add(uint32(at), uint32(9), []byte("null"))
	}
	f.Add(uint32(0), uint32(1<<31), []byte(`{"v":1,"full":true,"policy":{},"groups":[{}],"nodes":{"set":[{}]},"pods":{"set":[{}]}}`+"\n"))
	f.Fuzz(func(t *testing.T, at, cut uint32, put []byte) {
		begin := int(at) % (len(whole) + 1)
		end := min(len(whole), begin+int(cut))
		d := journal.NewDecoder(iotest.HalfReader(bytes.NewReader(bytes.Join([][]byte{whole[:begin], put, whole[end:]}, nil))))
		for lines := bytes.Count(whole, []byte("\n")) + bytes.Count(put, []byte("\n")) + 2; ; lines-- {
			if lines < 0 {
				t.Fatal("the decoder does not come to the end")
			}
			e, err := d.Next()
			if errors.Is(err, io.EOF) || errors.Is(err, journal.ErrCut) {
				return
			}
			if err != nil {
				continue
			}
			if _, _, err := journal.Replay(e); err != nil {
				t.Logf("replay: %v", err)
			}
		}
	})
}
