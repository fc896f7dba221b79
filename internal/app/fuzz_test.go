package app

import (
	"strings"
	"testing"
)

// FuzzFlags reads any command line of policy flags, one argument a line: a policy without contradictions comes of it, or a sentence.
func FuzzFlags(f *testing.F) {
	for _, seed := range []string{
		"", "--max-nodes-total=5", "--cores-total=1:2", "--cores-total=2:1", "--scan-interval=10s\n--expander=least-waste,price", "--gpu-total=nvidia-tesla:0:4", "--headroom=agents=2",
		"--schedule=agents=mon-fri 08:00-18:00 Europe/Berlin min=3", "--ceiling=agents=10 per 1h", "--evict-work=namespace/render=2h", "--scale-down-utilization-threshold=NaN",
		"--max-nodes-total=-1", "--max-nodes-total=99999999999999999999", "--", "-v=", "--scale-down-enabled=maybe", "--drain-target=30m", "--startup-taint=a\n--startup-taint=",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, _, err := read(strings.Split(text, "\n")...)
		switch {
		case err != nil && err.Error() == "":
			t.Error("an error without a sentence")
		case err == nil && p == nil:
			t.Error("neither a policy nor an error")
		}
	})
}
