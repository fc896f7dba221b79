# What servers and agents share. It is sourced, after the words of this machine.
# shellcheck shell=bash

# Words of /etc/sluice/machine.env: all texts, all there.
DISTRIBUTION=${DISTRIBUTION:?} VERSION=${VERSION:?} INSTALL=${INSTALL:?} MIRROR=${MIRROR-} SERVER=${SERVER:?}
NODE_LABELS=${NODE_LABELS-} NODE_TAINTS=${NODE_TAINTS-} CLOUD_PROVIDER=${CLOUD_PROVIDER:?} CNI=${CNI:?}
PODS=${PODS:?} SERVICES=${SERVICES:?}

# What the server fetches must have these checksums; images that the cluster's file names otherwise.
SUMS=${SUMS:-/etc/sluice/sums} PINS=${PINS:-/etc/sluice/images.sed}

# say WORDS...: on standard error, since functions answer on standard output.
say() { echo "sluice: $*" >&2; }

die() {
	say "$*"
	exit 1
}

# again COMMAND...: until it succeeds, for some minutes. NB: a function that is called so goes on after an error, unless it returns by itself.
again() {
	local n
	for n in $(seq 60); do
		if "$@"; then
			return 0
		fi
		sleep 5
	done
	say "this failed $n times: $*"
	return 1
}

node_name() { hostname | tr '[:upper:]' '[:lower:]'; }

architecture() {
	case $(uname -m) in
	aarch64) echo arm64 ;;
	*) echo amd64 ;;
	esac
}

# fetch URL FILE: through the mirror, where there is one.
fetch() {
	local url=$1
	[ -z "$MIRROR" ] || url="https://$MIRROR/${url#https://}"
	say "downloads $url"
	curl -fsSL --retry 20 --retry-delay 3 --retry-all-errors --connect-timeout 10 -o "$2.part" "$url" && mv "$2.part" "$2"
}

# kept URL FILE SUM WHO: fetches a file, and keeps it when it has the checksum that WHO says.
kept() {
	local have
	fetch "$1" "$2.unchecked" || return 1
	have=$(sha256sum "$2.unchecked" | awk '{ print $1 }')
	if [ -z "$3" ] || [ "$3" != "$have" ]; then
		rm -f "$2.unchecked"
		die "$1 has the checksum $have, and $4 says ${3:-nothing}"
	fi
	mv "$2.unchecked" "$2"
}

# checked URL FILE SUMS: fetches a file, and keeps it when the file of checksums at SUMS has its hash: beside its name, or as all it has.
checked() {
	local name=${1##*/} sums want
	name=${name//%2B/+}
	sums=$(mktemp)
	fetch "$3" "$sums"
	want=$(awk -v name="$name" 'NF == 1 || $2 == name || $2 == "*" name { print $1; exit }' "$sums")
	rm -f "$sums"
	kept "$1" "$2" "$want" "$3"
}

# manifest URL FILE: fetches a manifest whose checksum sluice knows, and names the images in it as the cluster's file does.
manifest() {
	kept "$1" "$2" "$(awk -v url="$1" '$2 == url { print $1 }' "$SUMS")" sluice || return 1
	[ ! -e "$PINS" ] || sed -i -f "$PINS" "$2"
}

# labels: the node's labels with commas between them: what a cloud controller would write, and the pool's own.
labels() { echo "$(/usr/local/sbin/sluice-join --labels)${NODE_LABELS:+,$NODE_LABELS}"; }

# node_state CA CERTIFICATE KEY: whether this machine's Node is there, as its own kubelet may ask: there, gone or unknown.
node_state() {
	case $(curl -s -o /dev/null -m 10 -w '%{http_code}' --noproxy '*' --cacert "$1" --cert "$2" --key "$3" \
		"https://$SERVER:6443/api/v1/nodes/$(node_name)" || true) in
	200) echo there ;;
	404) echo gone ;;
	*) echo unknown ;;
	esac
}

# settled_state CA CERTIFICATE KEY: the same, some seconds later where it is unknown: a whole cluster may be starting.
settled_state() {
	local state n
	for n in $(seq 12); do
		state=$(node_state "$@")
		if [ "$state" != unknown ]; then
			break
		fi
		[ "$n" = 12 ] || sleep 5
	done
	echo "$state"
}

# the_providers_id: how Azure's controllers call this machine.
the_providers_id() { /usr/local/sbin/sluice-join --provider-id; }
