// Package templates has the texts for people and hosts. Documents of the standard are
// never made from templates.
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
