package diagnosis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"sluice.dev/sluice/diagnosis"
)

// TestCauses has lines of the programs' own, each with a word of the cause that it shows, "" for none.
func TestCauses(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{`E0101 run.go:74] "command failed" err="failed to parse kubelet flag: unknown flag: --pod-infra-container-image"`, "flag"},
		{`Error: unknown flag: --node-labelz`, "flag"},
		{`Incorrect Usage: flag provided but not defined: -nod-label`, "flag"},
		{`"command failed" err="failed to load kubelet config file, path: /var/lib/kubelet/config.yaml, error: ..."`, "flag"},

		{`tar: ./usr/bin/k3s: write error: No space left on device`, "disk"},
		{`[  312.5] Out of memory: Killed process 1412 (k3s-agent) total-vm:812004kB`, "memory"},
		{`containerd invoked oom-killer: gfp_mask=0x140cca`, "memory"},

		{`level=fatal msg="Node password rejected, duplicate hostname or contents of '/etc/rancher/node/password' may not match server node-passwd entry"`, "name"},
		{`error execution phase kubelet-start: a Node with name "agents000001" and status "Ready" already exists in the cluster`, "name"},

		{`tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 2019-01-01T00:00:11Z is before 2026-01-01T00:00:00Z`, "clock"},

		{`could not find a JWS signature in the cluster-info ConfigMap for token ID "abcdef"`, "token"},
		{`error execution phase preflight: couldn't validate the identity of the API Server: cluster CA found in cluster-info ConfigMap is invalid: none of the public keys "sha256:0f" are pinned`, "token"},
		{`level=error msg="failed to validate token: token CA hash does not match the Cluster CA certificate hash: 11 != 22"`, "token"},
		{`Get "https://10.0.0.4:6443/cacerts": tls: failed to verify certificate: x509: certificate signed by unknown authority`, "token"},
		{`level=error msg="failed to validate token: https://10.0.0.4:6443/v1-k3s/config: 401 Unauthorized"`, "token"},
		{`time=x level=fatal token="no space left on device"`, "disk"}, // a secret is hidden after the cause is found
		{`level=error msg="failed to get CA certs: https://10.0.0.4:6443/v1-k3s/config: 401 Unauthorized"`, "token"},
		{`Unable to register node with API server: Unauthorized`, "token"},

		{`dial tcp: lookup api.farm.example on 127.0.0.53:53: no such host`, "DNS"},
		{`curl: (6) Could not resolve host: get.k3s.io`, "DNS"},
		{`dial tcp: lookup api.farm.example: i/o timeout`, "DNS"},

		{`failed to pull image "registry.k8s.io/pause:3.10": connection reset by peer`, "image"},
		{`pulling from host registry.example failed with status code: 429 toomanyrequests: rate exceeded`, "image"},
		{`E: Unable to locate package kubelet`, "image"},

		{`Get "https://10.0.0.4:6443/api/v1": dial tcp 10.0.0.4:6443: i/o timeout`, "route"},
		{`dial tcp 10.0.0.4:6443: connect: connection refused`, "route"},
		{`dial tcp 10.0.0.4:9345: connect: no route to host`, "route"},
		{`curl: (28) Failed to connect to 10.0.0.4 port 6443: Connection timed out`, "route"},

		{`cloud-init[1012]: 2026-01-01 00:01:02,123 - util.py[WARNING]: Failed running /var/lib/cloud/instance/scripts/runcmd [1]`, "cloud-init"},
		{`[FAILED] Failed to start cloud-final.service - Cloud-init: Final Stage.`, "cloud-init"},

		{``, ""},
		{`Cloud-init v. 24.4 finished at Thu, 01 Jan 2026 00:00:41 +0000. Datasource DataSourceAzure. Up 41.2 seconds`, ""},
		{`[  OK  ] Started k3s-agent.service - Lightweight Kubernetes.`, ""},
		{`systemd[1]: Reached target network-online.target - Network is Online.`, ""},
		{`kernel: Memory: 16123456K/16777216K available`, ""},
		{`kernel: random: crng init done`, ""},
		{`[    0.000000] Kernel command line: BOOT_IMAGE=/boot/vmlinuz-6.8.0 root=PARTUUID=1 ro console=ttyS0 panic=-1`, ""},
		{`systemd-resolved: Using degraded feature set UDP instead of UDP+EDNS0 for DNS server 168.63.129.16`, ""},
		{`EXT4-fs (sda1): mounted filesystem with ordered data mode. Quota mode: none.`, ""},
		{`agents000001 login: `, ""},
	} {
		for _, got := range []diagnosis.Report{diagnosis.Read(nil, []byte(c.line)), diagnosis.Read([]string{c.line}, nil)} {
			if (got.Cause.Name != "") != (c.want != "") || !strings.Contains(got.Cause.Name, c.want) {
				t.Errorf("%s\n shows %q, want one of %q", c.line, got.Cause.Name, c.want)
			}
			if (got.Cause.Name == "") != (got.Cause.Remedy == "") {
				t.Errorf("%q has the remedy %q", got.Cause.Name, got.Cause.Remedy)
			}
		}
	}
}

