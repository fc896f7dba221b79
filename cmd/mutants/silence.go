package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// silence is the source in which a function does not say something any more while the mutant is tried: each of its returns that has all the words of what it
// says comes about under a condition that never holds then. So a refusal is named by the predicate and its code, however it is written.
func silence(source []byte, function, says, muted string) ([]byte, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	at := func(p token.Pos) int { return fset.Position(p).Offset }
	type change struct {
		from, to int
		text     string
	}
	var changes []change
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Name.Name != function {
			continue
		}
		var above []ast.Node
		ast.Inspect(fn, func(n ast.Node) bool {
			if n == nil {
				above = above[:len(above)-1]
				return true
			}
			above = append(above, n)
			r, ok := n.(*ast.ReturnStmt)
			if !ok || !hasAll(source[at(r.Pos()):at(r.End())], strings.Fields(says)) {
				return true
			}
			from, to := r.Pos(), r.End()
			text := func(s string) string { return "if !" + muted + " {\n" + s + "\n}" }
			for i := len(above) - 2; i >= 0; i-- {
				if clause, ok := above[i].(*ast.CaseClause); ok {
					if s, ok := above[i-2].(*ast.SwitchStmt); ok && s.Tag == nil && len(clause.List) > 0 {
						from, to = clause.List[0].Pos(), clause.List[len(clause.List)-1].End()
						var conditions []string
						for _, e := range clause.List {
							conditions = append(conditions, string(source[at(e.Pos()):at(e.End())]))
						}
						text = func(string) string { return "!" + muted + " && (" + strings.Join(conditions, " || ") + ")" }
					}
					break
				}
			}
			changes = append(changes, change{at(from), at(to), text(string(source[at(from):at(to)]))})
			return true
		})
	}
	if len(changes) == 0 {
		return nil, fmt.Errorf("no return of %s says %s", function, says)
	}
	slices.Reverse(changes)
	for _, c := range changes {
		source = slices.Concat(source[:c.from:c.from], []byte(c.text), source[c.to:])
	}
	return source, nil
}

func hasAll(text []byte, words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !bytes.Contains(text, []byte(w)) })
}
