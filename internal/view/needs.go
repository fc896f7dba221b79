package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// trouble is what a reason means for who looks: whether a group, or a machine, needs a person for it, and whether something does not answer.
type trouble struct{ group, machine, needs, bad bool }

// troubles are the reasons that are more than a wait. A back-off is marked, and mends itself; the others need somebody.
var troubles = map[reason.Code]trouble{
	reason.GroupUnreadable:     {group: true, needs: true, bad: true},
	reason.GroupContradicted:   {group: true, needs: true},
	reason.GroupDeleted:        {group: true, needs: true},
	reason.GroupForeign:        {group: true, needs: true},
	reason.GroupControlPlane:   {group: true, needs: true},
	reason.GroupNoTemplate:     {group: true, needs: true},
	reason.GroupBreaker:        {group: true, needs: true},
	reason.GroupStrays:         {group: true, needs: true},
	reason.GroupUnready:        {group: true, needs: true, bad: true},
	reason.GroupUnrepaired:     {group: true, needs: true},
	reason.GroupDeletionStuck:  {group: true, needs: true},
	reason.GroupOpposed:        {group: true, needs: true},
	reason.GroupNotOwned:       {group: true, needs: true},
	reason.ClusterMismatch:     {group: true, needs: true, bad: true},
	reason.GroupLost:           {group: true, bad: true},
	reason.GroupIncomplete:     {group: true},
	reason.GroupBackoff:        {group: true},
	reason.RemovalRests:        {group: true, needs: true},
	reason.GroupTaintStays:     {group: true, needs: true},
	reason.NodeAmbiguous:       {machine: true, needs: true},
	reason.NodeUnrepaired:      {machine: true, needs: true, bad: true},
	reason.NodeTaintStays:      {machine: true, needs: true},
	reason.NodeNeverReady:      {machine: true, needs: true},
	reason.NodeMachineMissing:  {machine: true, needs: true},
	reason.NodeFinalized:       {machine: true, needs: true},
	reason.NodeNoticeUnclear:   {machine: true, needs: true},
	reason.NodeObjectStays:     {machine: true, needs: true},
	reason.EvictionRests:       {machine: true, needs: true},
	reason.PodOverdue:          {machine: true, needs: true},
	reason.PodTwoBudgets:       {machine: true, needs: true},
	reason.MachineLate:         {machine: true, needs: true},
	reason.MachineNeverJoined:  {machine: true, needs: true},
	reason.MachineFailed:       {machine: true, needs: true},
	reason.MachineAmbiguous:    {machine: true, needs: true},
	reason.MachineNameTaken:    {machine: true, needs: true},
	reason.MachineNameHeld:     {machine: true, needs: true},
	reason.MachineCarriesPods:  {machine: true, needs: true},
	reason.MachineInspected:    {machine: true, needs: true},
	reason.KubeletSilent:       {machine: true},
	reason.NodesLostTogether:   {machine: true},
	reason.MachineLostRecently: {machine: true},
}

// silence are the codes that tell why a node that does not answer stays or goes.
var silence = map[reason.Code]bool{
	reason.NodeNotReady: true, reason.NodeNeverReady: true, reason.NodeUnreadyStays: true, reason.NodeUnrepaired: true,
	reason.NodesLostTogether: true, reason.MachineLostRecently: true, reason.KubeletSilent: true, reason.NodeObjectsMissing: true,
}

