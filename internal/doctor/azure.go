package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

func configuration(f Facts, _ *Diagnosis) []Finding {
	const check = "configuration"
	if err := f.Azure.Config; err != nil {
		return []Finding{{Check: check, Status: Problem, Code: ConfigurationRefused, Message: err.Error(), Remedy: "correct the setting that is named", blocks: true}}
	}
	m := f.Azure.Metadata
	if f.Kube.Absent && m != nil {
		return []Finding{{
			Check: check, Status: Problem, Code: NothingNamed,
			Message: "nothing names a cluster or an Azure: there is no kubeconfig and no service account, and " + m.Sentence,
			Remedy:  "run it on a machine of the cluster or in sluice's pod, or give --kubeconfig, ARM_SUBSCRIPTION_ID, ARM_RESOURCE_GROUP and an identity; " + Offline,
			blocks:  true,
		}}
	}
	var all []Finding
	if err := f.Kube.Config; err != nil {
		all = append(all, Finding{Check: check, Status: Problem, Code: ClusterUnnamed, Message: err.Error(), Remedy: "name the API server, or correct the kubeconfig"})
	}
	for _, n := range f.Azure.Notes {
		all = append(all, Finding{Check: check, Status: Warning, Code: ConfigurationNoted, Message: n, Remedy: "correct the setting or take it out; docs/reference/azure-config.md says what becomes of each one"})
	}
	if len(all) == 0 {
		all = append(all, ok(check, "", "every setting is understood and takes effect"))
	}
	return all
}

func metadata(f Facts, _ *Diagnosis) []Finding {
	const check = "metadata"
	a := f.Azure
	switch m := a.Metadata; {
	case m != nil:
		remedy := "run on a machine of the cluster with hostNetwork, or give subscription, resource group and identity by azure.json or the environment"
		if m.Kind == Failing || m.Kind == Throttled {
			remedy = "ask again in two minutes: the service is being updated or is overloaded; or give subscription and resource group by azure.json or the environment"
		}
		return []Finding{{Check: check, Status: Problem, Code: MetadataSilent, Message: m.Sentence, Remedy: remedy, blocks: true}}
	case a.Unplaced != nil:
		return []Finding{{Check: check, Status: Problem, Code: CloudUnknown, Message: a.Unplaced.Error(), Remedy: "correct the setting that is named", blocks: true}}
	}
	p := a.Place
	return []Finding{ok(check, "", fmt.Sprintf("works in subscription %s, resource group %s, %s, cloud %s",
		p.Subscription, p.ResourceGroup, cmp.Or(p.Location, "location unknown"), cmp.Or(p.Cloud, "public")))}
}

func endpoints(f Facts, _ *Diagnosis) []Finding {
	const check = "endpoints"
	var all []Finding
	for _, r := range f.Azure.Reached {
		if r.Err == nil {
			all = append(all, ok(check, r.Name, fmt.Sprintf("%s at %s answers", r.Name, r.Host)))
			continue
		}
		finding := Finding{
			Check: check, Status: Problem, Code: EndpointUnreachable, Subject: r.Name, Message: fmt.Sprintf("%s at %s: %s", r.Name, r.Host, r.Err.Sentence),
			Remedy: cmp.Or(r.Err.Kind.remedy(), "correct the endpoint or the cloud if the host is not the one"), blocks: true,
		}
		if i := slices.IndexFunc(all, func(one Finding) bool { return one.Remedy == finding.Remedy }); i >= 0 { // one cause, most likely
			all[i].Subject += ", " + finding.Subject
			all[i].Message += "; " + finding.Message
			continue
		}
		if finding.Cause == "" || !slices.ContainsFunc(all, func(one Finding) bool { return one.Cause != "" }) {
			all = append(all, finding)
		}
	}
	return all
}

func identity(f Facts, _ *Diagnosis) []Finding {
	const check = "identity"
	a := f.Azure
	who := cmp.Or(a.Identity, "the identity")
	silent := slices.ContainsFunc(a.Reached, func(r Reached) bool { return r.Name == Authority && r.Err != nil })
	switch t := a.Token; {
	case t != nil && silent:
		return []Finding{dependent(check, "endpoints")}
	case t != nil && t.Kind == Throttled:
		return []Finding{{
			Check: check, Status: Problem, Code: TokenThrottled, Subject: a.Identity, Message: fmt.Sprintf("%s gets no token: %s", who, t.Sentence), blocks: true,
			Remedy: "ask again in some minutes; if it stays so, find what else signs in as this identity so often",
		}}
	case t != nil:
		remedy := "assign that identity to this machine, or correct tenant, client id and credential"
		if t.Kind != Unreachable { // instance metadata that is not there is no matter of routes
			remedy = cmp.Or(t.Kind.remedy(), remedy)
		}
		return []Finding{{
			Check: check, Status: Problem, Code: TokenRefused, Subject: a.Identity, Message: fmt.Sprintf("%s gets no token: %s", who, t.Sentence), Remedy: remedy, blocks: true,
		}}
	}
	if a.ClientID != "" && !strings.Contains(who, a.ClientID) {
		who += " (client id " + a.ClientID + ")"
	}
	return []Finding{ok(check, "", who+" gets tokens")}
}

// A token is good from a minute before it was issued, and schedulers of work compare times of different machines: what is further apart
// than skewTolerated is worth knowing, what is further than skewFatal breaks sign-in.
const (
	skewTolerated = 10 * time.Second
	skewFatal     = 2 * time.Minute
)

func clock(f Facts, d *Diagnosis) []Finding {
	const check = "clock"
	var all []Finding
	for _, c := range []struct {
		whose string
		skew  time.Duration
		known bool
		rests []string
	}{
		{"Azure", f.Azure.Skew, f.Azure.SkewKnown, []string{"metadata", "identity", "endpoints"}},
		{"the API server", f.Kube.Skew, f.Kube.SkewKnown, []string{"kubernetes"}},
	} {
		skew := c.skew.Round(time.Second)
		finding := Finding{Check: check, Subject: c.whose, Message: fmt.Sprintf("this machine's clock differs by %s from %s's", skew.Abs(), c.whose), Remedy: "let the machine keep its time by chrony or systemd-timesyncd"}
		switch {
		case !c.known:
			finding = Finding{Check: check, Status: Unknown, Subject: c.whose, Message: fmt.Sprintf("the time of %s is not known: no answer of it has a date", c.whose)}
			for _, on := range c.rests {
				if cause := d.cause[on]; cause != "" {
					finding = dependent(check, cause)
					break
				}
			}
		case skew.Abs() >= skewFatal:
			finding.Status, finding.Code = Problem, ClockSkewed
		case skew.Abs() >= skewTolerated:
			finding.Status, finding.Code = Warning, ClockDrifts
		default:
			finding.Status, finding.Remedy = OK, ""
		}
		if finding.Cause == "" || !slices.ContainsFunc(all, func(one Finding) bool { return one.Cause != "" }) {
			all = append(all, finding)
		}
	}
	return all
}
