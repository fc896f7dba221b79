package azure

import (
	"fmt"
	"strings"

	"sluice.dev/sluice/cluster"
)

// sluiceTag begins the tags that only sluice reads. Values of several settings of a kind have semicolons between them.
const sluiceTag = "sluice.dev_"

// setting takes in what one of sluice's own tags says of the group. Of several values those that make sense count.
func (t *told) setting(tag, name, value string) {
	switch strings.ToLower(name) {
	case "model":
		t.model = value
	case "removal": // read with the model: it is about machines
	case "headroom":
		h, err := cluster.ParseHeadroom(strings.TrimSpace(value))
		if err != nil {
			t.fault(tag, value, err.Error())
			return
		}
		t.options.Headroom = &h
	case "schedule":
		t.options.Schedules = append(t.options.Schedules, each(t, tag, value, cluster.ParseSchedule)...)
	case "ceiling":
		t.options.Ceilings = append(t.options.Ceilings, each(t, tag, value, cluster.ParseCeiling)...)
	case "daemon-work":
		faults := len(t.faults)
		t.options.DaemonWork = append(t.options.DaemonWork, each(t, tag, value, daemonWork)...)
		if len(t.faults) > faults { // it is there to protect work, and nobody knows which (S-15)
			t.options.DaemonWork = append(t.options.DaemonWork, cluster.EveryPod)
		}
	default:
		t.fault(tag, value, "there are "+sluiceTag+"removal, "+sluiceTag+"headroom, "+sluiceTag+"schedule, "+sluiceTag+"ceiling, "+sluiceTag+"daemon-work and "+sluiceTag+"model")
	}
}

// daemonWork reads one choice of the tag daemon-work.
func daemonWork(value string) (cluster.PodSelector, error) {
	s, err := cluster.ParsePodSelector(value)
	if err != nil {
		err = fmt.Errorf("all pods of DaemonSets count as work there until it can be read; %w", err)
	}
	return s, err
}

// each reads the values of a tag, in their order. What is wrong with some of them is one fault of the tag: the first.
func each[S any](t *told, tag, value string, parse func(string) (S, error)) []S {
	var all []S
	said := false
	for _, part := range strings.Split(value, ";") {
		s, err := parse(strings.TrimSpace(part))
		switch {
		case err == nil:
			all = append(all, s)
		case !said:
			t.fault(tag, strings.TrimSpace(part), err.Error())
			said = true
		}
	}
	return all
}
