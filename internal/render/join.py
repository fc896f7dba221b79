#!/usr/bin/env python3
"""Lets this machine join its cluster: it proves by Azure's attested document which machine it is, and gets a token of its own.

Usage: sluice-join --door https://10.10.0.4:7443 --fingerprint HEX --distribution k3s|kubeadm
       sluice-join --provider-id
       sluice-join --labels

Exit code 0: what the distribution needs is written; 2: the door has refused for good; 1: anything else.
Python 3.9 and its standard library are all it needs.
"""

import argparse
import hashlib
import http.client
import json
import os
import random
import re
import ssl
import sys
import time
import urllib.parse

API_VERSION = "2021-02-01"
MOST = 1 << 20  # bytes of an answer
FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0


class Refused(Exception):
    """The door will not change its mind."""


class Wait(Exception):
    """Something is not there yet; after says when to try again, in seconds."""

    def __init__(self, why, after=0.0):
        super().__init__(why)
        self.after = after


def say(line, console):
    """Print a line where people look: standard error, and the machine's console, which Azure keeps."""
    line = "sluice-join: " + "".join(c if c.isprintable() else "?" for c in line)[:400]
    print(line, file=sys.stderr, flush=True)
    if console:
        try:
            with open(console, "a", encoding="utf-8", errors="replace") as f:
                f.write(line + "\r\n")
        except OSError:
            pass  # not every machine has one


class Metadata:
    """The machine's own metadata service. It is asked directly: http.client knows no proxies."""

    def __init__(self, endpoint):
        self.at = urllib.parse.urlsplit(endpoint)

    def get(self, path, **query):
        query["api-version"] = API_VERSION
        c = http.client.HTTPConnection(self.at.hostname, self.at.port or 80, timeout=10)
        try:
            c.request("GET", "/metadata/" + path + "?" + urllib.parse.urlencode(query), headers={"Metadata": "true"})
            r = c.getresponse()
            body = r.read(MOST)
            if r.status != 200:
                raise Wait("the metadata service answers %d for %s" % (r.status, path))
            return json.loads(body)
        except (OSError, http.client.HTTPException, ValueError) as e:
            raise Wait("the metadata service does not answer: %s" % e) from e
        finally:
            c.close()


class Door:
    """The door of the cluster, known by the fingerprint of its certificate: nothing is sent before that was seen."""

    def __init__(self, address, fingerprint, source=""):
        self.source = (source, 0) if source else None
        self.at = urllib.parse.urlsplit(address)
        if self.at.scheme != "https" or not self.at.hostname:
            sys.exit("sluice-join: --door=%s: give an address such as https://10.10.0.4:7443" % address)
        self.fingerprint = re.sub(r"[^0-9a-f]", "", fingerprint.lower())
        if len(self.fingerprint) != 64:
            sys.exit("sluice-join: --fingerprint=%s: give the SHA-256 of the door's certificate, 64 hexadecimal digits" % fingerprint)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.tls.minimum_version = ssl.TLSVersion.TLSv1_2
        self.tls.check_hostname = False
        self.tls.verify_mode = ssl.CERT_NONE  # the fingerprint says more

    def post(self, path, body):
        c = http.client.HTTPSConnection(self.at.hostname, self.at.port or 7443, timeout=90, context=self.tls, source_address=self.source)
        try:
            c.connect()
            seen = hashlib.sha256(c.sock.getpeercert(binary_form=True)).hexdigest()
            if seen != self.fingerprint:
                raise Wait("door-unknown: the door's certificate has fingerprint %s, not %s" % (seen, self.fingerprint))
            c.request("POST", path, body=json.dumps(body), headers={"Content-Type": "application/json"})
            r = c.getresponse()
            answer = json.loads(r.read(MOST))
        except (OSError, http.client.HTTPException, ValueError) as e:
            raise Wait("the door does not answer: %s" % e) from e
        finally:
            c.close()
        if r.status == 200:
            return answer
        why = "%s: %s" % (answer.get("code", "status-%d" % r.status), answer.get("message", ""))
        if r.status == 429 or r.status >= 500:
            after = r.headers.get("Retry-After", "")
            raise Wait(why, float(after) if after.isdigit() else 0.0)
        raise Refused(why)


def ask(metadata, door):
    """The protocol, once."""
    nonce = door.post("/join/v1/challenge", {})["nonce"]
    document = metadata.get("attested/document", nonce=nonce)
    return door.post("/join/v1/join", {
        "nonce": nonce,
        "resourceId": metadata.get("instance/compute")["resourceId"],
        "document": {"encoding": document["encoding"], "signature": document["signature"]},
    })


