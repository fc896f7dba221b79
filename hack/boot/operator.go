package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"sluice.dev/sluice/internal/azuresim/host"
)

// operator is a person with sluice, kubectl and a folder, somewhere on the Internet.
type operator struct {
	host          *host.Host
	dir, binaries string
	env           []string
	say           func(string, ...any)
}

func newOperator(w *world, dir, binaries string, t *trusted, say func(string, ...any)) (*operator, error) {
	if err := os.RemoveAll(dir); err != nil { // of an earlier story
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return &operator{w.host, dir, binaries, []string{
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + dir, "SSL_CERT_FILE=" + t.caFile, "KUBECONFIG=" + filepath.Join(dir, "render.kubeconfig"),
		"ARM_TENANT_ID=" + tenant, "ARM_CLIENT_ID=" + client, "ARM_CLIENT_SECRET=" + secret, "ARM_SUBSCRIPTION_ID=" + subscription,
	}, say}, os.WriteFile(filepath.Join(dir, "resolv.conf"), []byte("nameserver 168.63.129.16\n"), 0o644)
}

// run runs sluice or kubectl in the operator's folder, and returns what it printed. The operator's names are those of the machines' network.
func (o *operator) run(ctx context.Context, program string, arguments ...string) (string, error) {
	o.say("$ %s %s", program, strings.Join(arguments, " "))
	return o.quiet(ctx, o.say, program, arguments...)
}

// quiet is run without a word, but for lines that tell has.
func (o *operator) quiet(ctx context.Context, tell func(string, ...any), program string, arguments ...string) (string, error) {
	binary, err := filepath.Abs(filepath.Join(o.binaries, program))
	if err != nil {
		return "", err
	}
	named := `mount --bind resolv.conf /etc/resolv.conf && exec "$@"`
	cmd := exec.CommandContext(ctx, "unshare", append([]string{"--mount", "sh", "-c", named, "sh", binary}, arguments...)...)
	cmd.Dir, cmd.Env = o.dir, o.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	from, to := io.Pipe()
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&printed, to), to
	read := make(chan string)
	go func() {
		var all strings.Builder
		for lines := bufio.NewScanner(from); lines.Scan(); {
			fmt.Fprintln(&all, lines.Text())
			if tell != nil {
				tell("  %s", lines.Text())
			}
		}
		io.Copy(io.Discard, from)
		read <- all.String()
	}()
	err = o.host.Start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	to.Close()
	said := <-read
	if err != nil {
		return printed.String(), fmt.Errorf("%s %s: %w\n%s", program, strings.Join(arguments, " "), err, said)
	}
	return printed.String(), nil
}

// edit changes the operator's file: each text, which must be there, to another.
func (o *operator) edit(name string, changes ...[2]string) error {
	path := filepath.Join(o.dir, name)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if !strings.Contains(string(text), c[0]) {
			return fmt.Errorf("%s has no %q to change", name, c[0])
		}
		text = []byte(strings.Replace(string(text), c[0], c[1], 1))
	}
	return os.WriteFile(path, text, 0o600)
}
