#!/usr/bin/env bash
# Makes a control plane of this machine: its data disk, the distribution, and what the cluster runs of sluice.
set -euo pipefail
# shellcheck source=machine.env
. /etc/sluice/machine.env
# shellcheck source=common.sh
. /usr/local/lib/sluice/common.sh
# shellcheck source=k3s.sh
. "/usr/local/lib/sluice/$DISTRIBUTION.sh"

DATA=/var/lib/sluice-data
ADDONS=${ADDONS-}

# data_disk: the disk at lun 0, as SCSI and as NVMe machines name it.
data_disk() {
	local path n
	for n in $(seq 60); do
		for path in /dev/disk/azure/data/by-lun/0 /dev/disk/azure/scsi1/lun0; do
			if [ -b "$path" ]; then
				readlink -f "$path"
				return 0
			fi
		done
		sleep "$((n < 10 ? 1 : 5))"
	done
	die "there is no data disk at lun 0"
}

# mount_data: mounts the data disk, and makes a file system only on a disk that has nothing at all on it.
mount_data() {
	local disk found=0 what
	mountpoint -q "$DATA" && return 0
	disk=$(data_disk)
	what=$(blkid -p -o export "$disk") || found=$?
	case $found in
	0) grep -qx 'LABEL=sluice-data' <<<"$what" || die "$disk has something on it that is not sluice's, and is left as it is: $(tr '\n' ' ' <<<"$what")" ;;
	2)
		[ "$(lsblk -nro NAME "$disk" | wc -l)" = 1 ] || die "$disk has partitions, and is left as it is"
		say "makes a file system on $disk, which is empty"
		mkfs.ext4 -q -L sluice-data "$disk"
		;;
	*) die "what is on $disk cannot be told (blkid says $found), and it is left as it is" ;;
	esac
	mkdir -p "$DATA"
	mount -o noatime "$disk" "$DATA"
}

# bind_data: puts the distribution's folders onto the disk.
bind_data() {
	local folder path
	while read -r folder path; do
		mkdir -p "$DATA/$folder" "$path"
		mountpoint -q "$path" || mount --bind "$DATA/$folder" "$path"
	done < <(binds)
}

# addon NAME: applies a driver of Azure's storage once. Its controller needs the server's identity, and so it must run here. A storage class that is there
# already stays: it may be somebody's, and Kubernetes lets nobody change one.
addon() {
	local name=${1%%@*} version=${1##*@} part what
	what=$({ cat "$SUMS" "$PINS" 2>/dev/null || true; } | sha256sum)
	[ "$(cat "$DATA/$name" 2>/dev/null)" != "$what" ] || return 0
	local from="https://raw.githubusercontent.com/kubernetes-sigs/$name-csi-driver/$version/deploy/$version"
	for part in "csi-$name-driver" "rbac-csi-$name-controller" "rbac-csi-$name-node" "csi-$name-controller" "csi-$name-node"; do
		manifest "$from/$part.yaml" "/etc/sluice/$part.yaml" || return 1
		kubectl apply -f "/etc/sluice/$part.yaml" || return 1
	done
	kubectl -n kube-system patch deployment "csi-$name-controller" --type=merge --patch-file /etc/sluice/on-the-server.yaml || return 1
	kubectl get -f "/etc/sluice/class-$name.yaml" >/dev/null 2>&1 || kubectl create -f "/etc/sluice/class-$name.yaml" || return 1
	echo "$what" >"$DATA/$name"
}

mount_data
bind_data
[ ! -e /etc/sluice/azure.json ] || install -D -m 0644 /etc/sluice/azure.json /etc/kubernetes/azure.json # where the drivers look
install_binaries
start_server
KUBECONFIG=$(kubeconfig)
export KUBECONFIG
again kubectl get --raw /readyz >/dev/null
network_of_pods
again kubectl apply -f /etc/sluice/manifests
for addon in $ADDONS; do
	again addon "$addon"
done
say "the control plane is ready"