def admitted(metadata, door, deadline, console):
    """The door's answer, or an end."""
    wait, told = FIRST_WAIT, ""
    while True:
        try:
            return ask(metadata, door)
        except (KeyError, TypeError) as e:
            why, after = "an answer lacks %s" % e, 0.0
        except Wait as e:
            why, after = str(e), e.after
        if why != told:
            say("waits: " + why, console)
            told = why
        pause = max(after, wait * random.uniform(0.5, 1.0))  # machines that were made together do not come together
        if time.monotonic() + pause > deadline:
            say("gives up: " + why, console)
            sys.exit(1)
        time.sleep(pause)
        wait = min(LONGEST_WAIT, wait * 2)


def quoted(text):
    """A string as YAML and JSON have it."""
    return json.dumps(str(text))


def write(root, path, text):
    """Write a file that only root may read, whole or not at all."""
    path = root + path
    os.makedirs(os.path.dirname(path), exist_ok=True)
    part = path + ".part"
    if os.path.lexists(part):
        os.unlink(part)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as f:
        f.write(text)
        f.flush()
        os.fsync(f.fileno())
    os.rename(part, path)
    return path


def k3s(root, answer):
    return write(root, "/etc/rancher/k3s/config.yaml", "server: %s\ntoken: %s\n" % (quoted(answer["server"]), quoted(answer["k3sToken"])))


def kubeadm(root, answer):
    return write(root, "/etc/sluice/join.yaml", """apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
discovery:
  bootstrapToken:
    apiServerEndpoint: %s
    token: %s
    caCertHashes: [%s]
nodeRegistration:
  name: %s
""" % (quoted(urllib.parse.urlsplit(answer["server"]).netloc), quoted(answer["token"]), quoted(answer["caHash"]), quoted(answer["node"])))


def provider_id(compute):
    """How Azure's controllers call the machine: they write the name of the resource group in lower case."""
    return "azure://" + re.sub(r"(?i)(/resourceGroups/)([^/]+)", lambda m: "/resourceGroups/" + m.group(2).lower(), compute["resourceId"])


def labels(compute):
    """What a cloud controller would write on the Node."""
    region, zone = compute.get("location", ""), compute.get("zone", "")
    all_of = {
        "node.kubernetes.io/instance-type": compute.get("vmSize", ""),
        "topology.kubernetes.io/region": region,
        "topology.kubernetes.io/zone": "%s-%s" % (region, zone) if zone else compute.get("platformFaultDomain", ""),
    }
    return ",".join("%s=%s" % (k, v) for k, v in sorted(all_of.items()) if v)


def patient(f, deadline):
    """What the metadata service answers, once it does."""
    while True:
        try:
            return f()
        except Wait as e:
            if time.monotonic() + 2 > deadline:
                sys.exit("sluice-join: %s" % e)
            time.sleep(1)


def main():
    p = argparse.ArgumentParser(prog="sluice-join", description="Let this machine join its cluster by proof.")
    p.add_argument("--door", help="address of the door, such as https://10.10.0.4:7443")
    p.add_argument("--fingerprint", help="SHA-256 of the door's certificate, in hexadecimal")
    p.add_argument("--distribution", choices=["k3s", "kubeadm"])
    p.add_argument("--imds", default="http://169.254.169.254", help="the metadata service of this machine")
    p.add_argument("--provider-id", action="store_true", help="print the provider id of this machine and do nothing else")
    p.add_argument("--labels", action="store_true", help="print the labels that a cloud controller would write, and do nothing else")
    p.add_argument("--source", default="", help="address to ask from, where the way to the door is not by the primary one")
    p.add_argument("--give-up-after", type=float, default=1800, metavar="SECONDS", help="no machine may join when it is older than the door's limit")
    p.add_argument("--console", default="/dev/console", help="where refusals are printed besides; empty: nowhere")
    p.add_argument("--root", default="", help="folder that files are written below; for tests")
    o = p.parse_args()
    metadata = Metadata(o.imds)
    deadline = time.monotonic() + o.give_up_after
    if o.provider_id or o.labels:
        compute = patient(lambda: metadata.get("instance/compute"), min(deadline, time.monotonic() + 70))
        print(provider_id(compute) if o.provider_id else labels(compute))
        return
    if not (o.door and o.fingerprint and o.distribution):
        p.error("give --door, --fingerprint and --distribution")
    try:
        answer = admitted(metadata, Door(o.door, o.fingerprint, o.source), deadline, o.console)
    except Refused as e:
        say("refused: %s" % e, o.console)
        sys.exit(2)
    path = {"k3s": k3s, "kubeadm": kubeadm}[o.distribution](o.root, answer)
    say("admitted as node %s until %s: %s is written" % (answer["node"], answer["expires"], path), o.console)


if __name__ == "__main__":
    main()
