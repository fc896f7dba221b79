package reason

import "strings"

// Words is a sentence in pieces: what stands between the values, and these. Who shows it to people can write a time, a duration or a number as its
// readers do.
type Words []Piece

// Piece is a part of a sentence. Name is that of the fact whose value it is, or of the kind of what the reason is about; "" for words between.
type Piece struct{ Name, Text string }

// String is the sentence as it is written everywhere else.
func (w Words) String() string {
	var b strings.Builder
	for _, p := range w {
		b.WriteString(p.Text)
	}
	return b.String()
}

// Plain are words without values.
func Plain(text string) Words { return Words{{"", text}} }

// Words are the pieces of [Reason.Sentence].
func (r Reason) Words() Words {
	template, ok := Template(r.Code)
	if !ok {
		return Plain(r.unknown())
	}
	w := r.pieces(template, "")
	if by := r.Property(); by != "" {
		w = append(w, Piece{"", " (" + by + ")"})
	}
	return w
}

// EndsWords are the pieces of what [Reason.Ends] says, nil for nothing.
func (r Reason) EndsWords() Words {
	if template := rows[r.Code].ends; template != "" {
		return r.pieces(template, "<>")
	}
	return r.RemedyWords()
}

// RemedyWords are the pieces of [Reason.Remedy], nil for none.
func (r Reason) RemedyWords() Words {
	if template := rows[r.Code].remedy; template != "" {
		return r.pieces(template, "<>")
	}
	if what := r.Remedy(); what != "" {
		return Plain(what)
	}
	return nil
}

// pieces is fill, piece by piece. A fact that is missing is its name within the marks, if there are any, else nothing.
func (r Reason) pieces(template, marks string) (w Words) {
	for {
		open := strings.IndexByte(template, '{')
		if open < 0 {
			break
		}
		end := strings.IndexByte(template[open:], '}') + open
		name := template[open+1 : end]
		value, has := r.word(name)
		if !has && marks != "" {
			value = marks[:1] + name + marks[1:]
		}
		if open > 0 {
			w = append(w, Piece{"", template[:open]})
		}
		w = append(w, Piece{name, value})
		template = template[end+1:]
	}
	if template != "" {
		w = append(w, Piece{"", template})
	}
	return w
}
