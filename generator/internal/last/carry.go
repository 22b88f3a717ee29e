package last

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/publish"
	"github.com/wellspring-sync/wellspring/internal/remote"
	"github.com/wellspring-sync/wellspring/internal/snapshot"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/zipdump"
)

// carry brings the last publication into the output directory, as it is, so that
// the run goes on from there. It is a commit of its own. Recovered says that an interrupted
// commit was completed first.
func (p *Place) carry(ctx context.Context, next *Next, warn warner) (recovered bool, err error) {
	tx, err := p.begin(ctx, next.Layout)
	if err != nil {
		return false, err
	}
	defer tx.Close()
	dir, remove, err := makeFolder(tx.Root())
	if err != nil {
		return tx.Recovered, err
	}
	defer remove()
	from, err := p.openElsewhere(ctx, dir)
	if err != nil {
		return tx.Recovered, err
	}
	defer from.close()
	files, err := p.filesElsewhere(ctx, from, next, warn)
	if err != nil || files == nil {
		return tx.Recovered, err
	}
	if p.leavesBodies() {
		files = slices.DeleteFunc(files, func(f snapshot.File) bool { return f.Body })
	}
	c := &carrier{tx: tx, from: from, dir: dir, out: tx.Root().FS(), names: map[string]bool{}, staged: map[string]string{}}
	return tx.Recovered, c.all(ctx, files, next, warn)
}

// all carries all files, and commits them if any is new.
func (c *carrier) all(ctx context.Context, files []snapshot.File, next *Next, warn warner) error {
	for some := range slices.Chunk(files, carriedAtOnce) {
		if err := c.carry(ctx, some); err != nil {
			return fmt.Errorf("taking over the last publication: %w", plain(err))
		}
	}
	if c.carried == 0 {
		return nil
	}
	c.removeOther(next, warn)
	return c.tx.Commit(ctx)
}

// filesElsewhere returns what the last publication consists of, or nil if there is
// none and a new history begins.
func (p *Place) filesElsewhere(ctx context.Context, from *elsewhere, next *Next, warn warner) ([]snapshot.File, error) {
	first := p.Previous.First
	files, err := from.read(ctx, next.Layout, next.hasNames(), warn)
	switch {
	case errors.Is(err, snapshot.ErrNone) && first:
		return nil, nil
	case errors.Is(err, snapshot.ErrNone):
		return nil, &policy.MissingError{Place: p.name()}
	case err != nil:
		return nil, RefuseIdentity(fmt.Errorf("reading the last publication: %w", plain(err)))
	case first:
		return nil, p.refuseFirst()
	}
	return files, nil
}

// removeOther plans to remove what another publication in the output directory
// consists of.
func (c *carrier) removeOther(next *Next, warn warner) {
	files, err := here(c.out).read(context.Background(), next.Layout, next.hasNames(), warn)
	if err != nil {
		return // there is none, or nothing is known of it
	}
	for _, f := range files {
		if !c.names[f.Path] {
			c.tx.Remove(f.Path)
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