// needs are the things that a person has to look at. Pods that are stuck for the same reasons are one; so are nodes and machines of a group.
func (l *looked) needs(groups []Group) []Need {
	all := []Need{}
	at := map[string]int{}
	add := func(key string, n Need) {
		if i, known := at[key]; known {
			all[i].More++
			if !n.Since.IsZero() && n.Since.Before(all[i].Since) {
				all[i].Since = n.Since
			}
			return
		}
		at[key] = len(all)
		all = append(all, n)
	}
	for _, loss := range l.entry.Seen.Objects.Lacks.Losses() {
		add(loss.String(), Need{Code: reason.RightMissing, Title: "A right is missing", Cause: loss.String() + ".", Remedy: "apply deploy/rbac.yaml of this version", Command: "sluice doctor"})
	}
	for _, v := range l.entry.Plan.Verdicts {
		switch v.Subject.Kind {
		case reason.KindPod:
			if v.Outcome == action.PodStuck && len(v.Because) > 0 {
				add(report.Phrases(v.Because, v.Subject), l.stuck(v))
			}
		case reason.KindGroup, reason.KindRequest, reason.KindBuffer:
			if i := slices.IndexFunc(v.Because, func(r reason.Reason) bool { return troubles[r.Code].group && troubles[r.Code].needs }); i >= 0 {
				add(fmt.Sprint(v.Subject, v.Because[i].Code), l.need(v, v.Because[i]))
			}
		}
	}
	for _, g := range groups { // each tile that is marked is a need, so that picture and headline say the same
		for _, t := range g.Tiles {
			v := l.verdicts[t.About]
			if t.State != Trouble && t.State != Silent || len(v.Because) == 0 {
				continue
			}
			i := slices.IndexFunc(v.Because, func(r reason.Reason) bool { return troubles[r.Code].machine || t.State == Silent && silence[r.Code] })
			n := l.need(v, v.Because[max(0, i)])
			if t.State == Silent {
				if n.Bad = true; i < 0 { // what keeps the node says nothing of its silence
					n.Code = reason.NodeNotReady
					n.Said = slices.Concat(reason.Plain("Its kubelet does not report, or not that it is Ready, since "), reason.Words{{Name: "until", Text: report.Clock(t.Since)}},
						reason.Plain(". It stays: "), report.Words(v.Because[0], v.Subject), reason.Plain("."))
					n.Cause = n.Said.String()
					n.Helps = nil
					n.Remedy = "look at its kubelet, its network and its machine in Azure; when its work is lost for certain: sluice acknowledge " + string(g.ID)
					if l.stopped(t.About.Name) {
						n.Remedy = "its machine is stopped: start it in Azure; when its work is lost for certain: sluice acknowledge " + string(g.ID)
					}
				}
			}
			add(fmt.Sprint(t.About.Kind, g.ID, t.State, n.Code), n)
		}
	}
	for i := range all {
		if n := &all[i]; n.More > 0 {
			n.Title = strings.Replace(n.Title, n.About.Name, fmt.Sprintf("%s and %d more", n.About.Name, n.More), 1)
			n.Title = strings.NewReplacer(" is stuck", " are stuck", " is not Ready", " are not Ready", " is held back", " are held back", " has not joined", " have not joined", " lost its Node object", " lost their Node objects").Replace(n.Title)
		}
	}
	slices.SortStableFunc(all, func(a, b Need) int {
		never := func(n Need) int {
			if n.Until.IsZero() {
				return 0
			}
			return 1
		}
		bad := func(n Need) int {
			if n.Bad {
				return 0
			}
			return 1
		}
		pod := func(n Need) int { // a backlog of many kinds of pods would hide the one machine that is in trouble
			if n.About.Kind == reason.KindPod {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(bad(a), bad(b)), cmp.Compare(pod(a), pod(b)), cmp.Compare(never(a), never(b)), a.Until.Compare(b.Until), a.Since.Compare(b.Since))
	})
	return all
}

// stopped says whether the node's machine is switched off.
func (l *looked) stopped(name string) bool {
	n := l.entry.Seen.Node(name)
	return n != nil && n.Instance != nil && n.Instance.Stopped()
}

// stuck is the need of a pod that nothing makes room for.
func (l *looked) stuck(v action.Verdict) Need {
	n := Need{
		About: v.Subject, Code: v.Because[0].Code, Title: v.Subject.Name + " is stuck", Since: l.waitsSince(v.Subject),
		Command: "sluice explain pod " + v.Subject.Name,
	}
	const told = 3
	causes := make([]reason.Reason, 0, told)
	for _, r := range v.Because {
		switch {
		case r.Code == reason.CouldHold && n.Remedy == "":
			n.Remedy, n.Helps = report.Phrase(r, v.Subject), report.Words(r, v.Subject)
		case r.Code != reason.CouldHold && len(causes) < told:
			causes = append(causes, r)
		}
	}
	n.Said = full(report.WordsOf(causes, v.Subject))
	n.Cause = n.Said.String()
	if n.Remedy == "" {
		n.Helps = v.Because[0].EndsWords()
		n.Remedy = n.Helps.String()
	}
	return n
}

// need is the need of a group, node or machine that is in trouble for a reason.
func (l *looked) need(v action.Verdict, r reason.Reason) Need {
	n := Need{
		About: v.Subject, Code: r.Code, Title: string(v.Subject.Kind) + " " + v.Subject.Name, Bad: troubles[r.Code].bad,
		Said: full(report.Words(r, v.Subject)), Helps: r.RemedyWords(), Command: "sluice explain " + string(v.Subject.Kind) + " " + v.Subject.Name,
	}
	switch v.Subject.Kind {
	case reason.KindNode:
		if node := l.entry.Seen.Node(v.Subject.Name); node != nil {
			if removal, on := cluster.RemovalOf(node.Object); on {
				n.Since = removal.Since
				n.Title += " still drains"
			} else if !cluster.Ready(node.Object) {
				n.Since = cluster.NotReadySince(node.Object).Time
				n.Title += " is not Ready"
			} else {
				n.Title += " is held back"
			}
		}
	case reason.KindInstance:
		n.Title = strings.TrimPrefix(n.Title, "instance ")
		switch {
		case r.Code == reason.MachineFailed:
			n.Title += " failed to start"
		case hadNode(v):
			n.Title += " lost its Node object"
		default:
			n.Title += " has not joined"
		}
		if g := l.entry.Seen.Group(l.groupOf(v.Subject)); g != nil {
			_, id, _ := strings.Cut(v.Subject.Name, "/")
			if in := g.Instance(cluster.InstanceID(id)); in != nil {
				n.Since = in.UpSince()
			}
		}
		if lost := v.Because[0]; lost.Code == reason.MachineLost { // not since its machine was made
			if age, err := time.ParseDuration(lost.Facts["age"]); err == nil {
				n.Since = l.now.Add(-age)
			}
		}
	case reason.KindGroup:
		n.Title += " needs a look"
		if r.Code == reason.GroupUnreadable {
			n.Title = string(v.Subject.Kind) + " " + v.Subject.Name + " cannot be managed"
		}
	}
	if len(n.Helps) == 0 {
		n.Helps = r.EndsWords()
	}
	for _, r := range v.Because {
		if r.Code == reason.MachineDiagnosed {
			n.Said, n.Helps = slices.Concat(n.Said, reason.Plain(" "), full(report.Words(r, v.Subject))), r.RemedyWords()
		}
		if at := r.EndsAt(l.now); !at.IsZero() && (n.Until.IsZero() || at.Before(n.Until)) {
			n.Until = at
		}
	}
	n.Cause, n.Remedy = n.Said.String(), n.Helps.String()
	return n
}

// hadNode says whether the verdict is about a machine that was a node.
func hadNode(v action.Verdict) bool {
	return v.Subject.Kind == reason.KindInstance && slices.ContainsFunc(v.Because, func(r reason.Reason) bool {
		return r.Code == reason.MachineLost || r.Code == reason.MachineLostRecently || r.Code == reason.MachineCarriesPods
	})
}

// full is a clause as a sentence: see [sentence].
func full(w reason.Words) reason.Words {
	whole := sentence(w.String())
	if len(w) == 0 || whole == "" {
		return w
	}
	w = slices.Clone(w)
	w[0].Text = whole[:len(w[0].Text)] // which differs by its first letter
	if last := &w[len(w)-1]; !strings.HasSuffix(last.Text, ".") {
		w = append(w, reason.Piece{Text: "."})
	}
	return w
}

// sentence ends a clause, and begins it with a capital letter where it begins with a plain word.
func sentence(clause string) string {
	if clause == "" {
		return ""
	}
	if first, _, _ := strings.Cut(clause, " "); first == strings.ToLower(first) && !strings.ContainsAny(first, "0123456789/.:-") {
		clause = strings.ToUpper(clause[:1]) + clause[1:]
	}
	return strings.TrimSuffix(clause, ".") + "."
}

// The measure by which nodes fall silent together: the contract's own, but within minutes, since it takes 20 to judge (S-43).
const (
	togetherPercent = 5
	togetherWithin  = 10 * time.Minute
)

// lost are the nodes that the safety contract keeps as lost together, or will keep if they stay silent. Nil for none.
func (l *looked) lost(n *Now) *Lost {
	lost := &Lost{Zones: map[string]int{}, Groups: []string{}, Early: true}
	everywhere := together(n.Groups...)
	for _, g := range n.Groups {
		lost.Of += g.Nodes + g.Coming + g.NotJoined
		v := l.verdicts[reason.Group(string(g.ID))]
		i := slices.IndexFunc(v.Because, func(r reason.Reason) bool { return r.Code == reason.GroupLost })
		if i < 0 && !(everywhere && g.Silent > 0) && !together(g) {
			continue
		}
		lost.Groups = append(lost.Groups, string(g.ID))
		if i >= 0 {
			lost.Early = false
			if at := v.Because[i].EndsAt(l.now); !at.IsZero() && (lost.Until.IsZero() || at.Before(lost.Until)) {
				lost.Until = at
			}
		}
		for _, t := range g.Tiles {
			v := l.verdicts[t.About]
			if t.State != Silent && (i < 0 || !troubles[t.Code].machine && !hadNode(v)) {
				continue
			}
			if v.Outcome == action.NodeCordoned || v.Outcome == action.NodeDraining { // it was on its way out before it fell silent, and goes on
				continue
			}
			if l.kept[t.About] = true; v.Subject.Kind == reason.KindInstance {
				lost.Objects++
			}
			lost.Machines++
			lost.Zones[t.Zone]++
			if t.Jobs > 0 {
				lost.Jobs++
			}
			if !t.Since.IsZero() && (lost.Since.IsZero() || t.Since.Before(lost.Since)) {
				lost.Since = t.Since
			}
		}
	}
	if len(lost.Groups) == 0 || lost.Machines == 0 {
		return nil
	}
	return lost
}

// together says whether more than one of the groups' nodes, and more than a share of them, fell silent at once.
func together(groups ...Group) bool {
	var since []time.Time
	nodes := 0
	for _, g := range groups {
		nodes += g.Nodes
		for _, t := range g.Tiles {
			if t.State == Silent && !t.Since.IsZero() {
				since = append(since, t.Since)
			}
		}
	}
	slices.SortFunc(since, time.Time.Compare)
	most, from := 0, 0
	for i, t := range since {
		for t.Sub(since[from]) > togetherWithin {
			from++
		}
		most = max(most, i-from+1)
	}
	return most > 1 && 100*most > togetherPercent*nodes
}

// Left is the time that is left of a need or a step, zero when there is none.
func Left(until, now time.Time) time.Duration {
	if until.After(now) {
		return until.Sub(now)
	}
	return 0
}
