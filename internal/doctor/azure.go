package doctor

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

func ok(check, subject, message string) Finding {
	return Finding{Check: check, Status: OK, Subject: subject, Message: message}
}

func unknown(check, message string) Finding {
	return Finding{Check: check, Status: Unknown, Message: message}
}

func configuration(f Facts) []Finding {
	const check = "configuration"
	if err := f.Azure.Config; err != nil {
		return []Finding{{Check: check, Status: Problem, Code: ConfigurationRefused, Message: err.Error(), Remedy: "correct the setting that is named"}}
	}
	all := []Finding{}
	for _, n := range f.Azure.Notes {
		all = append(all, Finding{Check: check, Status: Warning, Code: ConfigurationNoted, Message: n, Remedy: "correct the setting or take it out; docs/azure-config.md says what becomes of each one"})
	}
	if len(all) == 0 {
		all = append(all, ok(check, "", "every setting is understood and takes effect"))
	}
	return all
}

func metadata(f Facts) []Finding {
	const check = "metadata"
	a := f.Azure
	switch {
	case a.Config != nil:
		return []Finding{unknown(check, "not looked at without a configuration")}
	case a.Metadata != nil:
		return []Finding{{
			Check: check, Status: Problem, Code: MetadataSilent, Message: a.Metadata.Error(),
			Remedy: "run on a machine of the cluster with hostNetwork, or give subscription, resource group and identity by azure.json or the environment",
		}}
	}
	p := a.Place
	return []Finding{ok(check, "", fmt.Sprintf("works in subscription %s, resource group %s, %s, cloud %s",
		p.Subscription, p.ResourceGroup, cmp.Or(p.Location, "location unknown"), cmp.Or(p.Cloud, "public")))}
}

func endpoints(f Facts) []Finding {
	const check = "endpoints"
	var all []Finding
	for _, r := range f.Azure.Reached {
		if r.Err != nil {
			all = append(all, Finding{
				Check: check, Status: Problem, Code: EndpointUnreachable, Subject: r.Name, Message: fmt.Sprintf("%s at %s: %v", r.Name, r.Host, r.Err),
				Remedy: "open the way from this machine to that host on its port, and correct the cloud or the endpoint if the host is not the one",
			})
			continue
		}
		all = append(all, ok(check, r.Name, fmt.Sprintf("%s at %s answers", r.Name, r.Host)))
	}
	if len(all) == 0 {
		all = append(all, unknown(check, "no endpoint was tried"))
	}
	return all
}

func identity(f Facts) []Finding {
	const check = "identity"
	a := f.Azure
	switch {
	case a.Config != nil || a.Metadata != nil:
		return []Finding{unknown(check, "not looked at without knowing where sluice runs")}
	case a.Token != nil:
		return []Finding{{
			Check: check, Status: Problem, Code: TokenRefused, Subject: a.Identity, Message: fmt.Sprintf("%s gets no token: %v", cmp.Or(a.Identity, "the identity"), a.Token),
			Remedy: "assign that identity to this machine, or correct tenant, client id and credential",
		}}
	}
	who := cmp.Or(a.Identity, "the identity")
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

func clock(f Facts) []Finding {
	const check = "clock"
	var all []Finding
	for _, c := range []struct {
		whose string
		skew  time.Duration
		known bool
	}{{"Azure", f.Azure.Skew, f.Azure.SkewKnown}, {"the API server", f.Kube.Skew, f.Kube.SkewKnown}} {
		skew := c.skew.Round(time.Second)
		finding := Finding{Check: check, Subject: c.whose, Message: fmt.Sprintf("this machine's clock differs by %s from %s's", skew.Abs(), c.whose), Remedy: "let the machine keep its time by chrony or systemd-timesyncd"}
		switch {
		case !c.known:
			continue
		case skew.Abs() >= skewFatal:
			finding.Status, finding.Code = Problem, ClockSkewed
		case skew.Abs() >= skewTolerated:
			finding.Status, finding.Code = Warning, ClockDrifts
		default:
			finding.Status, finding.Remedy = OK, ""
		}
		all = append(all, finding)
	}
	if len(all) == 0 {
		all = append(all, unknown(check, "nobody told the time"))
	}
	return all
}
