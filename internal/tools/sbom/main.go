// Command sbom writes what a Go program was made of as a bill of materials in the form
// of CycloneDX 1.6, out of what the linker put into the program itself. The same program
// gives the same bytes: there is no time and no serial number in it.
//
//	go run ./internal/tools/sbom PROGRAM FILE
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"runtime/debug"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sbom PROGRAM FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(program, file string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	digest, err := digestOf(program)
	if err != nil {
		return err
	}
	b, err := json.MarshalIndent(materials(info, digest), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(b, '\n'), 0o644)
}

func digestOf(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("reading %s: %w", name, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// bill is a bill of materials, as far as it can be told from a program.
type bill struct {
	Format       string       `json:"bomFormat"`
	Version      string       `json:"specVersion"`
	Edition      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	Scope      string     `json:"scope,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// materials describes a program with a SHA-256 digest.
func materials(info *debug.BuildInfo, digest string) bill {
	program := library(info.Main.Path, info.Main.Version)
	program.Type, program.Scope, program.Name = "application", "", path.Base(info.Path)
	program.Hashes = []hash{{"SHA-256", digest}}
	for _, s := range info.Settings {
		if strings.HasPrefix(s.Key, "vcs") || strings.HasPrefix(s.Key, "GO") || s.Key == "CGO_ENABLED" {
			program.Properties = append(program.Properties, property{"go:build:" + s.Key, s.Value})
		}
	}
	b := bill{Format: "CycloneDX", Version: "1.6", Edition: 1, Metadata: metadata{program}}
	b.Components = []component{library("std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := library(m.Path, m.Version)
		c.Properties = []property{{"go:module:sum", m.Sum}}
		b.Components = append(b.Components, c)
	}
	all := dependency{Ref: program.Ref, DependsOn: []string{}}
	for _, c := range b.Components {
		all.DependsOn = append(all.DependsOn, c.Ref)
	}
	b.Dependencies = []dependency{all}
	return b
}

// library is a module as a part of a program.
func library(name, version string) component {
	url := "pkg:golang/" + name
	if version != "" {
		url += "@" + strings.ReplaceAll(version, "+", "%2B")
	}
	return component{Type: "library", Ref: url, Name: name, Version: version, Scope: "required", PURL: url}
}
