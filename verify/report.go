package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Severity says how much a finding matters.
type Severity int

// The severities: of what a specification says that must be, or what keeps a
// Destination or the audit from going on; of what it says that should be; and of what
// it recommends.
const (
	Note Severity = iota + 1
	Warning
	Error
)

func (s Severity) String() string {
	return map[Severity]string{Note: "note", Warning: "warning", Error: "error"}[s]
}

// Finding is one deviation from one rule.
type Finding struct {
	Rule *Rule `json:"-"`
	// Document is the URI of the document in which it was found, or of what else
	// was found wrong.
	Document string `json:"document"`
	// File is the document's path in the directory that was audited, or empty.
	File string `json:"file,omitempty"`
	// Line and Column are counted from 1 and in bytes. Zero stands for the
	// document as a whole.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Message says what was found, and what was expected.
	Message string `json:"message"`
	// Value is what the message is about, or empty.
	Value string `json:"value,omitempty"`
	// Hint says what to do about it, where that is not plain. It may be empty.
	Hint string `json:"hint,omitempty"`

	order int // of the document
}

// Report is what an audit found. As JSON it says what was looked at and how much was found;
// the names there are stable.
type Report struct {
	// Place is what was audited, without anything secret.
	Place string `json:"place"`
	// What was looked at.
	Documents  int   `json:"documents"`              // that were read
	Entries    int   `json:"entries"`                // in these
	Packages   int   `json:"packages"`               // that were opened
	Bitstreams int   `json:"bitstreams"`             // in these, that were compared
	Linked     int   `json:"linked"`                 // mementos, patches and TimeMaps to which links lead that were looked at
	Resources  int   `json:"resources"`              // that were compared with what is stated
	Unread     int   `json:"resources_not_compared"` // of the resources that were listed: those that were not looked at
	Bytes      int64 `json:"bytes"`                  // that were read
	// How many there are of each severity, with those left out.
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Notes    int `json:"notes"`
	// Findings are in the order of the walk through the documents, and within a
	// document from its beginning to its end. No rule has more of them than
	// Limits say; More counts those that were left out, by the name of the rule.
	Findings []Finding      `json:"-"`
	More     map[string]int `json:"-"`
}

// findings collects what is found. It may be used concurrently.
type findings struct {
	mu   sync.Mutex
	most int
	// secret is the query of the URL that the user gave, or empty.
	secret string
	all    []Finding
	n      map[*Rule]int
	// kept are those in all, which has nKept of each rule: what several sets of
	// resources share is judged once for each, and told once.
	kept  map[findingKey]bool
	nKept map[*Rule]int
}

// findingKey is what makes two findings the same.
type findingKey struct {
	rule           *Rule
	document, file string
	line, column   int
	message        string
}

func (f *findings) reset() {
	f.all, f.n, f.kept, f.nKept = nil, map[*Rule]int{}, map[findingKey]bool{}, map[*Rule]int{}
}

func (f *findings) add(found Finding) {
	if f.secret != "" {
		for _, s := range []*string{&found.Document, &found.Message, &found.Value} {
			*s = strings.ReplaceAll(*s, f.secret, "…")
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	key := findingKey{found.Rule, found.Document, found.File, found.Line, found.Column, found.Message}
	if f.kept[key] {
		return
	}
	f.n[found.Rule]++
	if f.nKept[found.Rule] < f.most { // though some may have been counted only
		f.nKept[found.Rule]++
		f.kept[key] = true
		found.Value, found.Message, found.Document = visible(clip(found.Value)), visible(found.Message), visible(found.Document)
		f.all = append(f.all, found)
	}
}

// count counts a finding that is not kept.
func (f *findings) count(r *Rule) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n[r]++
}

// into sorts the findings and puts them into a report.
func (f *findings) into(r *Report) {
	slices.SortStableFunc(f.all, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(x.order, y.order), cmp.Compare(x.Line, y.Line), cmp.Compare(x.Column, y.Column),
			cmp.Compare(x.Rule.Name, y.Rule.Name), strings.Compare(x.Message, y.Message))
	})
	r.Findings = f.all
	r.More = map[string]int{}
	for rule, n := range f.n {
		switch rule.Severity {
		case Error:
			r.Errors += n
		case Warning:
			r.Warnings += n
		case Note:
			r.Notes += n
		}
		if more := n - f.nKept[rule]; more > 0 {
			r.More[rule.Name] = more
		}
	}
}

// visible replaces control characters, so that what others wrote cannot pass for
// what is said here, nor steer a terminal.
func visible(s string) string {
	isControl := func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' }
	if strings.IndexFunc(s, isControl) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\ufffd") {
		if isControl(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// mostShown is how much of a hostile value stands in a message, in bytes.
const mostShown = 200

func clip(s string) string {
	if len(s) <= mostShown {
		return s
	}
	return strings.ToValidUTF8(s[:mostShown], "") + "…"
}
