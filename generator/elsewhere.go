package generator

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/wellspring-sync/wellspring/internal/httpclient"
	"github.com/wellspring-sync/wellspring/internal/publish"
	"github.com/wellspring-sync/wellspring/internal/remote"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/zipdump"
)

// Previous says where the last publication is, if not in the output directory.
type Previous struct {
	// Place is a directory, or an http or https URL: where the publication was
	// uploaded to. It is empty for the output directory itself.
	Place string
	// Header is sent to a server, for credentials.
	Header http.Header
	// First begins a new history, and is refused where there is one.
	First bool
	// LeaveBodies takes over the heads alone, for places to which one only
	// adds. What must not be removed there is named in RetainedFile.
	LeaveBodies bool
	// Required makes it an error if there is no publication to go on from.
	Required bool

	retries int // as remote.Options has it, for tests
}

// MissingError says that there is no publication to go on from.
type MissingError struct{ Place string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("there is no publication in %s to go on from", e.Place)
}

// elsewhere is a publication that is not in the output directory.
type elsewhere struct {
	fs.FS
	fetch func(ctx context.Context, files []snapshot.File) error
	close func() error
}

// fetchFolder holds what was fetched and is not taken over yet.
const fetchFolder = publish.Folder + "/previous"

// openElsewhere opens the last publication. What is fetched is kept in a folder, or in
// a temporary one.
func (r *run) openElsewhere(ctx context.Context, dir *os.Root) (*elsewhere, error) {
	p := &r.o.Previous
	if !httpclient.IsURL(p.Place) {
		root, err := os.OpenRoot(p.Place)
		if errors.Is(err, fs.ErrNotExist) { // so is the publication
			return &elsewhere{os.DirFS(p.Place), fetchNothing, func() error { return nil }}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("opening the last publication: %w", err)
		}
		return &elsewhere{root.FS(), fetchNothing, root.Close}, nil
	}
	files, err := remote.Open(ctx, p.Place, dir, remote.Options{
		Header: p.Header, Retries: p.retries, Release: r.o.Release, Log: r.o.Log,
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

func fetchNothing(context.Context, []snapshot.File) error { return nil }

// openFar has a dry run look at the last publication where it is.
func (r *run) openFar(ctx context.Context) (closeOut func(), err error) {
	from, err := r.openElsewhere(ctx, nil)
	if err != nil {
		return nil, err
	}
	r.out = from
	return func() { from.close() }, nil
}

// carry brings the last publication into the output directory, as it is, so that
// the run goes on from there. It is a commit of its own.
func (r *run) carry(ctx context.Context) error {
	tx, err := publish.Begin(ctx, r.o.Out, r.publishOptions())
	if err != nil {
		return err
	}
	r.report.Recovered = tx.Recovered
	defer tx.Close()
	dir, remove, err := makeFolder(tx.Root())
	if err != nil {
		return err
	}
	defer remove()
	from, err := r.openElsewhere(ctx, dir)
	if err != nil {
		return err
	}
	defer from.close()
	files, err := r.filesElsewhere(ctx, from)
	if err != nil || files == nil {
		return err
	}
	c := &carrier{tx: tx, from: from, dir: dir, out: tx.Root().FS()}
	if r.o.Previous.LeaveBodies {
		files = slices.DeleteFunc(files, func(f snapshot.File) bool { return f.Body })
	}
	for len(files) > 0 {
		n := min(len(files), carriedAtOnce)
		if err := c.carry(ctx, files[:n]); err != nil {
			return fmt.Errorf("taking over the last publication: %w", plain(err))
		}
		files = files[n:]
	}
	if c.carried == 0 {
		return nil
	}
	r.removeOther(tx, c.names)
	return tx.Commit(ctx)
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

// filesElsewhere returns what the last publication consists of, or nil if there is
// none and a new history begins.
func (r *run) filesElsewhere(ctx context.Context, from *elsewhere) ([]snapshot.File, error) {
	files, err := r.readElsewhere(ctx, from)
	switch {
	case errors.Is(err, snapshot.ErrNone) && r.o.Previous.First:
		return nil, nil
	case errors.Is(err, snapshot.ErrNone):
		return nil, &MissingError{r.place()}
	case err != nil:
		return nil, refuseIdentity(fmt.Errorf("reading the last publication: %w", plain(err)))
	case r.o.Previous.First:
		return nil, r.refuseFirst()
	}
	return files, nil
}

// readElsewhere fetches the heads of a publication and finds out what it consists of.
func (r *run) readElsewhere(ctx context.Context, from *elsewhere) ([]snapshot.File, error) {
	l := r.layout
	if !r.hasNames() {
		if err := from.fetchHeads(ctx, l, l.Record(), l.SourceDescription()); err != nil {
			return nil, err
		}
		s, err := snapshot.OpenElsewhere(from, l)
		if err != nil {
			return nil, err
		}
		return r.filesOf(ctx, s, from)
	}
	if err := from.fetch(ctx, optional(l.Record(), l.SourceDescription())); err != nil {
		return nil, err
	}
	sets, err := snapshot.OpenSetsElsewhere(from, l)
	if err != nil {
		return nil, err
	}
	var files []snapshot.File
	for _, folder := range sets.Folders {
		set, err := l.OfSet(folder)
		if err != nil {
			return nil, err
		}
		if err := from.fetchHeads(ctx, set, set.Record()); err != nil {
			return nil, err
		}
		s, err := snapshot.OpenElsewhere(from, set)
		if err != nil {
			return nil, err
		}
		more, err := r.filesOf(ctx, s, from)
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

// fetchHeads fetches the documents with fixed names, and some more that come first.
func (e *elsewhere) fetchHeads(ctx context.Context, l layout.Layout, first ...layout.Ref) error {
	heads := optional(first...)
	heads = append(heads, optional(l.CapabilityList(), l.ResourceList(), l.ChangeList(), l.ResourceDump(), l.ChangeDump())...)
	return e.fetch(ctx, heads)
}

// optional are files that need not be there.
func optional(refs ...layout.Ref) (files []snapshot.File) {
	for _, ref := range refs {
		files = append(files, snapshot.File{Path: ref.Path, Retired: true})
	}
	return files
}

func (r *run) refuseFirst() error {
	return &Refusal{Why: fmt.Sprintf("there is a publication in %s already: go on from it, without --first-run", r.place())}
}

// plain returns the error of a server alone, which says nothing of the
// publication.
func plain(err error) error {
	if e, ok := errors.AsType[*remote.Error](err); ok {
		return e
	}
	return err
}

// place names where the last publication is, without a password.
func (r *run) place() string {
	return httpclient.Redacted(cmp.Or(r.o.Previous.Place, r.o.Out))
}

// removeOther plans to remove what another publication in the output directory
// consists of.
func (r *run) removeOther(tx *publish.Tx, kept map[string]bool) {
	files, err := r.readElsewhere(context.Background(), &elsewhere{FS: tx.Root().FS(), fetch: fetchNothing})
	if err != nil {
		return // there is none, or nothing is known of it
	}
	for _, f := range files {
		if !kept[f.Path] {
			tx.Remove(f.Path)
		}
	}
}

// carriedAtOnce is how many files are fetched before they are taken over.
const carriedAtOnce = 64

// carrier stages the files of a publication that is elsewhere.
type carrier struct {
	tx      *publish.Tx
	from    *elsewhere
	dir     *os.Root
	out     fs.FS
	carried int
	names   map[string]bool
	staged  map[string]string // the staged files, by their paths
}

// carry fetches and stages files, unless they are there already.
func (c *carrier) carry(ctx context.Context, files []snapshot.File) error {
	var missing []snapshot.File
	for _, f := range files {
		if c.names == nil {
			c.names = map[string]bool{}
		}
		c.names[f.Path] = true
		if !c.isThere(&f) {
			missing = append(missing, f)
		}
	}
	if err := c.from.fetch(ctx, missing); err != nil {
		return err
	}
	for i := range missing {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := c.stage(&missing[i]); err != nil {
			return err
		}
	}
	return nil
}

// isThere reports whether a file is in the output directory: a body by its name
// and length, a head by its digest.
func (c *carrier) isThere(f *snapshot.File) bool {
	if f.Body {
		info, err := fs.Stat(c.out, f.Path)
		if err != nil || !info.Mode().IsRegular() {
			return false
		}
		if f.Length > 0 {
			return info.Size() == f.Length
		}
		// Of versions and patches, nothing says more than their names.
		h, err := snapshot.HeadOf(c.out, f.Path)
		return err == nil && !strings.HasSuffix(f.Path, ".xml") && layout.NameAgrees(f.Path, h.SHA256)
	}
	h, err := snapshot.HeadOf(c.out, f.Path)
	return err == nil && h.SHA256 == f.SHA256
}

// stage copies a file, and compares it with what is stated of it.
func (c *carrier) stage(f *snapshot.File) error {
	in, err := c.from.Open(f.Path)
	if errors.Is(err, fs.ErrNotExist) && f.Retired {
		return nil // it is gone by now
	}
	if err != nil {
		return err
	}
	defer in.Close()
	c.carried++
	name := fmt.Sprintf("%06d", c.carried)
	out, err := c.tx.Create(name)
	if err != nil {
		return err
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, h), in)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		return fmt.Errorf("copying %s: %w", f.Path, err)
	}
	sum := hex.EncodeToString(h.Sum(nil))
	if f.SHA256 != "" && sum != f.SHA256 || f.Length > 0 && n != f.Length || f.Body && !layout.NameAgrees(f.Path, sum) {
		return fmt.Errorf("%s: %w", f.Path, remote.ErrOther)
	}
	if f.Body && f.SHA256 == "" && !f.Retired { // as nothing states that of a manifest
		if err := c.checkManifest(f.Path, name); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	if c.staged == nil {
		c.staged = map[string]string{}
	}
	c.staged[f.Path] = name
	c.tx.Put(publish.Put{Staged: name, Path: f.Path, Length: n, SHA256: sum, Body: f.Body})
	c.dir.Remove(f.Path) // if it was fetched
	return nil
}

// checkManifest compares a manifest that is staged with the one in its package,
// which was taken over before or is there.
func (c *carrier) checkManifest(path, name string) error {
	zip := strings.TrimSuffix(path, ".xml") + ".zip"
	var file interface {
		io.ReaderAt
		io.Closer
		Stat() (fs.FileInfo, error)
	}
	var err error
	if staged, ok := c.staged[zip]; ok {
		file, err = c.tx.OpenStaged(staged)
	} else {
		file, err = c.tx.Root().Open(zip)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	p, err := zipdump.Open(file, info.Size())
	if err != nil {
		return fmt.Errorf("its package: %w", err)
	}
	inside, err := p.Manifest()
	if err != nil {
		return fmt.Errorf("its package: %w", err)
	}
	defer inside.Close()
	copied, err := c.tx.OpenStaged(name)
	if err != nil {
		return err
	}
	defer copied.Close()
	return sameContent(copied, inside)
}

// sameContent returns an error if two readers give other bytes.
func sameContent(a, b io.Reader) error {
	sums := [2]hash.Hash{sha256.New(), sha256.New()}
	for i, r := range [...]io.Reader{a, b} {
		if _, err := io.Copy(sums[i], r); err != nil {
			return err
		}
	}
	if !bytes.Equal(sums[0].Sum(nil), sums[1].Sum(nil)) {
		return errors.New("it is not the manifest in its package")
	}
	return nil
}

// recordElsewhere returns the record of the last publication as it is now.
func (r *run) recordElsewhere(ctx context.Context) ([]byte, error) {
	from, err := r.openElsewhere(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer from.close()
	b, err := snapshot.ReadFile(from, r.layout.Record().Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// checkElsewhere makes sure that the last publication is still the one that this
// run goes on from.
func (r *run) checkElsewhere(ctx context.Context) error {
	if r.o.Previous.Place == "" {
		return nil
	}
	now, err := r.recordElsewhere(ctx)
	if err != nil {
		return fmt.Errorf("looking at the last publication again: %w", plain(err))
	}
	was, err := snapshot.ReadFile(r.out, r.layout.Record().Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("looking at the last publication again: %w", err)
	}
	if !r.o.Previous.First && !bytes.Equal(now, was) || r.o.Previous.First && now != nil {
		return ErrChanged
	}
	return nil
}
