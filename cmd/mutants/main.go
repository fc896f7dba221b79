// Command mutants takes each guard that stands outside of package guard away in turn, and says which scenario or test catches it and after how long. The
// tree stays as it is: copies of its files that ask an environment variable are laid over it for one build of the tests.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// variable names the mutant that a test binary tries.
const variable = "SLUICE_MUTE"

// patience is how long one mutant may take: a guard that is gone may leave a test that never ends.
const patience = 3 * time.Minute

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := pflag.NewFlagSet("mutants", pflag.ContinueOnError)
	only := flags.String("only", "", "try those alone whose property, file or description contains this")
	dir := flags.String("dir", "bin/_mutations", "where what is built is kept")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return nil
		}
		return err
	}
	tried := slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool { return !strings.Contains(m.property+" "+m.file+" "+m.lost, *only) })
	if len(tried) == 0 {
		return fmt.Errorf("--only=%s: there is no such mutant", *only)
	}
	if err := build(ctx, *dir, tried); err != nil {
		return err
	}
	missed := 0
	for _, m := range tried {
		begun := time.Now()
		by, err := catches(ctx, *dir, m)
		if err != nil {
			return err
		}
		if by == "" {
			by = "nothing"
			missed++
		}
		fmt.Fprintf(out, "| %s | %s | `%s` | `%s` | %d ms |\n", m.property, m.lost, filepath.Dir(m.file), by, time.Since(begun).Milliseconds())
	}
	if missed > 0 {
		return fmt.Errorf("%d of %d are caught by nothing", missed, len(tried))
	}
	return nil
}

// build lays the mutated files over the tree, and compiles the tests that are to catch something.
func build(ctx context.Context, dir string, tried []mutant) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	overlay := map[string]string{}
	write := func(file string, text []byte) error {
		at := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		path, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		overlay[path] = at
		return os.WriteFile(at, text, 0o644)
	}
	for _, file := range files(mutants) { // all of them, so that one build serves whatever is tried
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if text, err = mutate(file, text); err != nil {
			return err
		}
		if err := write(file, text); err != nil {
			return err
		}
		room := filepath.Dir(file)
		source := fmt.Sprintf("package %s\n\nimport \"os\"\n\nvar muted = os.Getenv(%q)\n", filepath.Base(room), variable)
		if err := write(filepath.Join(room, "muted.go"), []byte(source)); err != nil {
			return err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		return err
	}
	at := filepath.Join(dir, "elsewhere.json")
	if err := os.WriteFile(at, list, 0o644); err != nil {
		return err
	}
	for _, room := range rooms(tried) {
		// #nosec G204 -- go, and rooms of this tree
		c := exec.CommandContext(ctx, "go", "test", "-vet=off", "-ldflags=-s -w", "-c", "-overlay", at, "-o", filepath.Join(dir, binary(room)), "./"+room)
		if said, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("build the tests of %s: %w\n%s", room, err, said)
		}
	}
	return nil
}

// mutate has the text of a file ask the environment at each of its mutants.
func mutate(file string, text []byte) ([]byte, error) {
	for i, m := range mutants {
		if m.file != file {
			continue
		}
		muted := fmt.Sprintf("(muted == %q)", key(i))
		if function, words, ok := strings.Cut(m.old, " says "); ok && m.new == "" {
			var err error
			if text, err = silence(text, function, words, muted); err != nil {
				return nil, fmt.Errorf("%s: %w: correct cmd/mutants/fleet.go", file, err)
			}
			continue
		}
		if n := bytes.Count(text, []byte(m.old)); n != 1 {
			return nil, fmt.Errorf("%s has %q %d times, want once: correct cmd/mutants/table.go or fleet.go", file, m.old, n)
		}
		text = bytes.Replace(text, []byte(m.old), []byte(strings.ReplaceAll(m.new, "MUTED", muted)), 1)
	}
	return text, nil
}

// key is what a mutant is called in the environment.
func key(i int) string { return strconv.Itoa(i) }

func binary(room string) string { return strings.ReplaceAll(room, "/", "_") + ".test" }

func files(all []mutant) (files []string) {
	for _, m := range all {
		files = append(files, m.file)
	}
	slices.Sort(files)
	return slices.Compact(files)
}

func rooms(all []mutant) (rooms []string) {
	for _, m := range all {
		rooms = append(rooms, m.catcher.room)
	}
	slices.Sort(rooms)
	return slices.Compact(rooms)
}

var failure = regexp.MustCompile(`(?m)^ *--- FAIL: (\S+)`)

// catches says what fails without the guard, "" when nothing does: a scenario by its name, a test by its room and name.
func catches(ctx context.Context, dir string, m mutant) (string, error) {
	i := slices.IndexFunc(mutants, func(o mutant) bool { return o.file == m.file && o.old == m.old })
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	parts := strings.Split(m.catcher.test, "/")
	for i, p := range parts {
		if p != "." {
			parts[i] = "^" + p + "$"
		}
	}
	c := exec.CommandContext(within, filepath.Join(dir, binary(m.catcher.room)), "-test.failfast", "-test.run", strings.Join(parts, "/")) // #nosec G204 -- built above
	c.Dir, c.Env = m.catcher.room, append(os.Environ(), variable+"="+key(i))
	said, err := c.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case within.Err() != nil:
		return "", fmt.Errorf("%s without %q: %s is not done after %s", m.property, m.lost, m.catcher.test, patience)
	case err == nil && bytes.Contains(said, []byte("no tests to run")):
		return "", fmt.Errorf("%s has no test %s: correct cmd/mutants/table.go", m.catcher.room, m.catcher.test)
	case err == nil:
		return "", nil
	}
	by := m.catcher.room
	if all := failure.FindAllSubmatch(said, -1); len(all) > 0 {
		by = string(all[len(all)-1][1])
	}
	if name, ok := strings.CutPrefix(by, "TestScenarios/"); ok {
		return "testdata/" + name + ".txtar", nil
	}
	return m.catcher.room + "." + by, nil
}
