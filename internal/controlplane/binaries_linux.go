package controlplane

import (
	"os/exec"
	"syscall"
)

// end has the program killed when this process dies without stopping it, and keeps a terminal's Ctrl-C from it: Stop ends it in its turn. It is killed,
// too, when the thread ends that started it, but threads end with goroutines that are locked to them alone.
func end(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
