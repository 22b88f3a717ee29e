// Package templates has the texts that a Source needs besides the documents of the
// standard: the page for people with its style sheet, the configuration of web servers,
// the scripts of uploads. It fills them in and returns them. It writes no files, gathers
// nothing of what they say, and never makes XML: documents come from package resourcesync.
package templates

import (
	"embed"
	"fmt"
	"strings"
	"text/template"
)

//go:embed *.tmpl
var files embed.FS

var all = template.Must(template.New("").Option("missingkey=error").
	Funcs(template.FuncMap{"sh": ShellQuote}).ParseFS(files, "*.tmpl"))

// Render returns the text of a template, such as nginx, for some data. It is safe for
// concurrent use. Only sh, for words of shell commands, quotes what it inserts.
func Render(name string, data any) (string, error) {
	var b strings.Builder
	if err := all.ExecuteTemplate(&b, name+".tmpl", data); err != nil {
		return "", fmt.Errorf("the template %s: %w", name, err)
	}
	return b.String(), nil
}

// ShellQuote makes one word of a text, for shells as POSIX has them.
func ShellQuote(s string) string {
	plain := strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-:") == ""
	if plain && s != "" && s[0] != '-' {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