// TestTheMostTellingCauseWins has what follows from a cause stand after it, and before it.
func TestTheMostTellingCauseWins(t *testing.T) {
	full, follows := "write: no space left on device", "dial tcp 10.0.0.4:6443: connect: connection refused"
	for _, log := range []string{full + "\n" + follows, follows + "\n" + full} {
		if got := diagnosis.Read([]string{follows}, []byte(log)).Cause.Name; !strings.Contains(got, "disk") {
			t.Errorf("%q shows %q", log, got)
		}
	}
	if got := diagnosis.Read([]string{full}, []byte(follows)).Cause.Name; !strings.Contains(got, "disk") {
		t.Errorf("the status shows %q", got)
	}
}

func excerpt(log string) []string { return diagnosis.Read(nil, []byte(log)).Lines }

func TestExcerptKeepsTheCauseAndTheEnd(t *testing.T) {
	var log strings.Builder
	log.WriteString("the first line\n")
	log.WriteString("tar: No space left on device\n")
	for i := range 500 {
		fmt.Fprintf(&log, "dial tcp 10.0.0.4:6443: connect: connection refused, try %d\n", i)
	}
	log.WriteString("\r\nlogin:\n\n\n")
	got := excerpt(log.String())
	if len(got) != 20 || got[0] != "tar: No space left on device" || got[19] != "login:" || !strings.HasSuffix(got[18], "try 499") {
		t.Errorf("%d lines: %q", len(got), got)
	}
	if got := excerpt(""); got != nil {
		t.Errorf("of nothing: %q", got)
	}
	if got := excerpt(strings.Repeat("again\n", 9000)); !slices.Equal(got, []string{"again"}) {
		t.Errorf("of one line: %q", got)
	}
	if got := excerpt("old: no space left on device\n" + strings.Repeat("x ", 32<<10) + "\nnew\n"); len(got) != 2 || strings.HasPrefix(got[0], "old") || got[1] != "new" {
		t.Errorf("beyond the end that is read: %q", got)
	}
}

// TestSecretsAreHidden has each secret in a line that may be kept otherwise.
func TestSecretsAreHidden(t *testing.T) {
	for _, secret := range []string{
		"abcdef.0123456789abcdef",
		"K10d41d8cd98f00b204e9800998ecf8427e::server:hunter2",
		"K10d41d8cd98f00b204e9800998ecf8427e::abcdef.0123456789abcdef",
		"eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJub2RlIn0.c2lnbmF0dXJl",
		"MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7",
	} {
		for _, line := range []string{secret, "join --token " + secret + " 10.0.0.4:6443", "token: " + secret, "K3S_TOKEN=" + secret, `msg="x" token="` + secret + `"`, "x\x1b[31m " + secret} {
			if got := diagnosis.Clean(line); strings.Contains(got, secret) || strings.Contains(got, "hunter2") || strings.Contains(got, "0123456789abcdef") {
				t.Errorf("%q keeps its secret: %q", line, got)
			}
		}
	}
	for _, line := range []string{
		"password: hunter2", "PASSWORD=hunter2", `{"client_secret":"hunter2"}`, "client-secret = 'hunter2 and more'", "--password hunter2", "https://me:hunter2@host/x", "Authorization: Bearer hunter2",
		"https://x.blob.core.windows.net/a?sv=1&se=2026&sig=hunter2%3D", "AccountKey=hunter2==", "ARM_CLIENT_SECRET=hunter2", "-----BEGIN RSA PRIVATE KEY-----hunter2",
	} {
		if got := diagnosis.Clean(line); strings.Contains(got, "hunter2") {
			t.Errorf("%q keeps its secret: %q", line, got)
		}
	}
	for _, line := range []string{
		"level=fatal msg=\"Node password rejected, duplicate hostname\"", "open /var/lib/rancher/k3s/agent/etc/containerd/config.toml: no such file", "could not find a JWS signature for token ID",
		"unknown flag: --node-labelz", "dial tcp 10.0.0.4:6443: i/o timeout", "/var/lib/kubelet/pki/kubelet-client-current.pem", "azure:///subscriptions/x/resourceGroups/farm/providers/Microsoft.Compute/virtualMachineScaleSets/agents",
	} {
		if got := diagnosis.Clean(line); got != line {
			t.Errorf("%q becomes %q", line, got)
		}
	}
}

// FuzzExcerpt holds what is kept of any log to its bounds.
func FuzzExcerpt(f *testing.F) {
	for _, log := range []string{
		"", "one\ntwo", "\x1b[2J\x1b[31mred\x1b[0m\x1b]0;title\x07text\x1b]8;;http://x\x1b\\", "\xff\xfe\x00\x80", strings.Repeat("a", 100_000), strings.Repeat("é", 300), strings.Repeat("\x1b[0m", 20_000) + "abcdef.0123456789abcdef",
		"\u202egnp.exe \u2066 \u200b", "a\u2028b\u0085c\vd\fe", "abcdef.0123456789abcdef", strings.Repeat("no space left on device "+"x\n", 3000),
	} {
		f.Add([]byte(log))
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		lines, all := excerpt(string(log)), 0
		for _, line := range lines {
			all += len(line)
			if line == "" || len(line) > 240 || !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%q of %q", line, log)
			}
			if strings.Contains(line, "abcdef.0123456789abcdef") {
				t.Errorf("a token is kept: %q", line)
			}
		}
		if len(lines) > 20 || all > 2000 {
			t.Errorf("%d lines with %d bytes are kept", len(lines), all)
		}
	})
}
