package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// table prints a JSON list of objects with these columns or, without columns, an object of numbers.
func table(out io.Writer, answer []byte, columns []string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	defer w.Flush()
	if columns == nil {
		var counts map[string]int
		if err := json.Unmarshal(answer, &counts); err != nil {
			return fmt.Errorf("read the answer: %w", err)
		}
		for _, k := range slices.Sorted(maps.Keys(counts)) {
			fmt.Fprintf(w, "%d\t%s\n", counts[k], k)
		}
		return nil
	}
	var rows []map[string]any
	if err := json.Unmarshal(answer, &rows); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	fmt.Fprintln(w, strings.ToUpper(strings.Join(columns, "\t")))
	for _, row := range rows {
		cells := make([]string, len(columns))
		for n, c := range columns {
			cells[n] = cell(row[c])
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return nil
}

// cell is a value in a table; - stands for none.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case []any:
		parts := make([]string, len(v))
		for n, item := range v {
			parts[n] = cell(item)
		}
		return strings.Join(parts, ",")
	}
	return fmt.Sprint(v)
}
