package verify

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/wellspring-sync/wellspring/internal/httpclient"
)

// WriteJUnit writes the findings in the XML of JUnit, which CI servers show. Each
// rule is a test case; errors and warnings are its failures.
func (r *Report) WriteJUnit(w io.Writer) error {
	suite := junitSuite{Name: "wellspring verify " + xmlText(r.Place), Tests: len(rules)}
	byRule := map[*Rule][]string{}
	for i := range r.Findings {
		f := &r.Findings[i]
		byRule[f.Rule] = append(byRule[f.Rule], f.junitLine())
	}
	for _, rule := range rules {
		c := junitCase{Name: rule.Name + ": " + rule.Title, Class: "verify." + rule.Severity.String()}
		if found := byRule[rule]; len(found) > 0 && rule.Severity > Note {
			more := ""
			if n := r.More[rule.Name]; n > 0 {
				more = fmt.Sprintf("\n… and %d more", n)
			}
			suite.Failures++
			c.Failure = &junitFailure{
				Message: fmt.Sprintf("%d found; %s", len(found)+r.More[rule.Name], rule.Section), Type: rule.Severity.String(),
				Text: strings.Join(found, "\n") + more,
			}
		}
		suite.Cases = append(suite.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(junitSuites{Suites: []junitSuite{suite}}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (f *Finding) junitLine() string {
	at := f.where()
	if f.Line > 0 {
		at += fmt.Sprintf(":%d:%d", f.Line, f.Column)
	}
	return xmlText(at + ": " + f.text())
}

// xmlText replaces what cannot stand in XML.
func xmlText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0xfffe || r == 0xffff {
			return '\ufffd'
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}

// escapePath makes a URI reference of a path.
func escapePath(s string) string {
	if httpclient.IsURL(s) {
		return s
	}
	return (&url.URL{Path: s}).EscapedPath()
}

type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Failure *junitFailure `xml:"failure"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)
