package snapshot

import (
	"io/fs"

	"github.com/wellspring-sync/wellspring/layout"
)

// File is a file of a publication, with what is stated of it.
type File struct {
	Path string
	// Length is in bytes. It and SHA256 say nothing if they are zero.
	Length int64
	SHA256 string
	// Body says that the file is written once.
	Body bool
	// Retired says that no document names the file any more, so that it may be
	// gone.
	Retired bool
}

// OpenElsewhere is Open for a publication that is far away: it does not look
// whether all bodies are there. Whoever takes them over will see.
func OpenElsewhere(files fs.FS, l layout.Layout) (*Snapshot, error) {
	s := newSnapshot(files, l)
	s.elsewhere = true
	return openSnapshot(s)
}

// Files returns all files that a publication consists of: bodies, heads in the
// order of their commit, and the record, which is the last.
func (s *Snapshot) Files() ([]File, error) {
	files, err := s.bodyFiles()
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	unique := files[:0]
	for _, f := range files { // snapshots share them
		if !seen[f.Path] {
			seen[f.Path] = true
			f.Body = true
			unique = append(unique, f)
		}
	}
	heads, err := s.headFiles()
	return append(unique, heads...), err
}

func (s *Snapshot) bodyFiles() (files []File, err error) {
	if s.Indexed {
		files = appendParts(files, s.Parts)
	}
	for _, c := range s.Changes[:len(s.Changes)-1] {
		files = append(files, File{Path: c.Path, Length: c.Length, SHA256: c.Hash.Get("sha-256")})
	}
	if d := s.ResourceDump; d != nil {
		files = appendPackages(appendParts(files, d.Parts), d.Packages)
	}
	if d := s.ChangeDump; d != nil {
		files = appendPackages(appendParts(files, d.Parts), d.Packages)
	}
	archived, err := s.archivedFiles()
	if err != nil {
		return nil, err
	}
	files = append(files, archived...)
	if s.Record != nil {
		for _, r := range s.Record.Retired {
			files = append(files, File{Path: r.Path, Retired: true})
		}
	}
	return files, nil
}

func appendParts(files []File, parts []Part) []File {
	for _, p := range parts {
		files = append(files, File{Path: p.Path, Length: p.Length, SHA256: p.Hash.Get("sha-256")})
	}
	return files
}

func appendPackages(files []File, packages []*Package) []File {
	for _, p := range packages {
		files = append(files, File{Path: p.Path, Length: p.Length, SHA256: p.Hash.Get("sha-256")}, File{Path: p.Manifest.Path})
	}
	return files
}

// headFiles returns the heads that the record names or, without one, those that
// are there.
func (s *Snapshot) headFiles() (files []File, err error) {
	if s.Record != nil {
		return s.recordedFiles(func(string) bool { return true }), nil
	}
	for _, path := range s.headPaths() {
		h, err := HeadOf(s.files, path)
		if isMissing(err) {
			continue
		}
		if err != nil {
			return nil, damaged(path, err)
		}
		files = append(files, File{Path: path, Length: h.Length, SHA256: h.SHA256})
	}
	return files, nil
}

// headPaths returns the paths of all heads that there can be, in the order of
// the commit.
func (s *Snapshot) headPaths() []string {
	l := s.layout
	paths := []string{l.ChangeDump().Path, l.ChangeList().Path}
	if open := s.Changes[len(s.Changes)-1].Path; open != l.ChangeList().Path {
		paths = append(paths, open)
	}
	paths = append(paths, l.ResourceDump().Path, l.ResourceList().Path)
	for _, kind := range archivable {
		paths = append(paths, l.Archive(string(kind)).Path)
	}
	if s.Hub != "" {
		paths = append(paths, l.FrameworkNotification().Path)
	}
	paths = append(paths, l.CapabilityList().Path)
	if l.IsOfSet() {
		return paths
	}
	return append(paths, l.SourceDescription().Path)
}
