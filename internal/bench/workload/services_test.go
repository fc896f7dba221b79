package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"testing"
)

// TestSteadyClusterIsTheReference compares with the sums of the reference program's output for seed 1.
func TestSteadyClusterIsTheReference(t *testing.T) {
	s := NewSteady(1, 5000)
	if n := s.Initial(); n != 110_468 {
		t.Errorf("%d pods at the beginning, want 110,468", n)
	}
	for name, c := range map[string]struct {
		write func(io.Writer) error
		want  string
	}{
		"steps": {s.WriteSteps, "a76b25f91cd088bf"},
		"hosts": {s.WriteHosts, "7dbb870f5717fafc"},
	} {
		sum := sha256.New()
		if err := c.write(sum); err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(sum.Sum(nil))[:16]; got != c.want {
			t.Errorf("%s: sha256 %s, want %s", name, got, c.want)
		}
	}
}
