#!/bin/sh
# The pods of a machine have the network 10.42.N.0/24, where N is the last part of its own address. The routes between machines are Azure's.
set -eu
n=$(ip -4 -o addr show eth0 | sed 's/.*inet [0-9]*\.[0-9]*\.[0-9]*\.\([0-9]*\).*/\1/')
sysctl -qw net.ipv4.ip_forward=1
mkdir -p /etc/cni/net.d
cat >/etc/cni/net.d/10-pods.conflist <<END
{"cniVersion": "1.0.0", "name": "pods", "plugins": [
  {"type": "ptp", "mtu": 1500, "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.42.$n.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
END
