package render_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// words are those of a machine, as /etc/sluice/machine.env has them.
const words = `set -euo pipefail
DISTRIBUTION=k3s VERSION=v1.36.3+k3s1 INSTALL=download SERVER=10.10.0.4 CLOUD_PROVIDER=true CNI=flannel PODS=10.42.0.0/16 SERVICES=10.43.0.0/16
`

// bash runs functions of scripts with others in the place of the machine's programs.
func bash(t *testing.T, script string) (out string, ok bool) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash here")
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Dir = t.TempDir()
	said, err := cmd.CombinedOutput()
	return string(said), err == nil
}

func script(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("machine", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestADiskWithAnythingOnItIsNeverFormatted gives the server disks in every state that blkid and lsblk tell apart.
func TestADiskWithAnythingOnItIsNeverFormatted(t *testing.T) {
	functions, _, found := strings.Cut(script(t, "server.sh"), "\nmount_data\nbind_data\n")
	_, functions, cut := strings.Cut(functions, "DATA=/var/lib/sluice-data\n")
	if !found || !cut {
		t.Fatal("the script is made otherwise than this test knows")
	}
	for name, tc := range map[string]struct{ blkid, lsblk, want string }{
		"an empty disk":       {"return 2", "echo sdc", "mkfs.ext4 -q -L sluice-data /dev/sdc"},
		"its own":             {"echo LABEL=sluice-data; echo TYPE=ext4", "echo sdc", "mount -o noatime /dev/sdc"},
		"another file system": {"echo LABEL=other; echo TYPE=ext4", "echo sdc", "is not sluice's, and is left as it is"},
		"a like name":         {"echo LABEL=sluice-database; echo TYPE=xfs", "echo sdc", "is not sluice's, and is left as it is"},
		"a partition table":   {"echo PTTYPE=gpt", "echo sdc; echo sdc1", "is not sluice's, and is left as it is"},
		"partitions unseen":   {"return 2", "echo sdc; echo sdc1", "has partitions, and is left as it is"},
		"two of both":         {"return 8", "echo sdc", "cannot be told (blkid says 8), and it is left as it is"},
		"an error":            {"return 4", "echo sdc", "cannot be told (blkid says 4), and it is left as it is"},
		"mounted already":     {"return 2", "echo sdc", "done"},
	} {
		t.Run(name, func(t *testing.T) {
			mounted := "return 1"
			if tc.want == "done" {
				mounted = "return 0"
			}
			out, ok := bash(t, words+script(t, "common.sh")+"\nDATA=$PWD/data ADDONS=\n"+functions+`
data_disk() { echo /dev/sdc; }
blkid() { `+tc.blkid+`; }
lsblk() { `+tc.lsblk+`; }
mountpoint() { `+mounted+`; }
mkfs.ext4() { echo "mkfs.ext4 $*"; }
mount() { echo "mount $*"; }
mount_data
echo done
`)
			if !strings.Contains(out, tc.want) {
				t.Errorf("no %q in:\n%s", tc.want, out)
			}
			if formats := strings.Contains(out, "mkfs"); formats != (name == "an empty disk") {
				t.Errorf("formatted: %v\n%s", formats, out)
			}
			if refused := strings.Contains(tc.want, "left as it is"); ok == refused {
				t.Errorf("ended well: %v\n%s", ok, out)
			}
		})
	}
}

// TestADownloadIsKeptOnlyWithItsChecksum fetches by a curl that writes what is at the end of the address.
func TestADownloadIsKeptOnlyWithItsChecksum(t *testing.T) {
	const sum = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" // of "hello"
	for name, tc := range map[string]struct {
		sums string
		kept bool
	}{
		"the one hash":       {sum, true},
		"beside its name":    {"0000  other\n" + sum + "  k3s+1", true},
		"of binary mode":     {sum + " *k3s+1", true},
		"another hash":       {strings.Repeat("0", 64) + "  k3s+1", false},
		"another name alone": {sum + "  other", false},
		"nothing":            {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			out, ok := bash(t, words+"MIRROR=mirror.example:5000/all\n"+script(t, "common.sh")+`
curl() {
	local to url=${*: -1}
	while [ "$1" != -o ]; do shift; done
	to=$2
	echo "$url" >&2
	case $url in
	*/sums) printf '%s\n' "`+tc.sums+`" >"$to" ;;
	*) printf hello >"$to" ;;
	esac
}
checked https://host.example/a/k3s%2B1 file https://host.example/a/sums
cat file
`)
			if ok != tc.kept || strings.HasSuffix(out, "hello") != tc.kept {
				t.Errorf("kept: %v, want %v\n%s", ok, tc.kept, out)
			}
			if !strings.Contains(out, "https://mirror.example:5000/all/host.example/a/sums") {
				t.Errorf("not by the mirror:\n%s", out)
			}
		})
	}
}

// TestAParkedMachineJoinsAnewOnlyWhenItsNodeIsGone plays the boots of an agent.
func TestAParkedMachineJoinsAnewOnlyWhenItsNodeIsGone(t *testing.T) {
	_, body, found := strings.Cut(script(t, "agent.sh"), "DOOR=${DOOR:?} FINGERPRINT=${FINGERPRINT:?}\n")
	if !found {
		t.Fatal("the script is made otherwise than this test knows")
	}
	body = strings.ReplaceAll(body, "/usr/local/sbin/sluice-join", "sluice_join")
	for name, tc := range map[string]struct{ joined, admitted, state, want string }{
		"the first boot":        {"1", "1", "unknown", "install configure join start"},
		"a try again":           {"1", "0", "unknown", "install configure start"},
		"its Node is there":     {"0", "0", "there", "install configure start"},
		"nobody answers":        {"0", "0", "unknown", "install configure start"},
		"its Node was deleted":  {"0", "0", "gone", "install configure forget configure join start"},
		"deleted, never joined": {"1", "0", "gone", "install configure start"},
	} {
		t.Run(name, func(t *testing.T) {
			out, ok := bash(t, words+"DOOR=x FINGERPRINT=y J="+tc.joined+" A="+tc.admitted+`
say() { :; }
install_binaries() { echo install; }
configure_agent() { echo configure; }
joined() { return $J; }
admitted() { return $A; }
state() { echo `+tc.state+`; }
forget() { J=1 A=1; echo forget; }
sluice_join() { echo join; }
start_agent() { echo start; }
`+body)
			if got := strings.Join(strings.Fields(out), " "); got != tc.want || !ok {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestAKubeletSaysItsAddressWhereACloudControllerWouldBeAwaited writes the kubelet's arguments of a machine with a second address.
func TestAKubeletSaysItsAddressWhereACloudControllerWouldBeAwaited(t *testing.T) {
	for name, tc := range map[string]struct{ cloud, server, route, want string }{
		"an agent":    {"true", "10.10.0.4", "10.10.0.4 dev eth0 src 10.10.0.7 uid 0 \\    cache ", "--cloud-provider=external --node-ip=10.10.0.7 "},
		"a server":    {"true", "10.10.0.4", "local 10.10.0.4 dev lo src 10.10.0.4 uid 0 \\    cache <local> ", "--cloud-provider=external --node-ip=10.10.0.4 "},
		"by a router": {"true", "10.60.0.4", "10.60.0.4 via 10.10.0.1 dev eth0 src 10.10.0.7 uid 0 \\    cache ", "--cloud-provider=external --node-ip=10.10.0.7 "},
		"without one": {"false", "10.10.0.4", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			out, ok := bash(t, words+"MIRROR= CONTAINERD=1 RUNC=1 PLUGINS=1 FLANNEL=1 CLOUD_PROVIDER="+tc.cloud+" SERVER="+tc.server+"\n"+
				script(t, "common.sh")+strings.ReplaceAll(script(t, "kubeadm.sh"), "/etc/default", "$PWD")+`
ip() { [ "$*" = "-4 -o route get $SERVER" ] && echo '`+tc.route+`'; }
node_name() { echo node; }
labels() { echo a=b; }
the_providers_id() { echo azure:///id; }
kubelet_arguments --more
cat kubelet
`)
			if want := `KUBELET_EXTRA_ARGS="` + tc.want + "--hostname-override=node --provider-id=azure:///id --node-labels=a=b --more\"\n"; out != want || !ok {
				t.Errorf("got %q, want %q", out, want)
			}
		})
	}
}

// TestAManifestIsAppliedOnlyAsSluiceKnowsIt plays an addon of the server: what was fetched has the checksum of the table, or nothing of it is applied.
func TestAManifestIsAppliedOnlyAsSluiceKnowsIt(t *testing.T) {
	_, addon, found := strings.Cut(script(t, "server.sh"), "\n# addon NAME")
	addon, _, cut := strings.Cut(addon, "\nmount_data\n")
	if !found || !cut {
		t.Fatal("the script is made otherwise than this test knows")
	}
	f := load(t, "k3s")
	f.Addons.AzureFile = true
	f.Images = map[string]string{"mcr.microsoft.com/oss/v2/kubernetes-csi/livenessprobe:v2.17.0": "mirror.example:5000/probe@sha256:" + strings.Repeat("a", 64)}
	files := map[string]string{}
	for _, file := range read(t, rendered(t, f).Server).WriteFiles {
		files[file.Path] = file.Content
	}
	sums, pins := files["/etc/sluice/sums"], files["/etc/sluice/images.sed"]
	if n := strings.Count(sums, "\n"); n != 10 || pins == "" {
		t.Fatalf("%d files are to be fetched:\n%s", n, sums)
	}
	// What is served here are not those files, and so each case says what their checksums are.
	const text = "  image: mcr.microsoft.com/oss/v2/kubernetes-csi/livenessprobe:v2.17.0\n- image: mcr.microsoft.com/oss/v2/kubernetes-csi/livenessprobe:v2.17.0-a\n"
	hash := func(text string) string { sum := sha256.Sum256([]byte(text)); return hex.EncodeToString(sum[:]) }
	for name, tc := range map[string]struct {
		sum     func(url, sum string) string
		applied int
	}{
		"as it should be":        {func(string, string) string { return hash(text) }, 5},
		"with no image replaced": {func(string, string) string { return hash(text) }, 5},
		"all others":             {func(_, sum string) string { return sum }, 0},
		"one other": {func(url, sum string) string {
			if strings.HasSuffix(url, "/csi-azurefile-controller.yaml") {
				return sum
			}
			return hash(text)
		}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			var table strings.Builder
			without := ""
			if name == "with no image replaced" {
				without = "rm pins\n"
			}
			for line := range strings.Lines(sums) {
				sum, url, _ := strings.Cut(strings.TrimSpace(line), "  ")
				table.WriteString(tc.sum(url, sum) + "  " + url + "\n")
			}
			out, ok := bash(t, words+"mkdir data etc; SUMS=$PWD/sums PINS=$PWD/pins DATA=$PWD/data\ncat >sums <<'END'\n"+table.String()+"END\ncat >pins <<'END'\n"+pins+"END\n"+without+
				script(t, "common.sh")+strings.ReplaceAll("\n# addon NAME"+addon, "/etc/sluice/", "$PWD/etc/")+`
curl() {
	while [ "$1" != -o ]; do shift; done
	printf '`+strings.ReplaceAll(text, "\n", `\n`)+`' >"$2"
}
kubectl() {
	case $1 in
	apply) echo "APPLIED $3"; cat "$3" ;;
	get) return 1 ;;
	*) echo "kubectl $*" ;;
	esac
}
addon azurefile@v1.34.0
echo AGAIN
addon azurefile@v1.34.0
`)
			if n := strings.Count(out, "APPLIED"); n != tc.applied || ok != (tc.applied == 5) {
				t.Errorf("%d are applied, want %d (%v):\n%s", n, tc.applied, ok, out)
			}
			if ok && without == "" && (strings.Count(out, "image: mirror.example:5000/probe@sha256:aaa") != 5 || !strings.Contains(out, "livenessprobe:v2.17.0-a\n") || !strings.Contains(out, "create -f")) {
				t.Errorf("the images are others:\n%s", out)
			}
			if !ok && !strings.Contains(out, "has the checksum "+hash(text)+", and sluice says ") {
				t.Errorf("it does not say why:\n%s", out)
			}
		})
	}
}

// TestAnImageIsLeftAsItIs has an image whose maker has set up containerd and the kernel: the script only looks, and names mirrors.
func TestAnImageIsLeftAsItIs(t *testing.T) {
	for name, tc := range map[string]struct {
		lacks, want string
		ok          bool
	}{
		"with all":        {"", "done", true},
		"without kubectl": {"kubectl", "the image has no kubectl: name one that has it, or set distribution.install to download", false},
	} {
		t.Run(name, func(t *testing.T) {
			out, ok := bash(t, words+"INSTALL=image MIRROR= CONTAINERD=1 RUNC=1 PLUGINS=1 FLANNEL=1\n"+script(t, "common.sh")+script(t, "kubeadm.sh")+`
command() { [ "$2" != "`+tc.lacks+`" ]; }
for changes in modprobe sysctl mkdir containerd systemctl curl tar; do eval "$changes() { echo \"CHANGED by $changes \$*\"; }"; done
install_binaries
echo done
`)
			if ok != tc.ok || !strings.Contains(out, tc.want) || strings.Contains(out, "CHANGED") {
				t.Errorf("ended well: %v, want %v with %q:\n%s", ok, tc.ok, tc.want, out)
			}
		})
	}
}
