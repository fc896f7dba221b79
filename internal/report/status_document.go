package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/reason"
)

// document is the value of the status ConfigMap's key "status", in the YAML form that cluster-autoscaler has written since 1.30.
type document struct {
	Time             string        `json:"time,omitempty"`
	AutoscalerStatus string        `json:"autoscalerStatus"` // Running, or Initializing before the first complete cycle
	Message          string        `json:"message,omitempty"`
	ClusterWide      clusterStatus `json:"clusterWide"`
	NodeGroups       []groupStatus `json:"nodeGroups,omitempty"`
}

type clusterStatus struct {
	Health    clusterHealth   `json:"health"`
	ScaleUp   condition       `json:"scaleUp"`
	ScaleDown scaleDownStatus `json:"scaleDown"`
}

type groupStatus struct {
	Name      string          `json:"name"`
	Health    groupHealth     `json:"health"`
	ScaleUp   scaleUpStatus   `json:"scaleUp"`
	ScaleDown scaleDownStatus `json:"scaleDown"`
}

// condition is one word, when it was last looked at and when it last changed; the times are null when that never happened.
type condition struct {
	Status             string     `json:"status,omitempty"`
	LastProbeTime      *time.Time `json:"lastProbeTime"`
	LastTransitionTime *time.Time `json:"lastTransitionTime"`
}

type clusterHealth struct {
	condition
	NodeCounts nodeCounts `json:"nodeCounts"`
}

type groupHealth struct {
	condition
	NodeCounts          nodeCounts `json:"nodeCounts"`
	CloudProviderTarget int        `json:"cloudProviderTarget"`
	MinSize             int        `json:"minSize"`
	MaxSize             int        `json:"maxSize"`
}

type scaleUpStatus struct {
	condition
	BackoffInfo backoffInfo `json:"backoffInfo"`
}

type backoffInfo struct {
	ErrorCode    string `json:"errorCode,omitempty"`
	ErrorMessage string `json:"errorMessage,omitempty"`
}

type scaleDownStatus struct {
	condition
	Candidates int `json:"candidates,omitempty"`
}

type nodeCounts struct {
	Registered       registeredCounts `json:"registered"`
	LongUnregistered int              `json:"longUnregistered"`
	Unregistered     int              `json:"unregistered"`
}

type registeredCounts struct {
	Total        int           `json:"total"`
	Ready        int           `json:"ready"`
	NotStarted   int           `json:"notStarted"`
	Suspended    int           `json:"suspended"`
	BeingDeleted int           `json:"beingDeleted,omitempty"`
	Unready      unreadyCounts `json:"unready"`
}

type unreadyCounts struct {
	Total           int `json:"total"`
	ResourceUnready int `json:"resourceUnready"` // of devices that are not there yet: never told apart here
}

// messageCap keeps the message of many troubled groups within what a person reads.
const messageCap = 2000

// documentOf is the status after a complete cycle, without transition times.
func documentOf(entry journal.Entry) document {
	probed := entry.Seen.Time.UTC().Truncate(time.Second)
	counted := count(entry)
	all := counted.all
	doc := document{
		AutoscalerStatus: "Running",
		ClusterWide: clusterStatus{
			Health:    clusterHealth{condition{Status: health(all.healthy(entry.Policy.Health))}, all.nodeCounts()},
			ScaleUp:   condition{Status: "NoActivity"},
			ScaleDown: scaleDownOf(all),
		},
	}
	switch {
	case len(entry.Seen.Nodes) == 0:
		doc.Message = "Cluster has no nodes."
	case all.ready == 0:
		doc.Message = "Cluster has no ready nodes."
	}
	if len(entry.Seen.Groups) == 0 {
		doc.say("No node group is found.")
	}
	var problems []string
	for _, g := range entry.Seen.Groups {
		status := groupStatusOf(entry, g, counted.groups[g.ID])
		if status.ScaleUp.Status == "InProgress" {
			doc.ClusterWide.ScaleUp.Status = "InProgress"
		}
		doc.NodeGroups = append(doc.NodeGroups, status)
		if g.Problem != "" {
			problems = append(problems, fmt.Sprintf("Node group %s: %s.", g.ID, g.Problem))
		}
		for _, h := range g.OtherActors {
			problems = append(problems, fmt.Sprintf("Node group %s: %s: %s.", g.ID, h.Does, h.Remedy))
		}
	}
	for _, loss := range entry.Seen.Objects.Lacks.Losses() {
		problems = append(problems, loss.String()+".")
		if loss.Halts {
			doc.ClusterWide.Health.Status = health(false)
		}
	}
	if len(problems) > 0 {
		doc.say(strings.Join(problems, " "))
	}
	for _, c := range doc.conditions() {
		c.LastProbeTime = &probed
	}
	return doc
}

