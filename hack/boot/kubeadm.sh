#!/bin/sh
# Runs kubeadm with the console as its output. When it fails, the console also tells what the kubelet and the containers said.
if kubeadm "$@" --config /etc/kubernetes/story.yaml --ignore-preflight-errors=NumCPU,Mem,SystemVerification,FileExisting-tc >/dev/console 2>&1; then
	echo "STORY: kubeadm $1 has ended" >/dev/console
	exit
fi
{
	ctr -n k8s.io containers ls
	journalctl -u containerd -u kubelet -n 60 --no-pager -o cat
	tail -n 20 /var/log/containers/*.log
	echo "STORY: kubeadm $1 has failed"
} >/dev/console 2>&1
exit 1
