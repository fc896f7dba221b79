#!/bin/sh
# Makes the root file system that all machines share, in the folder $1: a Debian as Azure's images are, with what a Kubernetes node needs. It runs in a
# mount and a process namespace of its own. The digest of this file names the result.
set -eu
root=$1
export PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
# debootstrap chooses no provider of what is only provided: python3-cffi-backend is named for python3-cryptography.
debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,udev,cloud-init,python3,python3-cffi-backend,isc-dhcp-client,iproute2,netbase,\
ca-certificates,openssl,curl,containerd,runc,containernetworking-plugins,iptables,conntrack,ethtool,socat,kmod,procps bookworm "$root" "${MIRROR:-http://deb.debian.org/debian}" >&2

rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/usr/share/doc/* "$root"/usr/share/man/* "$root"/debootstrap
rm -f "$root/etc/hostname" "$root/etc/machine-id" "$root/var/lib/dbus/machine-id"
echo 'nameserver 168.63.129.16' >"$root/etc/resolv.conf"

chroot "$root" systemctl --quiet enable systemd-networkd.service
# What waits for hardware that is not there, what would touch the kernel's own, and what a machine of one boot does not need.
chroot "$root" systemctl --quiet mask systemd-networkd-wait-online.service systemd-pstore.service systemd-udevd.service systemd-udev-trigger.service \
	systemd-modules-load.service systemd-sysctl.service systemd-binfmt.service systemd-random-seed.service systemd-firstboot.service \
	sys-kernel-debug.mount sys-kernel-tracing.mount sys-kernel-config.mount sys-fs-fuse-connections.mount dev-hugepages.mount \
	proc-sys-fs-binfmt_misc.automount getty.target apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer
mkdir -p "$root/etc/systemd/system-generators"
for generator in systemd-getty-generator systemd-gpt-auto-generator; do
	ln -sf /dev/null "$root/etc/systemd/system-generators/$generator"
done

cat >"$root/etc/cloud/cloud.cfg.d/90-azure.cfg" <<EOF
datasource_list: [Azure]
ssh_genkeytypes: []
ssh_deletekeys: false
manage_etc_hosts: true
apt: {preserve_sources_list: true}
growpart: {mode: "off"}
resize_rootfs: false
EOF
# systemd knows that it is in a container and leaves the kernel alone; cloud-init is to take the machine for one of Azure's.
cat >"$root/usr/bin/systemd-detect-virt" <<EOF
#!/bin/sh
case " \$* " in *' --container '* | *' -c '*) echo none && exit 1 ;; esac
echo microsoft
EOF
sed -i '/^ - locale$/d' "$root/etc/cloud/cloud.cfg" # there is one, and no other can be made
mkdir -p "$root/etc/systemd/system"
cat >"$root/usr/sbin/azure-agent" <<EOF
#!/usr/bin/python3
# Runs what Azure's run command hands to this machine, one script at a time: the wire server has it, and is told what came of it.
import json, subprocess, time, urllib.request
AT = "http://168.63.129.16/machine?comp=command"
while True:
    try:
        with urllib.request.urlopen(AT, timeout=90) as answer:
            told = answer.read()
        if not told:
            continue
        job = json.loads(told)
        ran = subprocess.run(["/bin/sh"], input=job["script"].encode(), capture_output=True)
        body = {"id": job["id"], "code": ran.returncode, "stdout": ran.stdout.decode(errors="replace"), "stderr": ran.stderr.decode(errors="replace")}
        urllib.request.urlopen(AT, data=json.dumps(body).encode(), timeout=30).close()
    except (OSError, ValueError):
        time.sleep(1)
EOF
chmod 0755 "$root/usr/sbin/azure-agent"
cat >"$root/etc/systemd/system/azure-agent.service" <<EOF
[Unit]
Description=Azure's agent
After=cloud-init.service

[Service]
ExecStart=/usr/sbin/azure-agent
Restart=always

[Install]
WantedBy=multi-user.target
EOF
chroot "$root" systemctl --quiet enable azure-agent.service