// say adds sentences to the message.
func (doc *document) say(sentences string) {
	doc.Message = cut(strings.TrimSpace(doc.Message+" "+sentences), messageCap)
}

func groupStatusOf(entry journal.Entry, g *cluster.Group, n *groupCounts) groupStatus {
	well := n.well(entry.Policy.Health)
	status := groupStatus{
		Name: string(g.ID),
		Health: groupHealth{
			condition: condition{Status: health(well)}, NodeCounts: n.nodeCounts(),
			CloudProviderTarget: max(0, g.Capacity), MinSize: g.Min, MaxSize: g.Max,
		},
		ScaleUp:   scaleUpStatus{condition: condition{Status: "NoActivity"}},
		ScaleDown: scaleDownOf(n.counts),
	}
	_, growing := find(n.verdict.Because, reason.GroupGrowing)
	backoff, resting := find(n.verdict.Because, reason.GroupBackoff)
	switch {
	case growing || grew(entry, g.ID):
		status.ScaleUp.Status = "InProgress"
	case !well:
		status.ScaleUp.Status = "Unhealthy"
	case resting:
		status.ScaleUp.Status = "Backoff"
	}
	if resting {
		status.ScaleUp.BackoffInfo = backoffInfo{backoff.Facts["code"], cut(backoff.Facts["message"], 500)}
	}
	return status
}

// grew says whether the cloud accepted a growth of the group in this cycle.
func grew(entry journal.Entry, id cluster.GroupID) bool {
	for _, d := range Deeds(entry) {
		if _, grows := d.of.(action.SetCapacity); grows && d.Group == id && (d.Status() == memory.Accepted || d.Status() == memory.Asked) {
			return true
		}
	}
	return false
}

func health(well bool) string {
	if well {
		return "Healthy"
	}
	return "Unhealthy"
}

func scaleDownOf(c counts) scaleDownStatus {
	s := scaleDownStatus{condition: condition{Status: "NoCandidates"}, Candidates: c.candidates}
	if c.candidates > 0 {
		s.Status = "CandidatesPresent"
	}
	return s
}

func (c counts) nodeCounts() nodeCounts {
	return nodeCounts{
		Registered: registeredCounts{
			Total: c.total, Ready: c.ready, NotStarted: c.notStarted, Suspended: c.suspended, BeingDeleted: c.beingDeleted,
			Unready: unreadyCounts{Total: c.unready},
		},
		LongUnregistered: c.longUnregistered, Unregistered: c.unregistered,
	}
}

// conditions are all conditions of the document, by a name that is the same in every document.
func (doc *document) conditions() map[string]*condition {
	all := map[string]*condition{
		"health":    &doc.ClusterWide.Health.condition,
		"scaleUp":   &doc.ClusterWide.ScaleUp,
		"scaleDown": &doc.ClusterWide.ScaleDown.condition,
	}
	for i := range doc.NodeGroups {
		g := &doc.NodeGroups[i]
		all["health of "+g.Name] = &g.Health.condition
		all["scaleUp of "+g.Name] = &g.ScaleUp.condition
		all["scaleDown of "+g.Name] = &g.ScaleDown.condition
	}
	return all
}

// continueFrom takes over the transition times of conditions that have not changed since before, and gives the others their
// probe time.
func (doc *document) continueFrom(before document) {
	old := before.conditions()
	for name, c := range doc.conditions() {
		c.LastTransitionTime = c.LastProbeTime
		if was := old[name]; was != nil && was.Status == c.Status && was.LastTransitionTime != nil {
			c.LastTransitionTime = was.LastTransitionTime
		}
	}
}

// clone is a copy whose conditions can be changed.
func (doc document) clone() document {
	doc.NodeGroups = slices.Clone(doc.NodeGroups)
	return doc
}

// lasting is the document without the times at which somebody looked.
func (doc document) lasting() document {
	doc = doc.clone()
	doc.Time = ""
	for _, c := range doc.conditions() {
		c.LastProbeTime = nil
	}
	return doc
}

// cut shortens s to at most that many bytes, at the start of a character.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xC0 == 0x80 {
		most--
	}
	return s[:most]
}
