//go:build modules

package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

var imageLine = regexp.MustCompile(`(?m)^.*image: *"?([^"\s]+)"?$`)

// TestManifestsAreThoseOfTheirModules fetches each release by the module proxy, and says what the table should have.
func TestManifestsAreThoseOfTheirModules(t *testing.T) {
	trees := map[string]string{}
	for _, d := range downloads {
		at := d.module + "@" + d.version
		if trees[at] == "" {
			cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", at)
			cmd.Dir, cmd.Stderr = t.TempDir(), os.Stderr
			out, err := cmd.Output()
			var said struct{ Dir, Error string }
			if json.Unmarshal(out, &said) != nil || said.Dir == "" {
				t.Fatalf("%s: %v %s", at, err, said.Error)
			}
			trees[at] = said.Dir
		}
		text, err := os.ReadFile(filepath.Join(trees[at], filepath.FromSlash(d.path)))
		if err != nil {
			t.Error(err)
			continue
		}
		sum := sha256.Sum256(text)
		var images []string
		for _, m := range imageLine.FindAllSubmatch(text, -1) {
			images = append(images, string(m[1]))
		}
		slices.Sort(images)
		if images = slices.Compact(images); hex.EncodeToString(sum[:]) != d.sum || !slices.Equal(images, d.images) {
			t.Errorf("%s has %x and the images %q", d.url(), sum, images)
		}
		t.Logf("%s is %x", d.url(), sum)
	}
}
