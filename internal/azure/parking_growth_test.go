package azure_test

import (
	"testing"
	"time"
)

func TestAGroupGrowsWhileItsMachinesAreSwitchedOffAndLosesNone(t *testing.T) {
	w := newWorld(t, parking("agents", 6))
	w.open(w.options("0:9:agents"))
	w.remove("agents", "1", "2", "3", "4")
	w.want("agents", 2, "0=running 1=deleting 2=deleting 3=deleting 4=deleting 5=running")
	w.grow("agents", 1)
	w.pass(10 * time.Minute)
	w.want("agents", 3, "0=running 5=running 6=running (1) (2) (3) (4)")
}
