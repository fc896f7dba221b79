package catalog

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// row is one line of a table while it is read. The first fault of its fields is kept, with line and column.
type row struct {
	line   int
	fields map[string]string
	fault  *error
}

func (r *row) refuse(column, why string) {
	if *r.fault == nil {
		*r.fault = fmt.Errorf("line %d: %s %q %s", r.line, column, r.fields[column], why)
	}
}

func (r *row) text(column string) string { return r.fields[column] }

// whole is a whole number of zero or more.
func (r *row) whole(column string) int64 {
	n, err := strconv.ParseInt(r.fields[column], 10, 64)
	if err != nil || n < 0 {
		r.refuse(column, "must be a whole number of zero or more")
	}
	return n
}

// dollars is an amount above zero.
func (r *row) dollars(column string) float64 {
	n, err := strconv.ParseFloat(r.fields[column], 64)
	if err != nil || n <= 0 || n > maxUSDPerHour {
		r.refuse(column, "must be USD an hour, more than 0, such as 0.192")
		return 0
	}
	return n
}

// maxUSDPerHour tells a price from a slip of the pen; the dearest machine costs a few hundred. It also refuses infinity.
const maxUSDPerHour = 10_000

var generatedOn = regexp.MustCompile(`generated: ([0-9]{4}-[0-9]{2}-[0-9]{2})\.`)

// readTable reads a table of this package: a comment with the day it was made, the names of the columns, and rows.
func readTable(in io.Reader, columns []string, each func(*row)) (time.Time, error) {
	buffered := bufio.NewReader(in)
	head, err := buffered.ReadString('\n')
	if err != nil {
		return time.Time{}, fmt.Errorf("line 1: %w", err)
	}
	day := generatedOn.FindStringSubmatch(head)
	if day == nil {
		return time.Time{}, errors.New(`line 1 must say "generated: 2006-01-02."`)
	}
	made, err := time.Parse(time.DateOnly, day[1])
	if err != nil {
		return time.Time{}, fmt.Errorf("line 1: %w", err)
	}
	return made, readRows(buffered, 1, columns, nil, each)
}

// readRows reads the names of the columns and then the rows, where before lines stand above them. Columns may come in any order; those
// in optional may be missing. Lines that begin with # and empty lines are skipped. It stops at the first fault.
func readRows(in io.Reader, before int, required, optional []string, each func(*row)) error {
	r := csv.NewReader(in)
	r.Comment, r.TrimLeadingSpace = '#', true
	r.FieldsPerRecord = -1 // counted here, for a better sentence
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("it has no line with the columns %s", strings.Join(required, ","))
	}
	if err != nil {
		return lineFault(err, before)
	}
	for i, name := range header {
		header[i] = strings.ToLower(strings.TrimSpace(name))
	}
	headerLine, _ := r.FieldPos(0)
	for i, name := range header {
		switch {
		case !slices.Contains(required, name) && !slices.Contains(optional, name):
			return fmt.Errorf("line %d: column %q is not known: the columns are %s", headerLine+before, name, strings.Join(slices.Concat(required, optional), ","))
		case slices.Contains(header[:i], name):
			return fmt.Errorf("line %d: column %q is there twice", headerLine+before, name)
		}
	}
	for _, name := range required {
		if !slices.Contains(header, name) {
			return fmt.Errorf("line %d: column %q is missing: the columns are %s", headerLine+before, name, strings.Join(slices.Concat(required, optional), ","))
		}
	}
	for {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return lineFault(err, before)
		}
		line, _ := r.FieldPos(0)
		if len(fields) != len(header) {
			return fmt.Errorf("line %d: it has %d fields and the columns are %d: separate them by commas, and write decimals with a point", line+before, len(fields), len(header))
		}
		var fault error
		one := &row{line: line + before, fields: make(map[string]string, len(header)), fault: &fault}
		for i, name := range header {
			one.fields[name] = strings.TrimSpace(fields[i])
		}
		if each(one); fault != nil {
			return fault
		}
	}
}

// lineFault names the line of the file instead of the reader's.
func lineFault(err error, before int) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return fmt.Errorf("line %d: %w", parse.Line+before, parse.Err)
	}
	return err
}
