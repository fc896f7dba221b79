#!/bin/sh
# What a machine of the story does before it is a node: its pods have the network 10.244.N.0/24, where N is the last part of its own address.
set -eu
n=$(ip -4 -o addr show eth0 | sed 's/.*inet [0-9]*\.[0-9]*\.[0-9]*\.\([0-9]*\).*/\1/')
sysctl -qw net.ipv4.ip_forward=1 # kubeadm looks at it
mkdir -p /etc/cni/net.d
cat >/etc/cni/net.d/10-pods.conflist <<EOF
{"cniVersion": "1.0.0", "name": "pods", "plugins": [
  {"type": "ptp", "mtu": 1500, "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.244.$n.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
EOF
echo "STORY: the machine has booted" >/dev/console
