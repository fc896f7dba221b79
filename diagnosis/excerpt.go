package diagnosis

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what is kept of a log: a journal holds it for as long as the machine is late.
const (
	mostRead  = 64 << 10 // of its end
	mostLines = 20
	mostBytes = 2000 // of all lines together
	mostLine  = 240  // bytes of one

	mostShowing = 6 // lines that show a cause; the rest are the log's last ones
)

// Report is what a machine says, fit to be kept.
type Report struct {
	Cause    Cause    // the most telling one that is shown; zero when none is
	Statuses []string // as they were given
	Lines    []string // of the boot log, in their order: those that show the cause last, and the end of the log
}

// Read reads what a machine says: statuses that are not good, and its boot log.
func Read(statuses []string, log []byte) Report {
	var r Report
	best := none
	for _, s := range statuses {
		best = min(best, rowOf(plain(s)))
		r.Statuses = append(r.Statuses, Clean(s))
	}
	log = log[max(0, len(log)-mostRead):]
	var lines []string // before secrets are hidden, as these may hide a cause
	var shows []int
	for line := range strings.FieldsFuncSeq(string(log), func(r rune) bool { return r == '\n' || r == '\r' || r == 0 }) {
		if line = plain(line); line != "" && !slices.Contains(lines[max(0, len(lines)-mostLines):], line) { // one that is repeated says no more
			lines, shows = append(lines, line), append(shows, rowOf(line))
			best = min(best, shows[len(shows)-1])
		}
	}
	r.Cause, r.Lines = causeOf(best), excerpt(lines, func(i int) bool { return best < none && shows[i] == best })
	return r
}

// excerpt are the lines to keep, cleaned: the last ones that tell, and the last ones.
func excerpt(lines []string, tells func(int) bool) []string {
	keep, left, kept := make([]string, len(lines)), mostBytes, 0
	take := func(i, most int) {
		if keep[i] != "" || kept >= most {
			return
		}
		if line := Clean(lines[i]); len(line) <= left {
			keep[i], left, kept = line, left-len(line), kept+1
		}
	}
	for i := range slices.Backward(lines) {
		if tells(i) {
			take(i, mostShowing)
		}
	}
	for i := range slices.Backward(lines) {
		if kept == mostLines {
			break
		}
		take(i, mostLines)
	}
	if keep = slices.DeleteFunc(keep, func(line string) bool { return line == "" }); len(keep) == 0 {
		return nil
	}
	return keep
}

var (
	escapes = regexp.MustCompile(`\x1b\[[0-?]*[\x20-\x2f]*[\x40-\x7e]|\x1b\][^\x07\x1b]*(\x07|\x1b\\)?|\x1b[PX^_][^\x1b]*(\x1b\\)?|\x1b[\x20-\x7e]?`)

	secrets = []*regexp.Regexp{
		regexp.MustCompile(`\bK10[0-9a-fA-F]*::[^\s"']+`),                // a token of K3s
		regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`),              // a bootstrap token
		regexp.MustCompile(`\beyJ[\w-]+\.[\w-]+(\.[\w-]*)?`),             // a web token
		regexp.MustCompile(`(?i)\b(bearer|basic)\s+[\w.~+/=-]+`),         // a header
		regexp.MustCompile(`(https?://)[^/\s:@]+:[^/\s@]+@`),             // a password in an address
		regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----.*`),       // a key on one line
		regexp.MustCompile(`(?i)\b(sig|sv|se|sp|skoid|sktid)=[^&\s"']+`), // a shared access signature
		regexp.MustCompile(`(?i)[\w.-]*(token|passw(or)?d|secret|[_-]key|apikey|accesskey|accountkey|credentials?)[\w.-]*["']?\s*=\s*("[^"]*"?|'[^']*'?|\S+)`),
		regexp.MustCompile(`(?i)[\w.-]*(passw(or)?d|secret|[_-]key|apikey|accesskey|accountkey)["']?:\s*("[^"]*"?|'[^']*'?|\S+)`),
		regexp.MustCompile(`(?i)\btoken["']?:\s*["']?[\w.~+/=-]*[0-9][\w.~+/=-]*`),
		regexp.MustCompile(`(?i)\B--?[\w-]*(token|password|secret|key)\s+[^\s-]\S*`),
	}

	// blobs are long runs of base64, as of keys and of signatures. A run with capitals, small letters and digits is no path.
	blobs = regexp.MustCompile(`[A-Za-z0-9+/_-]{32,}={0,2}`)
)

// hidden stands for a secret.
const hidden = "(hidden)"

// Clean is a line of another's text as it may be kept and shown: of printable characters, without escapes, bounded, and with what looks like a
// secret hidden.
func Clean(line string) string {
	line = plain(line)
	for _, secret := range secrets {
		line = secret.ReplaceAllString(line, hidden)
	}
	line = blobs.ReplaceAllStringFunc(line, func(run string) string {
		if strings.ContainsFunc(run, unicode.IsUpper) && strings.ContainsFunc(run, unicode.IsLower) && strings.ContainsFunc(run, unicode.IsDigit) {
			return hidden
		}
		return run
	})
	if len(line) <= mostLine {
		return line
	}
	cut := mostLine - len("…")
	for !utf8.RuneStart(line[cut]) {
		cut--
	}
	return line[:cut] + "…"
}

// plain is a line of printable characters, without escapes, and not endless.
func plain(line string) string {
	if len(line) > 16*mostLine { // what comes after costs no time; the last word goes, which may be half of a secret
		line = line[:16*mostLine]
		line = line[:max(0, strings.LastIndexByte(line, ' '))]
	}
	line = escapes.ReplaceAllString(strings.ToValidUTF8(line, "\uFFFD"), "")
	return strings.Join(strings.FieldsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }), " ")
}
