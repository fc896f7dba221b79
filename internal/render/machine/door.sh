#!/usr/bin/env bash
# Hands the key of the door by which machines join to sluice: from Key Vault by this machine's identity, or from a file that its operator put here.
# It fails as long as there is none; systemd tries it again.
set -euo pipefail
# shellcheck source=machine.env
. /etc/sluice/machine.env
# shellcheck source=common.sh
. /usr/local/lib/sluice/common.sh
# shellcheck source=k3s.sh
. "/usr/local/lib/sluice/$DISTRIBUTION.sh"

KEY=/etc/sluice/join/tls.pem
VAULT=${VAULT-} CLIENT=${CLIENT-}

# member NAME: a member of the JSON object on standard input.
member() { python3 -c 'import json, sys; sys.stdout.write(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

# from_vault: the secret. The token goes to curl by its standard input, since others see its arguments.
from_vault() {
	local host=${VAULT#https://} token
	host=${host%%/*}
	token=$(curl -sf --noproxy '*' -m 10 -H Metadata:true \
		"http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https://${host#*.}${CLIENT:+&client_id=$CLIENT}" | member access_token)
	curl -sf -m 20 -H @- "https://$host/secrets/sluice-join?api-version=7.4" <<<"Authorization: Bearer $token" | member value
}

umask 077
mkdir -p "${KEY%/*}"
if ! [ -s "$KEY" ]; then
	[ -n "$VAULT" ] || die "there is no key of the door: put certificate and key in PEM at $KEY"
	from_vault >"$KEY.part" || die "Key Vault gives no key of the door yet: is the secret there, and has this machine's identity its role?"
	mv "$KEY.part" "$KEY"
fi
KUBECONFIG=$(kubeconfig)
export KUBECONFIG
kubectl -n kube-system create secret generic sluice-join --from-file="$KEY" --dry-run=client -o yaml | kubectl apply -f -
say "the door has its key"
