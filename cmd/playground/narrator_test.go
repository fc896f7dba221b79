package main

import (
	"strings"
	"testing"
	"time"
)

func TestPipeGetsPlainLinesNowAndThen(t *testing.T) {
	var out strings.Builder
	n := &narrator{w: &out, began: time.Now()}
	n.progress("1 of 3")
	n.progress("2 of 3") // too soon
	n.said = time.Now().Add(-plainPause)
	n.progress("3 of 3")
	n.said = time.Now().Add(-plainPause)
	n.progress("3 of 3") // said already
	n.say("all %d run", 3)
	n.close()
	if got, want := out.String(), "00:00      1 of 3\n00:00      3 of 3\n00:00    all 3 run\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTerminalGetsOneLiveLine(t *testing.T) {
	const wipe = "\r\x1b[2K"
	var out strings.Builder
	n := &narrator{w: &out, began: time.Now(), live: true}
	n.progress("1 of 3")
	n.progress("2 of 3")
	n.progress("2 of 3")
	n.say("done")
	n.progress(strings.Repeat("ä", 100))
	n.close()
	long := "00:00    " + strings.Repeat("ä", liveWidth-len("00:00    ")-1) + "…"
	if got, want := out.String(), "00:00    1 of 3"+wipe+"00:00    2 of 3"+wipe+"00:00    done\n"+long+wipe; got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
