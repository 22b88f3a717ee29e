package main

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/wellspring-sync/wellspring/generator"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/relation"
	"github.com/wellspring-sync/wellspring/scanner"
)

// setTables takes what the file of settings says that no flag does.
func (l *loaded) setTables(o *generator.Options) error {
	if l.file == nil {
		return nil
	}
	if err := l.setDescribedBy(o); err != nil {
		return err
	}
	if err := l.setLinks(o); err != nil {
		return err
	}
	for i := range l.file.Resources {
		r := &l.file.Resources[i]
		rule := generator.FreqRule{Name: l.at(r.Line), Value: r.ChangeFreq}
		for _, pattern := range r.Match {
			g, err := scanner.NewGlob(pattern)
			if err != nil {
				return fmt.Errorf("%s: match: %w", rule.Name, err)
			}
			rule.Match = append(rule.Match, g)
		}
		o.ChangeFreq = append(o.ChangeFreq, rule)
	}
	return nil
}

// at names a line of the file.
func (l *loaded) at(line int) string { return fmt.Sprintf("%s:%d", l.file.Name, line) }

func (l *loaded) setDescribedBy(o *generator.Options) error {
	text := l.file.DescribedBy
	if text == "" {
		return nil
	}
	if u, err := url.Parse(text); err == nil && u.IsAbs() {
		o.DescribedBy = u.String()
		return nil
	}
	own, err := layout.New(o.Identity)
	if err != nil {
		return err
	}
	o.DescribedBy = own.URI(strings.TrimPrefix(text, "/"))
	return nil
}

// relativeTo makes the name of a file relative to the file of settings.
func (l *loaded) relativeTo(name string) string {
	if name == "" || isURL(name) || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(l.file.Name), name)
}

func (l *loaded) setLinks(o *generator.Options) (err error) {
	if len(l.file.Links) == 0 {
		return nil
	}
	var rules []relation.Rule
	for _, link := range l.file.Links {
		rules = append(rules, relation.Rule{
			Name: l.at(link.Line), Match: link.Match, Rel: link.Rel, Href: link.Href, File: link.File,
			Pri: link.Pri, Type: link.Type, Profile: link.Profile, List: l.relativeTo(link.List),
		})
	}
	o.Links, err = relation.New(rules)
	return err
}
