package last

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/httpclient"
	"github.com/wellspring-sync/wellspring/internal/publish"
	"github.com/wellspring-sync/wellspring/internal/remote"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
)

// elsewhere is a publication that is not in the output directory.
type elsewhere struct {
	fs.FS
	fetching func(ctx context.Context, files []snapshot.File) error
	closing  func() error
}

// fetch has files ready to be opened.
func (e *elsewhere) fetch(ctx context.Context, files []snapshot.File) error {
	return e.fetching(ctx, files)
}

func (e *elsewhere) close() error { return e.closing() }

// here is a publication all of whose files are there.
func here(files fs.FS) *elsewhere {
	return &elsewhere{files, func(context.Context, []snapshot.File) error { return nil }, func() error { return nil }}
}

// fetchFolder holds what was fetched and is not taken over yet.
const fetchFolder = publish.Folder + "/previous"

// openElsewhere opens the last publication. What is fetched is kept in a folder, or in a
// temporary one.
func (p *Place) openElsewhere(ctx context.Context, dir *os.Root) (*elsewhere, error) {
	from := &p.Previous
	if !httpclient.IsURL(from.Place) {
		root, err := os.OpenRoot(from.Place)
		if errors.Is(err, fs.ErrNotExist) { // so is the publication
			return here(os.DirFS(from.Place)), nil
		}
		if err != nil {
			return nil, fmt.Errorf("opening the last publication: %w", err)
		}
		e := here(root.FS())
		e.closing = root.Close
		return e, nil
	}
	files, err := remote.Open(ctx, from.Place, dir, remote.Options{
		Header: from.Header, Retries: from.Retries, Release: p.Release, Log: p.Log,
		IsBody: layout.IsWrittenOnce,
	})
	if err != nil {
		return nil, err
	}
	return &elsewhere{files, func(ctx context.Context, list []snapshot.File) error {
		wants := make([]remote.Want, len(list))
		for i, f := range list {
			wants[i] = remote.Want{Path: f.Path, Length: f.Length, SHA256: f.SHA256, Optional: f.Retired}
		}
		return files.Fetch(ctx, wants)
	}, files.Close}, nil
}

// begin locks the output directory of a publication, and completes an interrupted commit.
func (p *Place) begin(ctx context.Context, l layout.Layout) (*publish.Tx, error) {
	return publish.Begin(ctx, p.Out, publish.Options{LockTimeout: p.LockTimeout, Log: p.Log, Owns: func(name string, named func(path string) bool) bool {
		return layout.IsOwnedBeside(name, named) || l.IsForPeople(name)
	}})
}

// checkPending makes sure that no commit is interrupted, which only a build completes.
func (p *Place) checkPending() error {
	if publish.Pending(p.Out) {
		return fmt.Errorf("an interrupted run left a commit in %s that the next build has to complete first", p.Out)
	}
	return nil
}

// makeFolder makes the folder for what is fetched.
func makeFolder(root *os.Root) (dir *os.Root, remove func(), err error) {
	if err := root.RemoveAll(fetchFolder); err != nil { // of a run that was killed
		return nil, nil, fmt.Errorf("clearing what was fetched before: %w", err)
	}
	if err := root.Mkdir(fetchFolder, 0o700); err != nil {
		return nil, nil, fmt.Errorf("making room for what is fetched: %w", err)
	}
	if dir, err = root.OpenRoot(fetchFolder); err != nil {
		return nil, nil, err
	}
	return dir, func() { dir.Close(); root.RemoveAll(fetchFolder) }, nil
}

// read fetches the heads of a publication and finds out what it consists of.
func (e *elsewhere) read(ctx context.Context, l layout.Layout, hasNames bool, warn warner) ([]snapshot.File, error) {
	if !hasNames {
		return e.readSet(ctx, l, l, warn, l.Record(), l.SourceDescription())
	}
	if err := e.fetch(ctx, optional(l.Record(), l.SourceDescription())); err != nil {
		return nil, err
	}
	sets, err := snapshot.OpenSetsElsewhere(e, l)
	if err != nil {
		return nil, err
	}
	var files []snapshot.File
	for _, folder := range sets.Folders {
		set, err := l.OfSet(folder)
		if err != nil {
			return nil, err
		}
		more, err := e.readSet(ctx, set, l, warn, set.Record())
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	seen := map[string]bool{}
	files = slices.DeleteFunc(files, func(f snapshot.File) bool { // sets share versions and patches
		again := seen[f.Path]
		seen[f.Path] = true
		return again
	})
	return append(files, sets.Files()...), nil
}

// readSet fetches the heads of a set in the publication with a layout of its own, and some
// documents that come first, and returns all files of the set.
func (e *elsewhere) readSet(ctx context.Context, l, top layout.Layout, warn warner, first ...layout.Ref) ([]snapshot.File, error) {
	heads := optional(first...)
	heads = append(heads, optional(l.CapabilityList(), l.ResourceList(), l.ChangeList(), l.ResourceDump(), l.ChangeDump())...)
	if err := e.fetch(ctx, heads); err != nil {
		return nil, err
	}
	s, err := snapshot.OpenElsewhere(e, l)
	if err != nil {
		return nil, err
	}
	return e.filesOf(ctx, s, top, warn)
}

// optional are files that need not be there.
func optional(refs ...layout.Ref) (files []snapshot.File) {
	for _, ref := range refs {
		files = append(files, snapshot.File{Path: ref.Path, Retired: true})
	}
	return files
}

func (p *Place) refuseFirst() error {
	return &policy.Refusal{Why: fmt.Sprintf("there is a publication in %s already: go on from it, without --first-run", p.name())}
}

// plain returns the error of a server alone, which says nothing of the
// publication.
func plain(err error) error {
	if e, ok := errors.AsType[*remote.Error](err); ok {
		return e
	}
	return err
}

// RefuseIdentity makes a refusal of an error that says that the publication has
// another identity.
func RefuseIdentity(err error) error {
	if identity, ok := errors.AsType[*snapshot.IdentityError](err); ok {
		return &policy.Refusal{Why: identity.Error(), Flag: "--rebase"}
	}
	return err
}

// name says where the last publication is, without a password.
func (p *Place) name() string {
	return httpclient.Redacted(cmp.Or(p.Previous.Place, p.Out))
}

// leavesBodies reports whether bodies stay where the last publication is.
func (p *Place) leavesBodies() bool {
	return p.Previous.Place != "" && p.Previous.LeaveBodies && !p.DryRun
}

// mustHave reports whether it is an error if nothing was published.
func (p *Place) mustHave() bool {
	return !p.Previous.First && (p.Previous.Required || p.Previous.Place != "")
}

// recordElsewhere returns the record of the last publication as it is now.
func (p *Place) recordElsewhere(ctx context.Context, l layout.Layout) ([]byte, error) {
	from, err := p.openElsewhere(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer from.close()
	b, err := snapshot.ReadFile(from, l.Record().Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}
