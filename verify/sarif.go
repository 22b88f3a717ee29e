package verify

import (
	"encoding/json"
	"io"
)

// WriteSARIF writes the findings as SARIF 2.1.0, which code hosts show beside the
// files. Notes are among them.
func (r *Report) WriteSARIF(w io.Writer, release string) error {
	driver := sarifDriver{
		Name: "wellspring verify", Version: release,
		InformationURI: "https://github.com/wellspring-sync/wellspring",
	}
	index := map[*Rule]int{}
	for i, rule := range rules {
		index[rule] = i
		driver.Rules = append(driver.Rules, sarifRule{
			ID: rule.Name, Short: sarifText{rule.Title}, Full: sarifText{rule.Explanation},
			Configuration: map[string]string{"level": rule.Severity.String()}, Properties: map[string]string{"section": rule.Section},
		})
	}
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver = driver
	for i := range r.Findings {
		f := &r.Findings[i]
		run.Results = append(run.Results, sarifResult{
			RuleID: f.Rule.Name, RuleIndex: index[f.Rule], Level: f.Rule.Severity.String(),
			Message: sarifText{f.text()}, Locations: []sarifLocation{f.sarifLocation()},
		})
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
}

// text is the message with what to do about it.
func (f *Finding) text() string {
	if f.Hint == "" {
		return f.Message
	}
	return f.Message + ". " + f.Hint
}

// where returns the file, or else the URI, of a finding.
func (f *Finding) where() string {
	if f.File != "" {
		return f.File
	}
	return f.Document
}

func (f *Finding) sarifLocation() sarifLocation {
	var l sarifLocation
	l.Physical.Artifact.URI = escapePath(f.where())
	if f.Line > 0 {
		l.Physical.Region = &sarifRegion{f.Line, f.Column}
	}
	return l
}

// What of SARIF is used. See its §3.13 and following.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver sarifDriver `json:"driver"`
		} `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID            string            `json:"id"`
		Short         sarifText         `json:"shortDescription"`
		Full          sarifText         `json:"fullDescription"`
		Configuration map[string]string `json:"defaultConfiguration"`
		Properties    map[string]string `json:"properties"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		Physical struct {
			Artifact struct {
				URI string `json:"uri"`
			} `json:"artifactLocation"`
			Region *sarifRegion `json:"region,omitempty"`
		} `json:"physicalLocation"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
	}
)
