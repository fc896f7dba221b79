// Package diagnosis says why a machine does not become a node, from its boot log: which lines of it matter, and which known cause they
// show. The text is another's: it is cleaned, bounded, and freed of secrets before anybody keeps it.
package diagnosis

import "regexp"

// Cause is a known reason that a machine does not join, and what an operator can do.
type Cause struct {
	Name   string // one clause
	Remedy string // one clause
}

// row is a cause and the lines that show it.
type row struct {
	Cause
	shows *regexp.Regexp // of a plain line
}

// rows are the known causes, the most telling first: a machine without a route also fails the steps that come after the call. Words are those
// of kubeadm, kubelet, K3s, containerd, cloud-init and Linux.
var rows = []row{
	{
		Cause{"the kubelet is started with a flag or setting that it does not know", "correct the flags in what starts the machine (customData): this version of Kubernetes has no such setting"},
		regexp.MustCompile(`(?i)unknown (shorthand )?flag|flag provided but not defined|failed to parse (the )?kubelet (flag|config)|failed to load kubelet config|` +
			`failed to (validate|construct) kubelet (flags|config)|error unmarshalling kubelet|unknown field.*kubeletconfiguration`),
	},
	{
		Cause{"the door of the cluster does not let it join", "the line says the code and why; the log of sluice has the remedy for the code, and Events in the namespace sluice-join what a person must do"},
		regexp.MustCompile(`sluice-join: (refused|gives up): `),
	},
	{
		Cause{"the disk is full", "give the machine a larger OS disk, or an image that leaves more of it free"},
		regexp.MustCompile(`(?i)no space left on device|disk quota exceeded|ENOSPC`),
	},
	{
		Cause{"memory ran out", "choose a size with more memory, or start less on the machine"},
		regexp.MustCompile(`(?i)out of memory: kill|oom-kill:|invoked oom-killer|cannot allocate memory|memory cgroup out of memory`),
	},
	{
		Cause{"another node has its name", "delete the node of that name and, on K3s, its Secret NAME.node-password.k3s; or give each machine a name of its own"},
		regexp.MustCompile(`(?i)node password rejected|duplicate hostname|a node with name .* (and status .* )?already exists|` +
			`is not allowed to modify node|node name .* already (taken|in use)`),
	},
	{
		Cause{"its clock is wrong", "let the machine reach a time server before it joins (chrony or systemd-timesyncd)"},
		regexp.MustCompile(`(?i)certificate has expired or is not yet valid|certificate is not yet valid|clock skew|system clock (is )?(wrong|unsynchroni[sz]ed)|` +
			`token used before issued`),
	},
	{
		Cause{"the API server refuses its token, or is not the one that the token is for", "put a token that is valid now, and the hash of this cluster's CA, into what starts the machine (kubeadm token create, k3s token create)"},
		regexp.MustCompile(`(?i)could not find a jws signature|token id .* (is )?(invalid|expired|unknown)|(bootstrap )?token (is |has )?(unknown|invalid|expired)|invalid bearer token|` +
			`failed to validate (node )?token|token ca hash does not match|cluster ca found .* (is|are) (invalid|not)|public key .* not pinned|` +
			`none of the public keys .* are pinned|certificate signed by unknown authority|ca hash.*(mismatch|does not match)|(401|not authorized|unauthorized).*(join|bootstrap|supervisor|/cacerts|/v1-k3s)|` +
			`(join|bootstrap|supervisor|/v1-k3s|register node).*(401|not authorized|unauthorized)`),
	},
	{
		Cause{"a name is not resolved by DNS", "correct the DNS servers of the machine's network, or the name of the API server"},
		regexp.MustCompile(`(?i)\blookup \S+.*(no such host|i/o timeout|server misbehaving|connection refused|temporary failure)|no such host|` +
			`temporary failure in name resolution|could not resolve host|name or service not known|nxdomain`),
	},
	{
		Cause{"an image or a package is not to be had", "let the machine reach the registry, with its credentials, or put the images into the machine's image"},
		regexp.MustCompile(`(?i)(failed|error|unable) (to )?(pull|pulling)\b.*image|errimagepull|imagepullbackoff|failed to pull|toomanyrequests|pull access denied|` +
			`failed to resolve reference|manifest unknown|failed to fetch https?://|unable to locate package|error: ?failed to download`),
	},
	{
		Cause{"it has no route to the API server", "allow the machine's subnet to reach the API server: routes, security groups, firewall, and the load balancer's backends"},
		regexp.MustCompile(`(?i)no route to host|network is unreachable|(dial tcp|connect|https?://|:6443|:9345|connection).*(i/o timeout|connection refused|connection timed out|deadline exceeded)|` +
			`(i/o timeout|connection refused|connection timed out).*(6443|9345|api ?server)`),
	},
	{
		Cause{"cloud-init failed", "correct the script or the data that starts the machine (customData); cloud-init status --long tells the step"},
		regexp.MustCompile(`(?i)cloud-init.*(failed|error|traceback|critical)|(failed|error).*cloud-(init|config|final)|util\.py\[warning\]|failed running .*runcmd|part-\d+.*(failed|returned)|` +
			`failed to (run|start) .*user.?data`),
	},
}

// none is the rank of what shows no cause.
var none = len(rows)

// causeOf is the cause of a rank, the zero Cause where that is none.
func causeOf(rank int) Cause {
	if rank == none {
		return Cause{}
	}
	return rows[rank].Cause
}

// rowOf is the number of the first row that a plain line shows, or none.
func rowOf(line string) int {
	for i := range rows {
		if rows[i].shows.MatchString(line) {
			return i
		}
	}
	return none
}
