package verify

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// Severity says how much a finding matters.
type Severity int

// The severities: of what a specification says that must be, of what it says that
// should be, and of what makes a publication better to use.
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
	Rule *Rule
	// Document is the URI of the document in which it was found, or of what else
	// was found wrong.
	Document string
	// File is the document's path in the directory that was audited, or empty.
	File string
	// Line and Column are counted from 1 and in bytes. Zero stands for the
	// document as a whole.
	Line, Column int
	// Message says what was found, and what was expected.
	Message string
	// Value is what the message is about, or empty.
	Value string
	// Hint says what to do about it, where that is not plain. It may be empty.
	Hint string

	order int // of the document
}

// Report is what an audit found.
type Report struct {
	// Place is what was audited, without anything secret.
	Place string
	// What was looked at.
	Documents  int   // that were read
	Entries    int   // in these
	Packages   int   // that were opened
	Bitstreams int   // in these, that were compared
	Resources  int   // that were compared with what is stated
	Unread     int   // of the resources that were listed: those that were not looked at
	Bytes      int64 // that were read
	// Findings are in the order of the walk through the documents, and within a
	// document from its beginning to its end. No rule has more of them than
	// Limits say; More counts those that were left out, by the name of the rule.
	Findings []Finding
	More     map[string]int
	// How many there are of each severity, with those left out.
	Errors, Warnings, Notes int
}

// findings collects what is found. It may be used concurrently.
type findings struct {
	mu   sync.Mutex
	most int
	all  []Finding
	n    map[*Rule]int
}

func (f *findings) add(found Finding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n[found.Rule]++; f.n[found.Rule] <= f.most {
		found.Value = clip(found.Value)
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
		if n > f.most {
			r.More[rule.Name] = n - f.most
		}
	}
}

// mostShown is how much of a hostile value stands in a message, in bytes.
const mostShown = 200

func clip(s string) string {
	if len(s) <= mostShown {
		return s
	}
	return strings.ToValidUTF8(s[:mostShown], "") + "…"
}
