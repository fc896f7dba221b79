package grow

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"sluice.dev/sluice/cluster"
)

// Ranking is what the expander priority goes by. The zero value ranks nothing and keeps every group; so does a ranking that is not in
// order. It is read anew in each decision (scenario expander-priority-changes).
type Ranking struct {
	ranks []rank // highest number first
	wrong string // why there is none, for the operator
}

// rankingKey is where the ConfigMap [cluster.RankingName] has the ranking.
const rankingKey = "priorities"

// leastRank is the lowest number that makes a group win. Lower ranks are read and match nothing.
const leastRank = -1

// rank is one number of the ranking. It matches a group when one of its expressions is found anywhere in the group's name.
type rank struct {
	number int
	groups []*regexp.Regexp // of which one is enough, found anywhere in the group's name
}

// ReadRanking reads the ConfigMap: its key "priorities" holds a YAML map from whole numbers to lists of regular expressions. One that is
// missing or not in order ranks nothing, and [Ranking.Wrong] says why.
func ReadRanking(c *corev1.ConfigMap) Ranking {
	wrong := func(format string, args ...any) Ranking {
		return Ranking{wrong: "the ConfigMap " + cluster.RankingName + " " + fmt.Sprintf(format, args...)}
	}
	if c == nil {
		return wrong("is missing; create it in the namespace of --namespace, with the key %s", rankingKey)
	}
	text, ok := c.Data[rankingKey]
	if !ok {
		return wrong("has no key %s; add it: a map from numbers to lists of regular expressions", rankingKey)
	}
	var written map[string][]string
	if err := yaml.UnmarshalStrict([]byte(text), &written); err != nil {
		return wrong("cannot be read under the key %s (%s); give a map from numbers to lists of regular expressions", rankingKey, oneLine(err))
	}
	var r Ranking
	for _, key := range slices.Sorted(maps.Keys(written)) {
		n, err := strconv.Atoi(key)
		if err != nil {
			return wrong("has the rank %q, which is no whole number; give one, such as 10", key)
		}
		one := rank{number: n}
		for _, expression := range written[key] {
			compiled, err := regexp.Compile(expression)
			if err != nil {
				return wrong("has %q at rank %d, which is no regular expression (%s); correct it", expression, n, oneLine(err))
			}
			one.groups = append(one.groups, compiled)
		}
		r.ranks = append(r.ranks, one)
	}
	slices.SortFunc(r.ranks, func(a, b rank) int { return cmp.Compare(b.number, a.number) })
	return r
}

// oneLine is an error as a sentence can hold it: the parsers of other people break some into lines.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// Wrong says why the ranking ranks nothing, in one sentence for the operator; "" when it is in order.
func (r Ranking) Wrong() string { return r.wrong }

// Unranked says whether the ranking is in order and no rank that can win matches the group: it grows only where no group would do that one
// matches.
func (r Ranking) Unranked(g cluster.GroupID) bool {
	return r.wrong == "" && !slices.ContainsFunc(r.ranks, func(one rank) bool { return one.number >= leastRank && one.matches(g) })
}

// matches says whether the rank names the group.
func (one rank) matches(g cluster.GroupID) bool {
	return slices.ContainsFunc(one.groups, func(expression *regexp.Regexp) bool { return expression.MatchString(string(g)) })
}

// keep are the options of the highest rank that any of them has, and all of them when none has a rank that can win. why is not empty when
// the ranking itself is at fault.
func (r Ranking) keep(options []Option) (kept []Option, why string) {
	for _, one := range r.ranks {
		if one.number < leastRank {
			break
		}
		for _, o := range options {
			if one.matches(o.Group) {
				kept = append(kept, o)
			}
		}
		if len(kept) > 0 {
			return kept, ""
		}
	}
	return options, r.wrong
}
