package generator

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/wellspring-sync/wellspring/generator/internal/survey"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

// planResource plans what becomes of a resource. A file that is in no set any more, or is
// left out by now, is still one of the site.
func (s *surveyed) planResource(f *survey.Finding) error {
	if s.plan == nil || f.Type == "" {
		return nil
	}
	if f.Type != resourcesync.Deleted {
		return s.plan.Resource(f.Path, f.URI, f.Entry.Metadata.Type, f.Size, f.Digests)
	}
	for _, name := range s.from.o.Resources.Paths(s.pub.Layout, f.URI) { // that it can have had
		info, err := s.from.source.Tree.Lstat(name)
		if err == nil && !info.Mode.IsDir() || err != nil && !isMissing(err) {
			continue
		}
		if err := s.plan.Deleted(name, f.URI); err != nil {
			return err
		}
	}
	return nil
}

// isMissing reports whether an error says that there is no file, as below another file.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
