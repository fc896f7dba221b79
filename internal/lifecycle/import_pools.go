package lifecycle

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sluice.dev/sluice/internal/clusterfile"
)

func (e *estate) flexible(set thing) bool {
	return strings.EqualFold(set.text("properties.orchestrationMode"), "Flexible")
}

func (e *estate) writePools(p *page, image string) {
	p.line("")
	prefix, fits := e.prefix()
	taken := map[string]bool{"server": true, "network": true}
	written := 0
	for _, set := range e.pools {
		switch {
		case set.size() == "" || set.profile() == nil:
			e.loses("%s has no model of its machines, and is not in the file", set)
			continue
		case object(set.profile(), "osProfile.windowsConfiguration") != nil:
			e.loses("%s has machines with Windows, and is not in the file", set)
			continue
		}
		pool := strings.TrimPrefix(set.Name(), prefix+"-")
		if !fits {
			pool = plainName(cmp.Or(set.tags["poolName"], set.Name()), mostPool)
		}
		for n := 2; taken[pool]; n++ {
			pool = plainName(pool, mostPool-3) + "-" + strconv.Itoa(n)
		}
		taken[pool] = true
		if written == 0 {
			p.line("pools:")
		}
		e.writePool(p, set, fmt.Sprintf("pools[%d]", written), pool, image)
		written++
	}
	if written == 0 {
		p.line("# pools:                          # the group has no scale set that sluice could scale")
	}
}

// writePool writes the scale set as a pool.
func (e *estate) writePool(p *page, set thing, path, name, image string) {
	const in = "    "
	profile := set.profile()
	p.put("  - ", "name", scalar(name), set.String())
	p.put(in, "size", scalar(sizeName(set.size())), "")
	now := cmp.Or(number(set.body, "sku.capacity"), "0")
	low, high := set.tags["min"], set.tags["max"]
	if low != "" {
		p.put(in, "min", digits(low), "")
	} else {
		p.maybe(in, "min", "0", "no tag says it; it has "+now+" machines now")
	}
	if high != "" {
		p.put(in, "max", digits(high), "")
	} else {
		such := now
		if such == "0" {
			such = "10"
		}
		p.blank(path+".max", in, "max", such, "most machines; no tag says it, and it has "+now+" now")
	}
	p.put(in, "zones", flow(texts(set.body, "zones")), "")
	if e.flexible(set) {
		p.put(in, "orchestration", clusterfile.Flexible, "")
	}
	if own := e.image(set); own != "" && own != image {
		p.put(in, "image", scalar(own), "")
	}
	p.put(in, "osDiskGiB", e.osDisk(set), "")
	switch kind := text(profile, "storageProfile.osDisk.managedDisk.storageAccountType"); {
	case slices.Contains([]string{"Standard_LRS", "StandardSSD_LRS", "Premium_LRS"}, kind):
		p.put(in, "osDiskType", kind, "")
	case kind != "":
		e.has(set, "has OS disks of type %s, which the file does not have", kind)
	}
	if priority := text(profile, "priority"); priority == "Spot" || priority == "Low" {
		spot := "{}"
		if price := number(profile, "billingProfile.maxPrice"); price != "" && price != "-1" {
			spot = "{maxPrice: " + price + "}"
		}
		p.put(in, "spot", spot, "")
	}
	for _, nic := range e.interfacesOf(set) {
		for _, ip := range objects(nic, "properties.ipConfigurations") {
			if dig(ip, "properties.publicIPAddressConfiguration") != nil {
				p.put(in, "publicAddress", "true", "")
			}
		}
	}
	e.writeLabels(p, set)
	if kind := set.text("identity.type"); kind != "" && !strings.EqualFold(kind, "None") {
		e.has(set, "has an identity (%s), and pools of the file have none", kind)
	}
}

// The tags of cluster-autoscaler that say what nodes have.
const (
	labelTag = "k8s.io_cluster-autoscaler_node-template_label_"
	taintTag = "k8s.io_cluster-autoscaler_node-template_taint_"
)

// untagged is the key in a tag's name, which has no "/".
func untagged(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, "_", "/"), "~2", "_") }

// writeLabels writes the labels and taints of a pool: of its tags, or else those that all its nodes have.
func (e *estate) writeLabels(p *page, set thing) {
	labels, marks := map[string]string{}, []string{}
	for tag, value := range set.tags {
		if rest, ok := strings.CutPrefix(tag, labelTag); ok {
			labels[untagged(rest)] = value
		}
		if rest, ok := strings.CutPrefix(tag, taintTag); ok {
			word, effect, _ := strings.Cut(value, ":")
			marks = append(marks, untagged(rest)+"="+word+":"+effect)
		}
	}
	kept := people(labels)
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if _, is := kept[key]; !is {
			e.has(set, "has a tag of label %s, which nodes get by themselves or a kubelet may not give", key)
		}
	}
	note := ""
	if labels = kept; len(labels) == 0 && len(marks) == 0 {
		if labels, marks = e.common(set); len(labels)+len(marks) > 0 {
			note = "all its nodes have it"
		}
	}
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, strconv.Quote(key)+": "+strconv.Quote(labels[key]))
	}
	if len(pairs) > 0 {
		p.put("    ", "labels", "{"+strings.Join(pairs, ", ")+"}", note)
	}
	slices.Sort(marks)
	p.put("    ", "taints", flow(marks), note)
}

// common are the labels and taints that all nodes of a set have.
func (e *estate) common(set thing) (labels map[string]string, marks []string) {
	first := true
	for _, n := range e.known.Nodes {
		if !e.runs(set, n) {
			continue
		}
		if first {
			labels, marks, first = maps.Clone(n.Labels), slices.Clone(n.Taints), false
			continue
		}
		maps.DeleteFunc(labels, func(k, v string) bool { return n.Labels[k] != v })
		marks = slices.DeleteFunc(marks, func(t string) bool { return !slices.Contains(n.Taints, t) })
	}
	return labels, marks
}

// image is that of a machine, or of a set, as the file names it; "" for one that it cannot name.
func (e *estate) image(t thing) string {
	ref := object(t.profile(), "storageProfile.imageReference")
	if id := text(ref, "id"); id != "" {
		if id = spelled(id); images.MatchString(id) {
			return id
		}
		return ""
	}
	if text(ref, "publisher") == "" {
		return ""
	}
	return strings.Join([]string{text(ref, "publisher"), text(ref, "offer"), text(ref, "sku"), cmp.Or(text(ref, "version"), "latest")}, ":")
}

var images = regexp.MustCompile(`^/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Compute/(images/[^/]+|galleries/[^/]+/images/[^/]+(/versions/[^/]+)?)$`)
