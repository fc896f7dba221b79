# What a server is asked by run command: how far it is, a word and its value a line. /bin/sh runs it as root, behind ANSWER and RECIPIENT.
# What it prints Azure shows to everybody who may read the machine: so the kubeconfig goes out sealed for RECIPIENT, a certificate of one up.
# The answer is kept, packed, in the file ANSWER, since Azure returns 4,096 bytes of each command.
umask 077
PATH="$PATH:/usr/local/sbin:/usr/local/bin"
LC_ALL=C.UTF-8
export PATH LC_ALL
mkdir -p "${ANSWER%/*}"
find "${ANSWER%/*}" -type f -mmin +60 -delete 2>/dev/null

say() { printf '%s %s\n' "$1" "$(printf %s "$2" | tr '\n' ' ')"; }

state_of_unit() {
	systemctl show -p "$1" --value sluice-server.service
}

answer() {
	say cloud-init "$(cloud-init status | sed -n 's/^status: //p')"
	say unit "$(state_of_unit ActiveState)"
	say result "$(state_of_unit Result)"
	say line "$(journalctl --no-pager -q -o cat -n 1 _SYSTEMD_UNIT=sluice-server.service | cut -c 1-300)"
	for config in /etc/rancher/k3s/k3s.yaml /etc/kubernetes/admin.conf; do
		[ -s "$config" ] || continue
		KUBECONFIG=$config
		export KUBECONFIG
		kubectl --request-timeout=10s get --raw /readyz >/dev/null || continue
		say api ready
		kubectl --request-timeout=20s get nodes -o 'jsonpath={range .items[*]}node {.metadata.name} {.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}'
		[ -n "$RECIPIENT" ] || break
		printf '%s\n' "$RECIPIENT" >"$ANSWER.pem"
		say kubeconfig "$(gzip -9 <"$config" | openssl cms -encrypt -binary -aes-256-cbc -outform DER "$ANSWER.pem" | base64 -w 0)"
		rm -f "$ANSWER.pem"
		break
	done
}

answer 2>/dev/null | gzip -9 | base64 -w 0 >"$ANSWER"
