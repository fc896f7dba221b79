package doctor

import (
	"fmt"
	"strings"
)

// A check is an area that is looked at: what it rests on, and how its facts are judged.
type check struct {
	name  string
	asks  string   // whom it waits for
	rests []string // checks before it; when one of them blocks, this one is not judged
	judge func(Facts, *Diagnosis) []Finding
}

// checks are all of them. Each rests on those before it.
var checks = []check{
	{"configuration", "instance metadata", nil, configuration},
	{"metadata", "instance metadata", []string{"configuration"}, metadata},
	{"endpoints", "Azure", []string{"metadata"}, endpoints},
	{"identity", "Azure", []string{"metadata"}, identity},
	{"rights", "Azure", []string{"identity", "endpoints"}, rights},
	{"kubernetes", "the API server", []string{"configuration"}, kubernetes},
	{"clock", "the API server", []string{"configuration"}, clock},
	{"groups", "Azure and the API server", []string{"identity", "endpoints"}, groups},
	{"tags", "Azure and the API server", []string{"groups"}, tags},
	{"nodes", "Azure and the API server", []string{"groups", "kubernetes"}, nodes},
}

// Checks are the names of the areas in the order in which they are told.
var Checks = func() (names []string) {
	for _, c := range checks {
		names = append(names, c.name)
	}
	return names
}()

// Diagnosis judges one check after the other. The zero value is ready.
type Diagnosis struct {
	judged int
	cause  map[string]string // of checks on which nothing can rest: the check where that began
	faulty map[string]bool   // checks with a problem
}

// Next judges the checks that come next in the order of [Checks], up to the first whose facts are not known. There is at least one finding
// for each check. A check that rests on one which is at fault is not judged: its finding is Unknown and names the cause.
func (d *Diagnosis) Next(f Facts, known func(check string) bool) (all []Finding) {
	if d.cause == nil {
		d.cause, d.faulty = map[string]string{}, map[string]bool{}
	}
	for d.judged < len(checks) && known(checks[d.judged].name) {
		c := checks[d.judged]
		d.judged++
		found := d.look(f, c)
		for _, one := range found {
			d.faulty[c.name] = d.faulty[c.name] || one.Status == Problem
			switch {
			case !one.blocks || d.cause[c.name] != "":
			case one.Cause != "":
				d.cause[c.name] = one.Cause
			default:
				d.cause[c.name] = c.name
			}
		}
		all = append(all, found...)
	}
	return all
}

func (d *Diagnosis) look(f Facts, c check) []Finding {
	for _, on := range c.rests {
		if cause := d.cause[on]; cause != "" {
			return []Finding{dependent(c.name, cause)}
		}
	}
	if why := f.Unknown[c.name]; why != "" {
		return []Finding{{Check: c.name, Status: Unknown, Message: "not known: " + why, blocks: true}}
	}
	return c.judge(f, d)
}

// Awaits is the check that comes next, and whose answer it waits for; "" after the last.
func (d *Diagnosis) Awaits() (check, answer string) {
	if d.judged == len(checks) {
		return "", ""
	}
	return checks[d.judged].name, checks[d.judged].asks
}

// Diagnose judges the facts of all checks.
func Diagnose(f Facts) []Finding {
	var d Diagnosis
	return d.Next(f, func(string) bool { return true })
}

func ok(check, subject, message string) Finding {
	return Finding{Check: check, Status: OK, Subject: subject, Message: message}
}

// dependent is a check that is not made because of another one. Nothing can rest on it.
func dependent(check, cause string) Finding {
	return Finding{Check: check, Status: Unknown, Message: "not checked: depends on " + cause, Cause: cause, blocks: true}
}

// some names at most six things, and says how many more there are.
func some(names []string) string {
	const most = 6
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
