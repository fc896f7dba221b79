package certify

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// publicKey is an SSH key that nobody can use: its private half is dropped.
func publicKey() (string, error) {
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		return "", err
	}
	const kind = "ssh-ed25519"
	wire := binary.BigEndian.AppendUint32(nil, uint32(len(kind)))
	wire = append(wire, kind...)
	wire = binary.BigEndian.AppendUint32(wire, uint32(len(public)))
	return kind + " " + base64.StdEncoding.EncodeToString(append(wire, public...)), nil
}

// script is what a machine runs at each boot: it tells on its serial console what its metadata service says. It sends nothing anywhere.
const script = `#!/bin/sh
cp "$0" /var/lib/cloud/scripts/per-boot/certify 2>/dev/null
at=http://169.254.169.254/metadata
ask() { curl -s --noproxy '*' -m 5 -H Metadata:true "$at/$1"; }
say() { printf '\n` + mark + `%s\n' "$*" >/dev/console; }
say vmId "$(ask 'instance/compute/vmId?api-version=2021-02-01&format=text')"
say name "$(ask 'instance/compute/name?api-version=2021-02-01&format=text')"
signed=/run/certify.p7
ask 'attested/document?api-version=2018-10-01&nonce=` + nonce + `' | sed 's/.*"signature" *: *"\([^"]*\)".*/\1/' | base64 -d >$signed
by=$(openssl pkcs7 -inform DER -print_certs -in $signed | sed -n 's/^subject=.*CN *= *\([^,/]*\).*/\1/p' | head -n 1)
text=$(openssl smime -verify -noverify -inform DER -in $signed)
field() { printf '%s' "$text" | sed -n 's/.*"'"$1"'" *: *"\([^"]*\)".*/\1/p'; }
say attested "$by $(field nonce) $(field vmId)"
(
	last=
	while :; do
		events=$(ask 'scheduledevents?api-version=2020-07-01' | tr -d '\n')
		[ "$events" = "$last" ] || say events "$events"
		last=$events
		sleep 1
	done
) </dev/null >/dev/null 2>&1 &
`

// nonce is what the script asks the metadata service to sign. What it signs stays on the machine: its console tells who has signed, and for what.
const nonce = "2718281828"

// mark begins each line of the script's.
const mark = "sluice-certify: "

// model is a scale set whose machines are spot ones without a public address.
func (l *Lab) model(mode string, maxPrice float64) map[string]any {
	address := map[string]any{"name": "ip", "properties": map[string]any{
		"primary": true, "subnet": map[string]string{"id": l.path("Microsoft.Network/virtualNetworks/network") + "/subnets/machines"},
	}}
	nicName := "nic-" + l.ledger.Run // Azure gives it to what it makes of it in the group
	nic := map[string]any{"primary": true, "ipConfigurations": []any{address}}
	disk := map[string]any{"createOption": "FromImage", "caching": "ReadWrite", "managedDisk": map[string]string{"storageAccountType": "Standard_LRS"}}
	network := map[string]any{"networkInterfaceConfigurations": []any{map[string]any{"name": nicName, "properties": nic}}}
	profile := map[string]any{
		"priority": "Spot", "evictionPolicy": "Delete", "billingProfile": map[string]float64{"maxPrice": maxPrice},
		"networkProfile": network,
		"storageProfile": map[string]any{
			"imageReference": map[string]string{"publisher": "Canonical", "offer": "ubuntu-24_04-lts", "sku": "server", "version": "latest"},
			"osDisk":         disk,
		},
		"diagnosticsProfile": map[string]any{"bootDiagnostics": map[string]bool{"enabled": true}},
		"osProfile": map[string]any{
			"computerNamePrefix": "certify", "adminUsername": "certify", "customData": base64.StdEncoding.EncodeToString([]byte(script)),
			"linuxConfiguration": map[string]any{"disablePasswordAuthentication": true, "ssh": map[string]any{"publicKeys": []any{
				map[string]string{"path": "/home/certify/.ssh/authorized_keys", "keyData": l.key},
			}}},
		},
	}
	properties := map[string]any{"orchestrationMode": mode, "singlePlacementGroup": false, "virtualMachineProfile": profile}
	if mode == "Flexible" {
		properties["platformFaultDomainCount"] = 1
		nic["deleteOption"], disk["deleteOption"], network["networkApiVersion"] = "Delete", "Delete", "2020-11-01"
	} else {
		properties["overprovision"], properties["upgradePolicy"] = false, map[string]string{"mode": "Manual"}
	}
	return map[string]any{"sku": map[string]any{"name": l.plan.Size, "tier": "Standard", "capacity": 0}, "properties": properties}
}

