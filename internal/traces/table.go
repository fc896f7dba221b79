package traces

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// table reads rows of a CSV by the names in its first row. The first error ends it.
type table struct {
	rows   *csv.Reader
	column map[string]int
	row    []string
	err    error
}

func readTable(from io.Reader, columns ...string) (*table, error) {
	t := &table{rows: csv.NewReader(from), column: map[string]int{}}
	head, err := t.rows.Read()
	if err != nil {
		return nil, err
	}
	for _, name := range columns {
		i := slices.Index(head, name)
		if i < 0 {
			return nil, fmt.Errorf("no column %s among %v", name, head)
		}
		t.column[name] = i
	}
	return t, nil
}

// next moves to the next row, false at the end or after an error.
func (t *table) next() bool {
	if t.err != nil {
		return false
	}
	t.row, t.err = t.rows.Read()
	if errors.Is(t.err, io.EOF) {
		t.err = nil
		return false
	}
	return t.err == nil
}

func (t *table) text(column string) string { return t.row[t.column[column]] }

func (t *table) float(column string) float64 {
	v, err := strconv.ParseFloat(t.text(column), 64)
	if err != nil && t.err == nil {
		line, _ := t.rows.FieldPos(t.column[column])
		t.err = fmt.Errorf("line %d, column %s: %q is not a number", line, column, t.text(column))
	}
	return v
}

func (t *table) int(column string) int64 { return int64(t.float(column)) }
