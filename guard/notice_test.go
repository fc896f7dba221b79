package guard_test

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/guard"
	"sluice.dev/sluice/policy"
)

// told is a machine to which the cloud has announced its end in five minutes, as its agent sees it.
func told() guard.Local {
	notice := cluster.Notice{ID: "event-1", Kind: "Terminate", Deadline: Start.Add(5 * time.Minute)}
	local := guard.Local{
		Time: Start, Name: "agents_0", Machine: cluster.Instance{UID: "vm-0", ComputerName: "agents-0"}, Asked: Start.Add(-time.Second),
		Notices: []guard.Announced{{Notice: notice, Machines: []string{"agents_0"}}},
		Node:    Node("agents-0", Noticed(notice)),
	}
	local.Node.Status.NodeInfo.SystemUUID = "vm-0"
	return local
}

func TestAMachineMakesNoWriteThatIsNotItsOwn(t *testing.T) {
	var (
		announce = guard.Announce{Node: "agents-0", UID: "uid-agents-0", Notice: "event-1"}
		withdraw = guard.Withdraw{Node: "agents-0", UID: "uid-agents-0"}
		agree    = guard.Agree{Notice: "event-1", Node: "agents-0"}
	)
	silent := func(e *guard.Local) { e.Notices = nil }
	answered := func(a cluster.NoticeAnswer) func(*guard.Local) {
		return func(e *guard.Local) { e.Node.Annotations[cluster.AnswerAnnotation] = a.Annotation() }
	}
	empty := answered(cluster.NoticeAnswer{ID: "event-1", Empty: true})
	for name, c := range map[string]struct {
		write   guard.Write
		changes []func(*guard.Local)
		want    string // the property, "" when the write may happen
	}{
		"an announcement":                                        {announce, nil, ""},
		"an announcement in a dry run":                           {announce, []func(*guard.Local){func(e *guard.Local) { e.DryRun = true }}, "S-24"},
		"an announcement of what nobody announced":               {announce, []func(*guard.Local){silent}, "S-42"},
		"an announcement to another machine":                     {announce, []func(*guard.Local){func(e *guard.Local) { e.Notices[0].Machines = []string{"agents_1"} }}, "S-42"},
		"an announcement on the node of another one":             {announce, []func(*guard.Local){func(e *guard.Local) { e.Machine.UID = "vm-1" }}, "S-12"},
		"an announcement on a node of another life":              {announce, []func(*guard.Local){func(e *guard.Local) { e.Node.UID = "reborn" }}, "S-14"},
		"an announcement without a look at the node":             {announce, []func(*guard.Local){func(e *guard.Local) { e.Node = nil }}, "S-12"},
		"a withdrawal":                                           {withdraw, []func(*guard.Local){silent}, ""},
		"a withdrawal of what stands":                            {withdraw, nil, "S-42"},
		"a withdrawal on an old document":                        {withdraw, []func(*guard.Local){silent, func(e *guard.Local) { e.Asked = Start.Add(-time.Minute) }}, "S-20"},
		"an agreement":                                           {agree, []func(*guard.Local){empty}, ""},
		"an agreement while there is work":                       {agree, []func(*guard.Local){answered(cluster.NoticeAnswer{ID: "event-1"})}, "S-15"},
		"an agreement without sluice's word":                     {agree, nil, "S-15"},
		"an agreement that speaks for others":                    {agree, []func(*guard.Local){empty, func(e *guard.Local) { e.Notices[0].Machines = []string{"agents_0", "agents_1"} }}, "S-42"},
		"an agreement for another machine alone":                 {agree, []func(*guard.Local){empty, func(e *guard.Local) { e.Notices[0].Machines = []string{"agents_1"} }}, "S-42"},
		"an agreement that the node does not show":               {agree, []func(*guard.Local){empty, func(e *guard.Local) { e.Node = Node("agents-0") }}, "S-42"},
		"an agreement on an old document":                        {agree, []func(*guard.Local){empty, func(e *guard.Local) { e.Asked = Start.Add(-time.Minute) }}, "S-20"},
		"an agreement to what sluice has said of another notice": {agree, []func(*guard.Local){answered(cluster.NoticeAnswer{ID: "event-0", Empty: true})}, "S-15"},
		"an eviction":           {guard.Expel{Namespace: "default", Pod: "web", UID: "uid-web", Node: "agents-0"}, nil, "S-42"},
		"a growth of its group": {guard.Grow{Group: "agents", From: 1, To: 2}, nil, "S-42"},
	} {
		t.Run(name, func(t *testing.T) {
			e := told()
			for _, change := range c.changes {
				change(&e)
			}
			err := guard.CheckLocal(c.write, e)
			var refusal *guard.Refusal
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (!errors.As(err, &refusal) || refusal.Property != c.want):
				t.Errorf("check = %v, want a refusal by %s", err, c.want)
			}
		})
	}
}

func TestALeaderMakesNoWriteOfAMachine(t *testing.T) {
	for _, w := range []guard.Write{guard.Announce{}, guard.Withdraw{}, guard.Agree{}} {
		if err := guard.Check(w, guard.Evidence{Newest: &cluster.Snapshot{}}, policy.Default()); err == nil {
			t.Errorf("%T, which only a machine may make by itself, passed", w)
		}
	}
}

