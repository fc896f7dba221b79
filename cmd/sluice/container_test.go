package main

import (
	"crypto/x509"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestAnEmptyImageIsEnough starts a process that finds no certificate authorities and no time zones of its system, as in an image that holds nothing
// but the binary.
func TestAnEmptyImageIsEnough(t *testing.T) {
	if os.Getenv("SLUICE_TEST_BARE") != "" {
		roots, err := x509.SystemCertPool()
		if err != nil || roots.Equal(x509.NewCertPool()) {
			t.Errorf("no certificate authority is known: %v", err)
		}
		if _, err := time.LoadLocation("Europe/Berlin"); err != nil {
			t.Error(err)
		}
		return
	}
	nowhere := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAnEmptyImageIsEnough$")
	cmd.Env = []string{"SLUICE_TEST_BARE=1", "SSL_CERT_FILE=" + nowhere + "/none", "SSL_CERT_DIR=" + nowhere, "ZONEINFO=" + nowhere, "GOROOT=" + nowhere}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