// anyPrice is the most that a spot machine may cost when it may cost what a regular one does.
const anyPrice = -1

func (l *Lab) uniform() map[string]any      { return l.model("Uniform", anyPrice) }
func (l *Lab) flexibleBody() map[string]any { return l.model("Flexible", anyPrice) }

// tooDear is a set whose machines Azure cannot sell: it offers a thousandth of a cent an hour. So it may ask for machines and get none.
func (l *Lab) tooDear() map[string]any { return l.model("Uniform", 0.00001) }

// machine is what a list of a scale set shows of one.
type machine struct {
	id, name, uid, created, computer, state, power string
	latest, knownLatest                            bool
}

func machineOf(v any) machine {
	m := machine{
		id: text(v, "instanceId"), name: text(v, "name"), uid: text(v, "properties", "vmId"), created: text(v, "properties", "timeCreated"),
		computer: text(v, "properties", "osProfile", "computerName"), state: text(v, "properties", "provisioningState"),
	}
	m.latest, m.knownLatest = dig(v, "properties", "latestModelApplied").(bool)
	for _, s := range items(v, "properties", "instanceView", "statuses") {
		if p, is := strings.CutPrefix(text(s, "code"), "PowerState/"); is {
			m.power = p
		}
	}
	return m
}

// machines are those that the list of a uniform set shows, those that are being deleted included.
func (l *Lab) machines(ctx context.Context, name string) ([]machine, error) {
	all, err := l.list(ctx, l.setPath(name)+"/virtualMachines?$expand=instanceView", computeVersion)
	if err != nil {
		return nil, err
	}
	var found []machine
	for _, v := range all {
		found = append(found, machineOf(v))
	}
	return found, nil
}

// living are those that are not being deleted.
func (l *Lab) living(ctx context.Context, name string) ([]machine, error) {
	all, err := l.machines(ctx, name)
	return slices.DeleteFunc(all, func(m machine) bool { return m.state == "Deleting" }), err
}

func idsOf(all []machine) (ids []string) {
	for _, m := range all {
		ids = append(ids, m.id)
	}
	return ids
}

// capacity is what a set says of its own size.
func (l *Lab) capacity(ctx context.Context, name string) (int, error) {
	r, err := l.read(ctx, l.setPath(name), computeVersion)
	if err != nil {
		return 0, err
	}
	return number(r.body, "sku", "capacity"), nil
}

// resize writes a capacity, and nothing else.
func (l *Lab) resize(ctx context.Context, name string, n int, header http.Header) (*reply, error) {
	return l.ask(ctx, http.MethodPatch, l.setPath(name), computeVersion, header, map[string]any{"sku": map[string]any{"capacity": n}})
}

// look is what a list showed some time after a write.
type look struct {
	after time.Duration
	shows bool
}

// errLate is why a probe could not ask that has to look soon.
var errLate = errors.New("Azure asked for so much patience that it was looked too late")

// looks asks 1, 10 and 60 seconds after a write whether it shows, until it does.
func (l *Lab) looks(ctx context.Context, since time.Time, shows func() (bool, error)) ([]look, error) {
	var all []look
	for _, after := range []time.Duration{time.Second, 10 * time.Second, time.Minute} {
		if d := after - l.now().Sub(since); d > 0 {
			if err := l.wait(ctx, d); err != nil {
				return all, err
			}
		}
		is, err := shows()
		if err != nil {
			return all, err
		}
		elapsed := l.now().Sub(since)
		if all = append(all, look{elapsed, is}); is {
			break
		}
	}
	return all, nil
}

// lastLook is when looks end; ten seconds more are those of the requests.
const lastLook = 70 * time.Second

// when says of looks when the write was first seen. It is an error when nobody looked in time.
func when(all []look) (text string, is bool, err error) {
	for n, k := range all {
		switch {
		case k.shows && k.after <= lastLook:
			return seconds(k.after), true, nil
		case k.shows && k.after > lastLook && (n == 0 || all[n-1].after < time.Minute):
			return "", false, errLate
		}
	}
	return "not within 60 s", false, nil
}

// growth is the first machine of the uniform set as it came.
type growth struct {
	done          bool
	err           error
	before, after *reply // the set
	answer        *reply // to the write
	busy, begun   string // the set's state meanwhile, and the operation's
	soon          bool   // these were looked at soon enough to say something
	listed        []look
	first         *machine // as it was listed meanwhile; nil when it was not
	last          machine
	end           ended
}

