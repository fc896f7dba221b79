package world

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// said are the flags of sluice as the script wrote them. What is judged goes by these words, and by what the contract says where there are none: a judge that
// asked sluice what it makes of them would find nothing wrong with that.
type said map[string][]string

func (s said) text(flag, other string) string {
	if all := s[flag]; len(all) > 0 {
		return all[len(all)-1]
	}
	return other
}

func (s said) is(flag string) bool { return s.text(flag, "false") == "true" }

func (s said) number(flag string, other float64) float64 {
	n, err := strconv.ParseFloat(s.text(flag, ""), 64)
	if err != nil {
		return other
	}
	return n
}

func (s said) time(flag string, other time.Duration) time.Duration {
	d, err := time.ParseDuration(s.text(flag, ""))
	if err != nil {
		return other
	}
	return d
}

// chooses says whether one of the words NAMESPACE/LABEL=VALUE is about the pod.
func (s said) chooses(flag string, p *corev1.Pod) bool {
	return slices.ContainsFunc(s[flag], func(word string) bool {
		for one := range strings.SplitSeq(word, ",") {
			namespace, label, _ := strings.Cut(one, "/")
			key, value, _ := strings.Cut(label, "=")
			if one != "" && namespace == p.Namespace && p.Labels[key] == value {
				return true
			}
		}
		return false
	})
}

// hours are a group's limits within the hours that a schedule names, which scripts write as "agents: daily 00:05-00:20 UTC min=1 max=3", or for Mon-Sun.
func (s said) hours(group string, least, most int, now time.Time) (int, int) {
	for _, word := range s["schedule"] {
		of, rest, _ := strings.Cut(word, ":")
		fields := strings.Fields(rest)
		if !strings.EqualFold(of, group) || len(fields) < 3 {
			continue
		}
		from, to, _ := strings.Cut(fields[1], "-")
		if clock := now.Format("15:04"); clock < from || clock >= to {
			continue
		}
		for _, f := range fields[3:] {
			var n int
			switch {
			case scan(f, "min=%d", &n):
				least = n
			case scan(f, "max=%d", &n):
				most = n
			}
		}
	}
	return min(least, most), most
}

func scan(text, form string, n *int) bool {
	_, err := fmt.Sscanf(text, form, n)
	return err == nil
}
