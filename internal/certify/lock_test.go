package certify_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/certify"
)

// holdsLedger is the variable that has the test's own program claim a ledger, and do nothing until it is killed.
const holdsLedger = "CERTIFY_TEST_HOLDS"

func TestMain(m *testing.M) {
	if path := os.Getenv(holdsLedger); path != "" {
		if _, err := certify.Claim(path); err != nil {
			panic(err)
		}
		_, _ = os.Stdout.WriteString("held\n")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	os.Exit(m.Run())
}

// isRunning wants an error that tells of a run that goes on.
func isRunning(t *testing.T, err error, since string) {
	t.Helper()
	running := new(certify.RunningError)
	if !errors.As(err, &running) || !strings.Contains(err.Error(), since) {
		t.Errorf("the error is %v, want one of a run of %q that goes on", err, since)
	}
}

// files are the names of what is beside a ledger, and the ledger's own.
func files(t *testing.T, ledger string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(ledger))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestALedgerIsHeldUntilNothingOfItIsLeft(t *testing.T) {
	w := newWorld(t, nil)
	w.must(certify.Running(w.LedgerPath))
	plan, err := certify.Survey(t.Context(), w.Cloud, "westeurope", time.Hour)
	w.must(err)
	w.Plan, w.Only = plan, map[string]bool{"entity-tag-in-body": true}
	ledger, err := w.Begin()
	w.must(err)
	for range 2 { // each write puts a new file in the place of the ledger
		isRunning(t, certify.Running(w.LedgerPath), "2026-03-02 09:00:00")
		_, err = certify.Claim(w.LedgerPath)
		isRunning(t, err, "2026-03-02 09:00:00")
		_, err = w.Begin()
		isRunning(t, err, "2026-03-02 09:00:00")
		_, err = w.Ask(t.Context(), ledger)
		w.must(err)
	}
	ledger.Release()
	ledger.Release()
	w.must(certify.Running(w.LedgerPath))
	if _, err = w.Begin(); err == nil || !strings.Contains(err.Error(), "is of a run of 2026-03-02 09:00:00 by now") {
		t.Errorf("a run begins over the ledger of another: %v", err)
	}
	again, err := certify.Claim(w.LedgerPath)
	w.must(err)
	isRunning(t, certify.Running(w.LedgerPath), "2026-03-02 09:00:00")
	w.must(os.WriteFile(w.LedgerPath+".new", []byte("{"), 0o600)) // a killed run was about to write
	if left := w.clean(again); left != nil {
		t.Fatalf("left: %+v", left)
	}
	if all := files(t, w.LedgerPath); len(all) > 0 {
		t.Errorf("there is %q", all)
	}
	none, err := certify.Claim(w.LedgerPath)
	if none != nil || err != nil || len(files(t, w.LedgerPath)) > 0 {
		t.Errorf("where nothing is: %v, %v, %q", none, err, files(t, w.LedgerPath))
	}
}

// TestAKilledProcessHoldsNothing has another process hold the ledger.
func TestAKilledProcessHoldsNothing(t *testing.T) {
	w := newWorld(t, nil)
	ledger, err := w.Begin()
	w.must(err)
	ledger.Release()
	holder := exec.Command(os.Args[0]) //nolint:gosec // this test's own program
	holder.Env = append(os.Environ(), holdsLedger+"="+w.LedgerPath)
	_, err = holder.StdinPipe() // it ends with this process, if not before
	w.must(err)
	out, err := holder.StdoutPipe()
	w.must(err)
	w.must(holder.Start())
	defer func() { _ = holder.Process.Kill() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if line != "held\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	isRunning(t, certify.Running(w.LedgerPath), "2026-03-02")
	w.must(holder.Process.Kill())
	_ = holder.Wait()
	w.must(certify.Running(w.LedgerPath))
	again, err := certify.Claim(w.LedgerPath)
	if again == nil || err != nil || again.Run != ledger.Run {
		t.Errorf("claimed: %+v, %v", again, err)
	}
}

// TestALookSaysWhatWouldGo compares it with what then goes.
func TestALookSaysWhatWouldGo(t *testing.T) {
	w := newWorld(t, nil)
	plan, err := certify.Survey(t.Context(), w.Cloud, "westeurope", time.Hour)
	w.must(err)
	w.Plan, w.Only = plan, map[string]bool{"entity-tag-in-body": true}
	ledger, err := w.Begin()
	w.must(err)
	cleaner := certify.Cleaner{Cloud: w.Cloud, Ledger: ledger, Now: w.Now, Wait: w.Wait, Say: w.Say}
	look := func(wantGoes, wantStays string) {
		t.Helper()
		goes, stays, err := cleaner.Look(t.Context())
		if g, s := strings.Join(goes, ", "), strings.Join(stays, ", "); err != nil || g != wantGoes || s != wantStays {
			t.Errorf("goes %q, stays %q, %v; want %q and %q", g, s, err, wantGoes, wantStays)
		}
	}
	look("", "")
	_, err = w.Ask(t.Context(), ledger)
	w.must(err)
	group := "resource group " + ledger.Group
	look("virtualMachineScaleSets uniform, virtualNetworks network, "+group, "")
	w.must(w.sim.AddAvailabilitySet(azuresim.AvailabilitySet{Subscription: subscription, ResourceGroup: ledger.Group, Name: "theirs", Location: "westeurope"}))
	look("virtualMachineScaleSets uniform, virtualNetworks network", "availabilitySets theirs, "+group)
	for kind := range w.sim.Counters() {
		if strings.HasPrefix(kind, "DELETE") {
			t.Errorf("it was asked to %s", kind)
		}
	}
	w.said = nil
	w.clean(ledger)
	if !slices.Equal(w.said, []string{"virtualMachineScaleSets uniform is removed", "virtualNetworks network is removed"}) {
		t.Errorf("the removal says %q", w.said)
	}
}
