package main

import (
	"fmt"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wellspring-sync/wellspring/generator"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/templates"
)

// setPage takes how the page for people is made. A template that cannot work is found
// before anything is read.
func (f *sourceFlags) setPage(o *generator.Options) error {
	if !utf8.ValidString(f.pageTitle) || strings.ContainsFunc(f.pageTitle, unicode.IsControl) {
		return fmt.Errorf("--page-title is %q, which has characters in it that no page can show", f.pageTitle)
	}
	o.Page = policy.Page{Title: strings.TrimSpace(f.pageTitle)}
	switch f.page {
	case "":
		return nil
	case "none":
		o.Page.None = true
		return nil
	}
	info, err := os.Stat(f.page)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > templates.MaxPage) {
		return fmt.Errorf("--page: %s is not a file, or longer than 1 MiB", f.page)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(f.page)
	}
	if err != nil {
		return fmt.Errorf("--page: %s: %w", f.page, reason(err))
	}
	o.Page.File = f.page
	if o.Page.Template, err = templates.ParsePage(f.page, string(text)); err != nil {
		return fmt.Errorf("--page: %w", err)
	}
	return nil
}
