package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/wellspring-sync/wellspring/generator"
	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/httpclient"
	"github.com/wellspring-sync/wellspring/internal/links"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// setTables takes what the file of settings says that no flag does.
func (l *loaded) setTables(o *generator.Options) (err error) {
	text, origin := l.text("described_by")
	if o.DescribedBy, err = aboutURI(o, text); err != nil {
		return fmt.Errorf("%s: %w", origin, err)
	}
	o.Hub, origin = l.text("hub")
	if _, err := parseHub(o.Hub); err != nil {
		return fmt.Errorf("%s: hub: %w", origin, err)
	}
	o.SettingsFile = l.file.Name
	for _, set := range []func(*generator.Options) error{l.setLinks, l.setSets, l.setBeside, l.setResources} {
		if err := set(o); err != nil {
			return err
		}
	}
	return nil
}

func (l *loaded) setResources(o *generator.Options) error {
	for _, r := range l.file.Resources {
		match, err := globs("match", r.Match)
		if err != nil {
			return fmt.Errorf("%s: %w", l.at(r.Line), err)
		}
		o.Resources = append(o.Resources, policy.ResourceRule{Name: l.at(r.Line), Match: match, ChangeFreq: r.ChangeFreq, Encoding: r.Encoding, Strip: r.Strip})
	}
	return nil
}

// at names a line of the file.
func (l *loaded) at(line int) string { return fmt.Sprintf("%s:%d", l.file.Name, line) }

// aboutURI returns the URI of what describes a Source or a set of resources.
func aboutURI(o *generator.Options, text string) (string, error) {
	if text == "" || resourcesync.IsURI(text) {
		return text, nil
	}
	name := strings.TrimPrefix(text, "/")
	if info, err := os.Stat(filepath.Join(o.Source, filepath.FromSlash(name))); !fs.ValidPath(name) || err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("described_by is %q, which is neither a URI nor a file of the source", text)
	}
	own, err := layout.New(o.Identity)
	if err != nil {
		return "", err
	}
	return own.URI(name), nil
}

// relativeTo makes the name of a file relative to the file of settings.
func (l *loaded) relativeTo(name string) string {
	if name == "" || httpclient.IsURL(name) || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(l.file.Name), name)
}

func (l *loaded) setLinks(o *generator.Options) (err error) {
	for _, link := range l.file.Links {
		pri := 0
		if link.Pri != nil {
			pri = *link.Pri
		}
		o.Links = append(o.Links, policy.LinkRule{
			Name: l.at(link.Line), Match: link.Match, Rel: link.Rel, Href: link.Href, File: link.File,
			Pri: pri, Type: link.Type, Profile: link.Profile, List: l.relativeTo(link.List),
		})
	}
	_, err = links.New(o.Links) // which checks them
	return err
}
