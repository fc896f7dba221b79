package report

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice.dev/sluice/cluster"
)

// own is what sluice keeps in the status ConfigMap for the process that comes after it, under keys of its own; "" for nothing.
type own struct {
	operations string // as [Status.Operations] has them
	lessons    string // of the groups' nodes, in JSON by group
}

// mostLessons bounds what nodes have taught, in bytes: a ConfigMap holds one mebibyte.
const mostLessons = 512 << 10

// SavedLessons is what nodes had taught an earlier process of their groups, nil for nothing: what a group without nodes is like.
func (s *Status) SavedLessons(ctx context.Context) (cluster.Lessons, error) {
	if err := s.recall(ctx); err != nil {
		return nil, err
	}
	return parseLessons(s.kept.lessons)
}

// parseLessons reads what keep wrote. What somebody else wrote there is as good as nothing, and an error says so.
func parseLessons(text string) (cluster.Lessons, error) {
	if text == "" {
		return nil, nil
	}
	var lessons cluster.Lessons
	if err := json.Unmarshal([]byte(text), &lessons); err != nil {
		return nil, fmt.Errorf("key %s of the status ConfigMap: %w; nodes teach it anew", lessonsKey, err)
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
	if s.lessons == nil || maps.Equal(s.lessons, s.wrote) {
		return keep, nil
	}
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(s.lessons)) {
		line, err := json.Marshal(cluster.Lessons{id: s.lessons[id]})
		if err != nil {
			return own{}, fmt.Errorf("write what nodes of group %s have taught: %w", id, err)
		}
		if b.Len()+len(line) > mostLessons {
			break
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
