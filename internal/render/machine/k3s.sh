# K3s on this machine. It is sourced after common.sh.
# shellcheck shell=bash

K3S=/var/lib/rancher/k3s

# binds: folders of the data disk, and where the distribution has them.
binds() {
	echo "k3s $K3S"
	echo "etc /etc/rancher"
}

install_binaries() {
	if [ "$INSTALL" = image ]; then
		command -v k3s >/dev/null || die "the image has no k3s: name one that has it, or set distribution.install to download"
		return
	fi
	[ "$(cat /usr/local/share/sluice-k3s 2>/dev/null)" != "$VERSION" ] || return 0
	local from="https://github.com/k3s-io/k3s/releases/download/${VERSION//+/%2B}" arch file=k3s
	arch=$(architecture)
	[ "$arch" = amd64 ] || file=k3s-$arch
	checked "$from/$file" /usr/local/bin/k3s "$from/sha256sum-$arch.txt"
	chmod 0755 /usr/local/bin/k3s
	ln -sf k3s /usr/local/bin/kubectl
	echo "$VERSION" >/usr/local/share/sluice-k3s
}

mirrors() {
	[ -n "$MIRROR" ] || return 0
	mkdir -p /etc/rancher/k3s
	local registry
	echo mirrors: >/etc/rancher/k3s/registries.yaml
	for registry in docker.io registry.k8s.io mcr.microsoft.com ghcr.io quay.io; do
		cat >>/etc/rancher/k3s/registries.yaml <<-END
			  $registry:
			    endpoint: ["https://${MIRROR%%/*}"]
			    rewrite: {"^(.*)\$": "$(mirror_path)$registry/\$1"}
		END
	done
}

# mirror_path: the part of the mirror behind its host, with a / at its end.
mirror_path() {
	case $MIRROR in
	*/*) echo "${MIRROR#*/}/" ;;
	esac
}

# each_of NAME WORDS: a list of the configuration, of words with commas between them.
each_of() {
	[ -n "$2" ] || return 0
	echo "$1:"
	tr ',' '\n' <<<"$2" | sed 's/.*/- "&"/'
}

# machine_config: what every machine says of itself.
machine_config() {
	local arguments
	arguments="provider-id=$(the_providers_id)"
	[ "$CLOUD_PROVIDER" = false ] || arguments="cloud-provider=external,$arguments"
	mkdir -p /etc/rancher/k3s/config.yaml.d
	{
		echo "node-name: $(node_name)"
		each_of node-label "$(labels)"
		each_of node-taint "$NODE_TAINTS"
		each_of kubelet-arg "$arguments"
	} >/etc/rancher/k3s/config.yaml.d/10-machine.yaml
}

# joined: whether this machine has been a node.
joined() { [ -s "$K3S/agent/client-kubelet.crt" ]; }

state() { settled_state "$K3S/agent/server-ca.crt" "$K3S/agent/client-kubelet.crt" "$K3S/agent/client-kubelet.key"; }

# admitted: whether the door has let this machine in.
admitted() { [ -s /etc/rancher/k3s/config.yaml ]; }

# forget: makes a new machine of this one. With the folder of a Node that was deleted an agent never joins again.
forget() { rm -rf "$K3S/agent" /etc/rancher/node /etc/rancher/k3s/config.yaml; }

configure_agent() {
	mirrors
	machine_config
}

start_agent() { systemctl start --no-block k3s-agent.service; }

kubeconfig() { echo /etc/rancher/k3s/k3s.yaml; }

start_server() {
	mirrors
	machine_config
	{
		echo "node-ip: $SERVER"
		echo "cluster-init: true"
		echo "cluster-cidr: $PODS"
		echo "service-cidr: $SERVICES"
		echo "secrets-encryption: true"
		echo "write-kubeconfig-mode: \"0600\""
		each_of tls-san "$SERVER${PUBLIC_ADDRESS:+,$PUBLIC_ADDRESS}"
		[ "$CNI" = flannel ] || printf 'flannel-backend: none\ndisable-network-policy: true\n'
		[ "$CLOUD_PROVIDER" = false ] || printf 'disable-cloud-controller: true\ndisable:\n- servicelb\n'
	} >/etc/rancher/k3s/config.yaml
	systemctl start --no-block k3s.service
}

network_of_pods() { :; } # K3s has one
