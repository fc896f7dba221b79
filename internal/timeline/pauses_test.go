package timeline

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/cluster"
)

func TestPausesAreToldWhenTheyBeginChangeAndEnd(t *testing.T) {
	until := at(time.Hour)
	for name, c := range map[string]struct {
		before, now cluster.Pauses
		want        []string
	}{
		"one begins":             {nil, cluster.Pauses{"a": until}, []string{"group a is paused by an operator until 2026-01-05 10:00:00Z"}},
		"one without an end":     {nil, cluster.Pauses{"a": {}}, []string{"group a is paused by an operator, without an end"}},
		"one goes on":            {cluster.Pauses{"a": until}, cluster.Pauses{"a": until}, nil},
		"one without an end too": {cluster.Pauses{"a": {}}, cluster.Pauses{"a": {}}, nil},
		"one is put off":         {cluster.Pauses{"a": until}, cluster.Pauses{"a": until.Add(time.Minute)}, []string{"group a is paused by an operator until 2026-01-05 10:01:00Z"}},
		"one ends":               {cluster.Pauses{"a": until}, nil, []string{"group a is paused no more"}},
		"all, and one no more":   {cluster.Pauses{"a": until}, cluster.Pauses{cluster.AllGroups: {}}, []string{"every group is paused by an operator, without an end", "group a is paused no more"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, s := range toldOfPauses(c.before, c.now) {
				got = append(got, s.Sentence)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestWhatIsAcknowledgedIsTold(t *testing.T) {
	then := at(time.Hour)
	for name, c := range map[string]struct {
		before, now cluster.Acknowledged
		want        []string
	}{
		"of a group":  {nil, cluster.Acknowledged{"a": then}, []string{"group a: an operator acknowledges what it lost until 2026-01-05 10:00:00Z"}},
		"of all":      {cluster.Acknowledged{"a": then}, cluster.Acknowledged{cluster.AllGroups: then}, []string{"an operator acknowledges what all groups lost until 2026-01-05 10:00:00Z"}},
		"anew":        {cluster.Acknowledged{"a": then}, cluster.Acknowledged{"a": then.Add(time.Minute)}, []string{"group a: an operator acknowledges what it lost until 2026-01-05 10:01:00Z"}},
		"as it stood": {cluster.Acknowledged{"a": then}, cluster.Acknowledged{"a": then}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, s := range toldOfAcknowledged(c.before, c.now) {
				got = append(got, s.Sentence)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
