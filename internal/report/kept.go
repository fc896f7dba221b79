package report

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/memory"
)

// own is what sluice keeps in the status ConfigMap for the process that comes after it and for people's commands, under keys of its own; "" for nothing.
type own struct {
	operations string // as [Status.Operations] has them
	lessons    string // of the groups' nodes, in JSON by group
	breakers   string // of groups that had trouble lately, in JSON by group
	outside    string // nodes of no group, for the commands of people; "" when that cannot be told
}

// mostLessons and mostBreakers bound what is kept, in bytes, and mostOutside in nodes: a ConfigMap holds one mebibyte.
const (
	mostLessons  = 512 << 10
	mostBreakers = 128 << 10
	mostOutside  = 500
)

// Legacy is what an earlier process knew of the groups and nothing shows any more.
type Legacy struct {
	Lessons  cluster.Lessons // of their nodes, nil for none: what a group without nodes is like
	Breakers memory.Breakers // what failed, and what counts for windows
}

// Saved is what an earlier process left. What can be read of it is returned also beside an error.
func (s *Status) Saved(ctx context.Context) (left Legacy, err error) {
	if err := s.recall(ctx); err != nil {
		return Legacy{}, err
	}
	var of, tripped error
	left.Lessons, of = parseLessons(s.kept.lessons)
	left.Breakers, tripped = parseBreakers(s.kept.breakers)
	return left, errors.Join(of, tripped)
}

// ReadLegacy is what a running sluice has put into the status ConfigMap for others, read with the caller's rights. Without says why it is not known, or
// not all of it: nil when it is.
func ReadLegacy(ctx context.Context, client kubernetes.Interface, namespace, name string) (left Legacy, without error) {
	s := Status{Client: client, Namespace: namespace, Name: name}
	left, without = s.Saved(ctx)
	if without == nil && !s.found {
		without = fmt.Errorf("there is no ConfigMap %s/%s", s.namespace(), s.name())
	}
	return left, without
}

// parseBreakers reads what keep wrote. What somebody else wrote there is as good as nothing, and an error says so.
func parseBreakers(text string) (memory.Breakers, error) {
	if text == "" {
		return memory.Breakers{}, nil
	}
	var breakers memory.Breakers
	if err := json.Unmarshal([]byte(text), &breakers); err != nil {
		return memory.Breakers{}, fmt.Errorf("key %s of the status ConfigMap: %w; failures are counted anew", cluster.BreakersKey, err)
	}
	return breakers, nil
}

// parseLessons reads what keep wrote. What somebody else wrote there is as good as nothing, and an error says so.
func parseLessons(text string) (cluster.Lessons, error) {
	if text == "" {
		return nil, nil
	}
	var lessons cluster.Lessons
	if err := json.Unmarshal([]byte(text), &lessons); err != nil {
		return nil, fmt.Errorf("key %s of the status ConfigMap: %w; nodes teach it anew", cluster.LessonsKey, err)
	}
	maps.DeleteFunc(lessons, func(_ cluster.GroupID, l *cluster.Learned) bool { return l == nil || l.Node == nil })
	return lessons, nil
}

// keep is what the ConfigMap is to hold beside the status.
func (s *Status) keep() (own, error) {
	keep := s.kept
	if s.Operations != nil {
		keep.operations = string(s.Operations())
	}
	keep.breakers, keep.outside = "", s.outside
	if !s.breakers.IsZero() {
		text, err := json.Marshal(s.breakers)
		if err != nil {
			return own{}, fmt.Errorf("write what has failed: %w", err)
		}
		if len(text) <= mostBreakers {
			keep.breakers = string(text)
		}
	}
	if s.lessons == nil || maps.Equal(s.lessons, s.wrote) {
		return keep, nil
	}
	var b strings.Builder
	s.unkept = nil
	for _, id := range s.byNeed() {
		line, err := json.Marshal(cluster.Lessons{id: s.lessons[id]})
		if err != nil {
			return own{}, fmt.Errorf("write what nodes of group %s have taught: %w", id, err)
		}
		if b.Len()+len(line) > mostLessons {
			s.unkept = append(s.unkept, id)
			continue
		}
		if b.Len() > 0 {
			b.WriteString(",\n")
		}
		b.Write(line[1 : len(line)-1])
	}
	keep.lessons, s.wrote = "", s.lessons
	if b.Len() > 0 {
		keep.lessons = "{" + b.String() + "}"
	}
	return keep, nil
}

// outside names the nodes that are in no group, in JSON. It is "" while a group is not wholly read, and when there are too many.
func outside(seen *cluster.Snapshot) string {
	names := []string{}
	for _, g := range seen.Groups {
		if !g.Read.Complete {
			return ""
		}
	}
	for _, n := range seen.Nodes {
		if n.Group == "" && len(n.Suspects) == 0 {
			names = append(names, n.Name())
		}
	}
	if len(names) > mostOutside {
		return ""
	}
	text, err := json.Marshal(names)
	if err != nil {
		panic("report: write names of nodes: " + err.Error()) // strings always encode
	}
	return string(text)
}

// byNeed are the groups that have lessons, those first that no node could teach again.
func (s *Status) byNeed() []cluster.GroupID {
	return slices.SortedFunc(maps.Keys(s.lessons), func(a, b cluster.GroupID) int {
		switch {
		case s.nodes[a] == s.nodes[b]:
			return cmp.Compare(a, b)
		case s.nodes[a]:
			return 1
		}
		return -1
	})
}

// Unkept are the groups of which what nodes have taught has no room in the ConfigMap: a process that takes over learns it anew, as soon as there is a
// node of theirs.
func (s *Status) Unkept() []cluster.GroupID { return s.unkept }

// populated are the groups that have nodes.
func populated(nodes []*cluster.Node) map[cluster.GroupID]bool {
	groups := map[cluster.GroupID]bool{}
	for _, n := range nodes {
		groups[n.Group] = true
	}
	return groups
}
