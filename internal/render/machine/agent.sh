#!/usr/bin/env bash
# Makes a node of this machine: at the first boot it installs and joins; later it looks first whether its Node is still there.
set -euo pipefail
# shellcheck source=machine.env
. /etc/sluice/machine.env
# shellcheck source=common.sh
. /usr/local/lib/sluice/common.sh
# shellcheck source=k3s.sh
. "/usr/local/lib/sluice/$DISTRIBUTION.sh"

DOOR=${DOOR:?} FINGERPRINT=${FINGERPRINT:?}

install_binaries
configure_agent
if joined && [ "$(state)" = gone ]; then
	say "the Node of this machine was deleted: it joins as a new one"
	forget
	configure_agent
fi
joined || admitted || /usr/local/sbin/sluice-join --door "$DOOR" --fingerprint "$FINGERPRINT" --distribution "$DISTRIBUTION"
start_agent
say "the agent starts"