// TestALeaderHeedsANoticeAsItStands: what the agent has written on the node is all that an eviction for it, or an answer to it, rests on.
func TestALeaderHeedsANoticeAsItStands(t *testing.T) {
	notice := cluster.Notice{ID: "event-1", Kind: "Terminate", Deadline: Start.Add(5 * time.Minute)}
	type scene struct {
		node *corev1.Node
		web  *cluster.Pod
		e    guard.Evidence
	}
	var (
		expel  = guard.Expel{Namespace: "default", Pod: "web", UID: "uid-web", Node: "agents-0"}
		answer = guard.AnswerNotice{Node: "agents-0", UID: "uid-agents-0", Notice: "event-1"}
		empty  = guard.AnswerNotice{Node: "agents-0", UID: "uid-agents-0", Notice: "event-1", Empty: true}
		forget = guard.AnswerNotice{Node: "agents-0", UID: "uid-agents-0"}
	)
	job := func(s *scene) { s.web = Pod("web", On("agents-0"), OwnedBy("Job", "render")) }
	worker := func(s *scene) {
		s.web = Pod("web", On("agents-0"), OwnedBy("DaemonSet", "render"), Annotated("karpenter.sh/do-not-disrupt", "true"))
	}
	unannounced := func(s *scene) { s.node = Node("agents-0") }
	for name, c := range map[string]struct {
		write   guard.Write
		changes []func(*scene)
		want    string // the property, "" when the write may happen
	}{
		"an eviction": {expel, nil, ""},
		"an eviction though nothing is announced": {expel, []func(*scene){unannounced}, "S-42"},
		"an eviction for a pause of a second": {expel, []func(*scene){func(s *scene) {
			s.node = Node("agents-0", Noticed(cluster.Notice{ID: "event-1", Kind: "Freeze"}))
		}}, "S-42"},
		"an eviction for a taint that nobody can read": {expel, []func(*scene){func(s *scene) { s.node.Annotations[cluster.NoticeAnnotation] = "?" }}, "S-42"},
		"an eviction of which no kubelet would hear": {expel, []func(*scene){func(s *scene) {
			s.node.Status.Conditions[0].Status = corev1.ConditionUnknown
		}}, "S-42"},
		"an eviction from a node that is gone":             {guard.Expel{Namespace: "default", Pod: "web", UID: "uid-web", Node: "agents-1"}, nil, "S-14"},
		"an eviction of a pod of another life":             {guard.Expel{Namespace: "default", Pod: "web", UID: "reborn", Node: "agents-0"}, nil, "S-15"},
		"an eviction of a daemon's pod":                    {guard.Expel{Namespace: "default", Pod: "ds", UID: "uid-ds", Node: "agents-0"}, nil, "S-15"},
		"an eviction of a Job's pod while it has time":     {expel, []func(*scene){job}, "S-15"},
		"an eviction of a Job's pod at last":               {expel, []func(*scene){job, func(s *scene) { s.e.Newest.Time = Start.Add(5*time.Minute - 35*time.Second) }}, ""},
		"an eviction of a daemon's work while it has time": {expel, []func(*scene){worker}, "S-15"},
		"an eviction of a daemon's work at last":           {expel, []func(*scene){worker, func(s *scene) { s.e.Newest.Time = Start.Add(5*time.Minute - 35*time.Second) }}, ""},
		"an answer that calls a node empty, with a worker": {empty, []func(*scene){worker}, "S-15"},
		"an eviction while the API server is silent":       {expel, []func(*scene){func(s *scene) { s.e.Silent = 2 * time.Minute }}, "S-20"},
		"an eviction beyond the budget of its group": {expel, []func(*scene){func(s *scene) {
			s.e.Fleet = watched(2*time.Hour, map[fleet.UID]time.Duration{"vm-1": time.Minute, "vm-2": time.Minute})
		}}, ""},
		"an eviction in a dry run":                             {expel, []func(*scene){func(s *scene) { s.e.DryRun = true }}, "S-24"},
		"an answer":                                            {answer, nil, ""},
		"an answer to what is not announced":                   {answer, []func(*scene){unannounced}, "S-42"},
		"an answer on a node of another life":                  {guard.AnswerNotice{Node: "agents-0", UID: "reborn", Notice: "event-1"}, nil, "S-14"},
		"an answer that calls a node empty, with a pod":        {empty, nil, "S-15"},
		"an answer that calls a node empty, with a Job's":      {empty, []func(*scene){job}, "S-15"},
		"an answer that calls an empty node so":                {empty, []func(*scene){func(s *scene) { s.web = nil }}, ""},
		"an answer that is taken back":                         {forget, []func(*scene){unannounced}, ""},
		"an answer that is taken back while the notice stands": {forget, nil, "S-42"},
	} {
		t.Run(name, func(t *testing.T) {
			s := scene{node: Node("agents-0", Noticed(notice)), web: Pod("web", On("agents-0")), e: guard.Evidence{Newest: &cluster.Snapshot{Time: Start}}}
			for _, change := range c.changes {
				change(&s)
			}
			pods := []*cluster.Pod{Pod("ds", On("agents-0"), OwnedBy("DaemonSet", "ds"))}
			if s.web != nil {
				pods = append(pods, s.web)
			}
			s.e.Newest = cluster.New(s.e.Newest.Time, cluster.Objects{Nodes: []*corev1.Node{s.node}, Pods: pods}, nil)
			err := guard.Check(c.write, s.e, policy.Default())
			var refusal *guard.Refusal
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (!errors.As(err, &refusal) || refusal.Property != c.want):
				t.Errorf("check = %v, want a refusal by %s", err, c.want)
			}
		})
	}
}
