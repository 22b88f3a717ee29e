package generator

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/wellspring-sync/wellspring/generator/internal/survey"
	"github.com/wellspring-sync/wellspring/internal/plan"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/scanner"
)

// CacheFile returns the name of the cache for a source that is published under
// a URL, in the user's cache directory.
func CacheFile(source, baseURL string) (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	if source, err = filepath.Abs(source); err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(source + "\n" + baseURL))
	return filepath.Join(dir, "wellspring", hex.EncodeToString(sum[:12])+".stat"), nil
}

// CheckCache returns an error if the cache would overwrite something else, or
// lie among the documents of the publication.
func (o *Options) CheckCache() error {
	name := o.Cache
	if o.isAmongDocuments(name) {
		return fmt.Errorf("%s is in the publication's folder: choose another place", name)
	}
	info, err := os.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is there, and is no regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil // the cache cannot be written either, or there is nothing
	}
	defer f.Close()
	magic := make([]byte, survey.CacheMagic)
	n, err := io.ReadFull(f, magic)
	switch {
	case n == 0 && err == io.EOF, survey.IsCache(magic):
		return nil
	case err != nil && err != io.EOF && err != io.ErrUnexpectedEOF:
		return err
	}
	return fmt.Errorf("%s is there, and is no stat cache", name)
}

// isAmongDocuments reports whether a file lies, or would lie, where only the
// publication's documents do.
func (o *Options) isAmongDocuments(name string) bool {
	l, err := layout.New(o.Identity)
	if err != nil {
		return false // as will be said elsewhere
	}
	relative, err := filepath.Rel(realPath(cmp.Or(o.Out, o.Source)), filepath.Join(realPath(filepath.Dir(name)), filepath.Base(name)))
	if err != nil {
		return false
	}
	relative = filepath.ToSlash(relative)
	return layout.IsOwned(relative) || l.Folder != "." && strings.HasPrefix(relative, l.Folder+"/")
}

// realPath is the absolute path of a file without symbolic links, as far as it
// is there.
func realPath(name string) string {
	name, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	real, err := filepath.EvalSymlinks(name)
	if err == nil {
		return real
	}
	if name == filepath.Dir(name) {
		return name
	}
	return filepath.Join(realPath(filepath.Dir(name)), filepath.Base(name))
}

// CheckPlan returns an error if the upload plan would overwrite something else, or lie
// among the documents of the publication.
func (o *Options) CheckPlan() error {
	if o.isAmongDocuments(o.Plan) {
		return fmt.Errorf("%s is in the publication's folder: choose another place", o.Plan)
	}
	if info, err := os.Stat(filepath.Dir(o.Plan)); err != nil || !info.IsDir() {
		return fmt.Errorf("%s is not in a directory that is there", o.Plan)
	}
	for _, name := range plan.Names(o.Plan) {
		if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("%s is there, and is no regular file", name)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	r, err := plan.Open(o.Plan)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return r.Close()
}

// ownFiles leaves settings, cache and plan out, should they lie in the source.
func (o *Options) ownFiles() (own []scanner.Own) {
	var names []string
	if o.Plan != "" {
		names = plan.Names(o.Plan)
	}
	for _, name := range [...]string{o.SettingsFile, o.Page.File} {
		if name != "" {
			names = append(names, name)
		}
	}
	if o.Cache != "" {
		names = append(names, o.Cache, o.Cache+".tmp")
	}
	for _, name := range names {
		if info, err := os.Stat(filepath.Dir(name)); err == nil {
			own = append(own, scanner.Own{Dir: info, Names: []string{filepath.Base(name)}})
		}
	}
	return own
}
