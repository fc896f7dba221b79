# kubeadm's Kubernetes on this machine. It is sourced after common.sh.
# shellcheck shell=bash

CONTAINERD=${CONTAINERD:?} RUNC=${RUNC:?} PLUGINS=${PLUGINS:?} FLANNEL=${FLANNEL:?}

# binds: folders of the data disk, and where the distribution has them.
binds() {
	echo "etcd /var/lib/etcd"
	echo "kubernetes /etc/kubernetes"
}

install_binaries() {
	local arch from name
	if [ "$INSTALL" = image ]; then
		for name in containerd kubelet kubeadm kubectl; do
			command -v "$name" >/dev/null || die "the image has no $name: name one that has it, or set distribution.install to download"
		done
		mirrors
		return # how the image's containerd and kernel are set up is the image's matter
	fi
	if [ "$(cat /usr/local/share/sluice-kubeadm 2>/dev/null)" != "$VERSION" ]; then
		arch=$(architecture)
		from=https://github.com/containerd/containerd/releases/download/v$CONTAINERD/containerd-$CONTAINERD-linux-$arch.tar.gz
		checked "$from" /tmp/containerd.tar.gz "$from.sha256sum"
		tar -C /usr/local -xzf /tmp/containerd.tar.gz
		from=https://github.com/opencontainers/runc/releases/download/v$RUNC
		checked "$from/runc.$arch" /usr/local/sbin/runc "$from/runc.sha256sum"
		from=https://github.com/containernetworking/plugins/releases/download/v$PLUGINS/cni-plugins-linux-$arch-v$PLUGINS.tgz
		checked "$from" /tmp/plugins.tgz "$from.sha256"
		mkdir -p /opt/cni/bin
		tar -C /opt/cni/bin -xzf /tmp/plugins.tgz
		from=https://dl.k8s.io/release/$VERSION/bin/linux/$arch
		for name in kubeadm kubelet kubectl; do
			checked "$from/$name" "/usr/local/bin/$name" "$from/$name.sha256"
		done
		chmod 0755 /usr/local/sbin/runc /usr/local/bin/{kubeadm,kubelet,kubectl}
		rm -f /tmp/containerd.tar.gz /tmp/plugins.tgz
		echo "$VERSION" >/usr/local/share/sluice-kubeadm
	fi
	printf 'overlay\nbr_netfilter\n' >/etc/modules-load.d/sluice.conf
	modprobe -a overlay br_netfilter
	printf 'net.ipv4.ip_forward=1\nnet.bridge.bridge-nf-call-iptables=1\n' >/etc/sysctl.d/90-sluice.conf
	sysctl -q -p /etc/sysctl.d/90-sluice.conf
	mkdir -p /etc/containerd
	# The kubelet and containerd must agree on who makes cgroups: systemd does.
	containerd config default | sed 's/SystemdCgroup = false/SystemdCgroup = true/; s#config_path = .*#config_path = "/etc/containerd/certs.d"#' \
		>/etc/containerd/config.toml
	mirrors
	systemctl enable --now containerd.service
	systemctl restart containerd.service
}

mirrors() {
	local registry
	[ -n "$MIRROR" ] || return 0
	for registry in docker.io registry.k8s.io mcr.microsoft.com ghcr.io quay.io; do
		mkdir -p "/etc/containerd/certs.d/$registry"
		cat >"/etc/containerd/certs.d/$registry/hosts.toml" <<-END
			[host."https://${MIRROR%%/*}/v2/$(mirror_path)$registry"]
			  capabilities = ["pull", "resolve"]
			  override_path = true
		END
	done
}

# mirror_path: the part of the mirror behind its host, with a / at its end.
mirror_path() {
	case $MIRROR in
	*/*) echo "${MIRROR#*/}/" ;;
	esac
}

# own_address: the address by which this machine reaches the server, which is that of its first interface.
own_address() { ip -4 -o route get "$SERVER" | sed -n 's/.* src \([0-9.]*\).*/\1/p'; }

# kubelet_arguments MORE...: what every kubelet is told of its machine.
kubelet_arguments() {
	local all
	all="--hostname-override=$(node_name) --provider-id=$(the_providers_id) --node-labels=$(labels)"
	# Without its own word for it the node has no address until Azure's node manager gives it one. kube-proxy waits half a minute for the address, and the node
	# manager for kube-proxy.
	[ "$CLOUD_PROVIDER" = false ] || all="--cloud-provider=external --node-ip=$(own_address) $all"
	[ -z "$NODE_TAINTS" ] || all="$all --register-with-taints=$NODE_TAINTS"
	mkdir -p /etc/default
	echo "KUBELET_EXTRA_ARGS=\"$all $*\"" >/etc/default/kubelet
}

# joined: whether this machine has been a node.
joined() { [ -s /var/lib/kubelet/pki/kubelet-client-current.pem ]; }

state() {
	local own=/var/lib/kubelet/pki/kubelet-client-current.pem
	settled_state /etc/kubernetes/pki/ca.crt "$own" "$own"
}

# admitted: whether the door has let this machine in.
admitted() { [ -s /etc/sluice/join.yaml ]; }

# forget: makes a new machine of this one.
forget() {
	kubeadm reset --force --cleanup-tmp-dir || true
	rm -rf /var/lib/kubelet/pki /etc/kubernetes/kubelet.conf /etc/sluice/join.yaml
}

configure_agent() { kubelet_arguments --rotate-server-certificates=true; }

start_agent() {
	systemctl enable kubelet.service
	if ! joined && ! kubeadm join --config /etc/sluice/join.yaml; then
		rm -f /etc/sluice/join.yaml # its token may be over
		die "kubeadm join failed"
	fi
	systemctl start --no-block kubelet.service
}

kubeconfig() { echo /etc/kubernetes/admin.conf; }

start_server() {
	kubelet_arguments
	cat >/etc/sluice/init.yaml <<-END
		apiVersion: kubeadm.k8s.io/v1beta4
		kind: InitConfiguration
		localAPIEndpoint: {advertiseAddress: $SERVER, bindPort: 6443}
		nodeRegistration: {name: $(node_name)}
		---
		apiVersion: kubeadm.k8s.io/v1beta4
		kind: ClusterConfiguration
		kubernetesVersion: $VERSION
		controlPlaneEndpoint: $SERVER:6443
		apiServer:
		  certSANs: [$SERVER${PUBLIC_ADDRESS:+, $PUBLIC_ADDRESS}]
		networking: {podSubnet: $PODS, serviceSubnet: $SERVICES}
		---
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		cgroupDriver: systemd
		rotateCertificates: true
	END
	systemctl enable kubelet.service
	# A machine that takes the place of another finds etcd's data and the certificates on the data disk, and kubeadm goes on with both.
	if ! [ -e /var/lib/sluice-init ]; then
		rm -f /etc/kubernetes/{kubelet,admin,super-admin,controller-manager,scheduler}.conf /etc/kubernetes/manifests/*
		kubeadm init --config /etc/sluice/init.yaml --skip-token-print \
			--ignore-preflight-errors=DirAvailable--var-lib-etcd,NumCPU
		touch /var/lib/sluice-init
	fi
	systemctl start --no-block kubelet.service
}

network_of_pods() {
	[ "$CNI" = flannel ] || return 0
	manifest "https://raw.githubusercontent.com/flannel-io/flannel/v$FLANNEL/Documentation/kube-flannel.yml" /etc/sluice/flannel.yaml
	sed -i "s#10\.244\.0\.0/16#$PODS#" /etc/sluice/flannel.yaml
	kubectl apply -f /etc/sluice/flannel.yaml
}