// grow asks for the first machine and watches it come.
func (l *Lab) grow(ctx context.Context) (g growth, err error) {
	g.done = true
	if g.before, err = l.read(ctx, l.setPath(l.set.name), computeVersion); err != nil {
		return g, err
	}
	r, err := l.resize(ctx, l.set.name, 1, http.Header{"If-Match": {g.before.text("etag")}})
	if g.answer, err = l.must("ask for a machine", r, err); err != nil {
		return g, err
	}
	g.listed, err = l.looks(ctx, g.answer.at, func() (bool, error) {
		if g.busy == "" {
			set, err := l.read(ctx, l.setPath(l.set.name), computeVersion)
			if err != nil {
				return false, err
			}
			g.busy, g.soon = set.text("properties", "provisioningState"), set.at.Sub(g.answer.at) < 5*time.Second
			if at := g.answer.Header.Get("Azure-AsyncOperation"); at != "" {
				status, err := l.get(ctx, at, "")
				if err != nil {
					return false, err
				}
				g.begun = status.text("status")
			}
		}
		all, err := l.machines(ctx, l.set.name)
		if len(all) > 0 {
			g.first = &all[0]
		}
		return len(all) > 0, err
	})
	if err != nil {
		return g, err
	}
	if g.end, err = l.follow(ctx, g.answer); err != nil {
		return g, err
	}
	if err := g.end.done("make a machine"); err != nil {
		return g, err
	}
	if g.after, err = l.read(ctx, l.setPath(l.set.name), computeVersion); err != nil {
		return g, err
	}
	all, err := l.settled(ctx, 1)
	if err == nil {
		g.last = all[0]
	}
	return g, err
}

// provideMachines sees to it that the uniform set has at least so many machines.
func (l *Lab) provideMachines(ctx context.Context, n int) error {
	if !l.growth.done {
		l.growth, l.growth.err = l.grow(ctx)
	}
	if l.growth.err != nil {
		return l.growth.err
	}
	all, err := l.living(ctx, l.set.name)
	if err != nil || len(all) >= n {
		return err
	}
	r, err := l.resize(ctx, l.set.name, n, nil)
	if r, err = l.must("ask for a machine", r, err); err != nil {
		return err
	}
	e, err := l.follow(ctx, r)
	if err != nil {
		return err
	}
	if err := e.done("make a machine"); err != nil {
		return err
	}
	_, err = l.settled(ctx, n)
	return err
}

// settled are the machines of the uniform set once its list shows so many of them, which it may do late.
func (l *Lab) settled(ctx context.Context, n int) ([]machine, error) {
	for since := l.now(); ; {
		all, err := l.living(ctx, l.set.name)
		if err != nil || len(all) == n {
			return all, err
		}
		if l.now().Sub(since) > 2*time.Minute {
			return nil, fmt.Errorf("the set lists %d machines after it was asked for %d", len(all), n)
		}
		if err := l.wait(ctx, lookAgain); err != nil {
			return nil, err
		}
	}
}

// console is what the script has told, by name, the last of each, and whether cloud-init has ended. It is empty while the machine has told nothing.
func (l *Lab) console(ctx context.Context, path string) (told map[string]string, over bool, err error) {
	raw, err := l.cloud.BootLog(ctx, path)
	if err != nil {
		return nil, false, err
	}
	told = map[string]string{}
	for line := range strings.Lines(string(raw)) {
		if _, said, is := strings.Cut(line, mark); is {
			name, value, _ := strings.Cut(strings.TrimSpace(said), " ")
			told[name] = value
		}
		over = over || strings.Contains(line, "Cloud-init v.") && strings.Contains(line, " finished")
	}
	return told, over, nil
}

// errSilent is why a probe of what runs on a machine could not ask.
var errSilent = errors.New("the machine's boot log has no word of the script that its cloud-init was given")

// hear waits until the script has told of all names, at most three minutes: Azure shows a boot log late.
func (l *Lab) hear(ctx context.Context, path string, names ...string) (map[string]string, error) {
	for range 18 {
		told, over, err := l.console(ctx, path)
		if err != nil || !slices.ContainsFunc(names, func(name string) bool { return told[name] == "" }) {
			return told, err
		}
		if over {
			return nil, errSilent
		}
		if err := l.wait(ctx, 10*time.Second); err != nil {
			return nil, err
		}
	}
	return nil, errSilent
}
