package main

import (
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// notYet are the declarations of public packages that show a type of an internal package,
// which importers can neither make nor name. The list may get shorter, never longer.
var notYet = []string{}

// TestPublicPackagesShowNothingInternal sees that importers can use all that public
// packages export. An alias in a public package is a way to show an internal type.
func TestPublicPackagesShowNothingInternal(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for name, p := range publicPackages(t) {
		for _, top := range p.Scope().Names() {
			if o := p.Scope().Lookup(top); o.Exported() {
				s := shown{found: found, seen: map[types.Type]bool{}}
				s.object(name+"."+top, o)
			}
		}
	}
	for what := range found {
		if !slices.Contains(notYet, what) {
			t.Errorf("%s, which importers cannot name", what)
		}
	}
	for _, what := range notYet {
		if !found[what] {
			t.Errorf("%q is no longer so: take it out of the list", what)
		}
	}
}

// publicPackages returns the types of all packages that importers can use.
func publicPackages(t *testing.T) map[string]*types.Package {
	t.Helper()
	args := []string{"list", "-deps", "-export", "-f", "{{.ImportPath}} {{.Export}}"}
	var public []string
	for name := range allowed {
		if !strings.HasPrefix(name, "cmd/") && !isInternal(name) {
			public = append(public, name)
			args = append(args, module+name)
		}
	}
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = file
	}
	i := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	packages := map[string]*types.Package{}
	for _, name := range public {
		if packages[name], err = i.Import(module + name); err != nil {
			t.Fatal(err)
		}
	}
	return packages
}

func isInternal(name string) bool { return strings.Contains("/"+name+"/", "/internal/") }

// shown collects the internal types that a declaration shows.
type shown struct {
	found map[string]bool
	seen  map[types.Type]bool
}

// object looks at a declaration at the top of a public package.
func (s *shown) object(name string, o types.Object) {
	named, ok := o.(*types.TypeName)
	switch {
	case !ok:
		s.typ(name, o.Type())
	case !named.IsAlias():
		s.parts(name, o.Type().(*types.Named))
	}
}

// parts looks at what a named type has for importers.
func (s *shown) parts(name string, n *types.Named) {
	if s.seen[n] {
		return
	}
	s.seen[n] = true
	s.typ(name, n.Underlying())
	for m := range n.Methods() {
		if m.Exported() {
			s.typ(name+"."+m.Name(), m.Type())
		}
	}
}

func (s *shown) typ(name string, t types.Type) {
	switch t := t.(type) {
	case *types.Alias:
		s.named(name, t.Obj(), t.TypeArgs())
		if !t.Obj().Exported() {
			s.typ(name, t.Rhs())
		}
	case *types.Named:
		s.named(name, t.Obj(), t.TypeArgs())
		if o := t.Obj(); o.Pkg() != nil && strings.HasPrefix(o.Pkg().Path(), module) && !o.Exported() {
			s.parts(name, t) // nobody can name it, but anybody can use what it has
		}
	case *types.Map:
		s.typ(name, t.Key())
		s.typ(name, t.Elem())
	case interface{ Elem() types.Type }: // pointers, slices, arrays and channels
		s.typ(name, t.Elem())
	case *types.Signature:
		for v := range t.Params().Variables() {
			s.typ(name, v.Type())
		}
		for v := range t.Results().Variables() {
			s.typ(name, v.Type())
		}
		for p := range t.TypeParams().TypeParams() {
			s.typ(name, p.Constraint())
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() || f.Embedded() {
				s.typ(name+"."+f.Name(), f.Type())
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			if m.Exported() {
				s.typ(name+"."+m.Name(), m.Type())
			}
		}
		for e := range t.EmbeddedTypes() {
			s.typ(name, e)
		}
	case *types.Union:
		for term := range t.Terms() {
			s.typ(name, term.Type())
		}
	}
}

// named looks at the name of a type, and at what it was made for.
func (s *shown) named(name string, o *types.TypeName, args *types.TypeList) {
	if o.Pkg() != nil {
		if own, ok := strings.CutPrefix(o.Pkg().Path(), module); ok && isInternal(own) {
			s.found[name+" shows "+own+"."+o.Name()] = true
		}
	}
	for arg := range args.Types() {
		s.typ(name, arg)
	}
}
