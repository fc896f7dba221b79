package lifecycle

import (
	"compress/gzip"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"sluice.dev/sluice/cloud"
)

// mostAnswer is how much of a packed answer one run command brings. Azure cuts what a script prints to 4,096 bytes, and the first line says the length.
const mostAnswer = 4000

// mostParts bounds what a server can make up send.
const mostParts = 64

//go:embed server.sh
var serverScript string

// ErrRunCommand is that whoever asks may run no command on the server.
var ErrRunCommand = errors.New("no run command is allowed")

// RunCommandAction is the right that it takes.
const RunCommandAction = "Microsoft.Compute/virtualMachines/runCommand/action"

// serverID is the server's machine.
func (c *Cluster) serverID() string {
	return c.group(c.File.ResourceGroup) + "/providers/Microsoft.Compute/virtualMachines/" + c.File.ServerName()
}

// serverState is how far the server is, as it says itself.
type serverState struct {
	cloudInit, unit, result string // as cloud-init and systemd call them; "" where it does not say
	line                    string // the last that its script has written
	ready                   bool   // the API server answers
	nodes                   []Node
	sealed                  []byte // the admin's kubeconfig, for the recipient alone
}

// Node is a node of the cluster.
type Node struct {
	Name  string
	Ready bool
}

// askServer asks the server by run command how far it is. With a recipient it gives the admin's kubeconfig, sealed for that certificate in PEM.
func (c *Cluster) askServer(ctx context.Context, recipient string) (s serverState, err error) {
	id := make([]byte, 8)
	_, _ = rand.Read(id) // it never fails
	at := "/run/sluice/answer-" + hex.EncodeToString(id)
	script := append([]string{"ANSWER=" + at, "RECIPIENT='" + recipient + "'"}, strings.Split(serverScript, "\n")...)
	var packed strings.Builder
	for part := range mostParts {
		length, text, err := c.part(ctx, append(script, partOf(at, packed.Len())...))
		if err != nil {
			return s, err
		}
		packed.WriteString(text)
		if packed.Len() >= length || text == "" {
			if packed.Len() != length || length == 0 {
				return s, fmt.Errorf("the server's answer came as %d of %d bytes", packed.Len(), length)
			}
			break
		}
		if part == mostParts-1 {
			return s, fmt.Errorf("the server's answer has %d bytes", length)
		}
		script = []string{"umask 077"}
	}
	return readState(packed.String())
}

// partOf are the lines that print the length of a file, and a part of it. The file goes with its last part.
func partOf(file string, from int) []string {
	return []string{
		"LENGTH=$(cat " + file + " 2>/dev/null | wc -c)",
		"echo sluice-answer $LENGTH",
		fmt.Sprintf("tail -c +%d %s | head -c %d", from+1, file, mostAnswer),
		fmt.Sprintf("if [ $LENGTH -le %d ]; then rm -f %s; fi", from+mostAnswer, file),
	}
}

// answerLine is what an answer begins with.
var answerLine = regexp.MustCompile(`(?s)sluice-answer (\d+)\n([A-Za-z0-9+/=]*)`)

// part runs a script on the server that prints a part of its answer.
func (c *Cluster) part(ctx context.Context, script []string) (length int, text string, err error) {
	var said struct {
		Value []struct {
			Message string `json:"message"`
		} `json:"value"`
	}
	body := map[string]any{"commandId": "RunShellScript", "script": script}
	if err := c.Cloud.Post(ctx, c.serverID()+"/runCommand", computeVersion, body, &said); err != nil {
		if cloud.KindOf(err) == cloud.Unauthorized {
			return 0, "", fmt.Errorf("%w: %w", ErrRunCommand, err)
		}
		return 0, "", err
	}
	all := ""
	for _, v := range said.Value {
		all += v.Message + "\n"
	}
	out, failed, _ := strings.Cut(all, "[stderr]")
	m := answerLine.FindStringSubmatch(out)
	if m == nil {
		return 0, "", fmt.Errorf("the server's answer is not what it is asked for: %s", short(strings.TrimSpace(failed)))
	}
	length, err = strconv.Atoi(m[1])
	return length, m[2], err
}

// mostState bounds an answer once it is unpacked.
const mostState = 4 << 20

// readState reads an answer.
func readState(packed string) (s serverState, err error) {
	zipped, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(packed)))
	if err != nil {
		return s, fmt.Errorf("unpack the server's answer: %w", err)
	}
	raw, err := io.ReadAll(io.LimitReader(zipped, mostState))
	if err != nil {
		return s, fmt.Errorf("unpack the server's answer: %w", err)
	}
	for line := range strings.Lines(string(raw)) {
		word, value, _ := strings.Cut(strings.TrimRight(line, " \n"), " ")
		switch word {
		case "cloud-init":
			s.cloudInit = value
		case "unit":
			s.unit = value
		case "result":
			s.result = value
		case "line":
			s.line = value
		case "api":
			s.ready = value == "ready"
		case "node":
			name, ready, _ := strings.Cut(value, " ")
			s.nodes = append(s.nodes, Node{Name: name, Ready: ready == "True"})
		case "kubeconfig":
			if s.sealed, err = base64.StdEncoding.DecodeString(value); err != nil {
				return s, fmt.Errorf("unpack the kubeconfig: %w", err)
			}
		}
	}
	return s, nil
}
