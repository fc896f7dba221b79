package clusterfile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a file.
type Problem struct {
	Line   int    // from 1 on; 0 is the file as a whole
	Field  string // such as "pools[1].max"; "" for the file as a whole
	What   string // what is wrong
	Remedy string // what to do
}

func (p Problem) String() string {
	said := p.What + "; " + p.Remedy
	if p.Field != "" {
		said = p.Field + ": " + said
	}
	if p.Line > 0 {
		said = fmt.Sprintf("line %d: %s", p.Line, said)
	}
	return said
}

// MostProblems is how many problems are said of one file. Who has mended so many asks again.
const MostProblems = 20

// Problems are all that is wrong with a file, in the order of its lines.
type Problems []Problem

// Err is the problems as an error, each in a line of its own; nil without any.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	var lines []string
	for _, one := range p {
		lines = append(lines, one.String())
	}
	return errors.New(strings.Join(lines, "\n"))
}

// sorted puts problems in order and keeps the first of them. Of one field on one line the first said counts.
func (p Problems) sorted() Problems {
	slices.SortStableFunc(p, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	var kept Problems
	said := map[string]bool{}
	for _, one := range p {
		if at := fmt.Sprint(one.Line, one.Field); !said[at] || one.Field == "" {
			said[at] = true
			kept = append(kept, one)
		}
	}
	if more := len(kept) - MostProblems; more > 0 {
		last := kept[MostProblems-1].Line
		kept = append(kept[:MostProblems:MostProblems], Problem{Line: last, What: fmt.Sprintf("there are %d problems more", more), Remedy: "mend these first"})
	}
	return kept
}
