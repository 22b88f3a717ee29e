package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/wellspring-sync/wellspring/layout"
)

// Recorded is what is known of a publication by its record.
type Recorded struct {
	// Record is nil if it was lost.
	Record *Record
	// Last is the latest time that the publication speaks of, or zero if that is not
	// known. A run that follows must be later.
	Last time.Time
	// Missing are documents that were lost and can be written again.
	Missing []string
	// Altered are documents for people that something else has changed, and that can
	// be written again, too.
	Altered []string

	files  fs.FS
	layout layout.Layout
	record []byte // as it was read
}

// load reads the record, if there is one.
func (r *Recorded) load() (err error) {
	r.Record, r.record, err = readRecord(r.files, r.layout)
	return err
}

// compareHeads compares the heads with the record, but for those that are passed over. Some
// may be missing: whoever reads them takes note.
func (r *Recorded) compareHeads(passed, mayBeMissing func(path string) bool) error {
	for _, head := range r.Record.Heads {
		if passed(head.Path) {
			continue
		}
		isForPeople := r.layout.IsForPeople(head.Path)
		length, digest, err := digest(r.files, head.Path)
		differs := length != head.Length || digest != head.SHA256
		switch {
		// Nothing is known from a page or style sheet alone, and hosts put things into pages.
		case isForPeople && (isMissing(err) || errors.Is(err, errNotRegular)):
			r.Missing = append(r.Missing, head.Path)
		case isMissing(err) && mayBeMissing(head.Path):
		case err != nil:
			return damaged(head.Path, err)
		case differs && isForPeople:
			r.Altered = append(r.Altered, head.Path)
		case differs:
			return damaged(head.Path, errors.New("it is not the document that the record names"))
		}
	}
	return nil
}

// Changed reports whether another record is there than the one that was read.
func (r *Recorded) Changed() (bool, error) {
	b, err := ReadFileAtMost(r.files, r.layout.Record().Path, maxRecord)
	if isMissing(err) {
		return r.record != nil, nil
	}
	return err == nil && !bytes.Equal(b, r.record), err
}

// recordedFiles returns some of the heads, if they can be taken over, and behind them the
// record itself.
func (r *Recorded) recordedFiles(wants func(path string) bool) (files []File) {
	for _, head := range r.Record.Heads {
		if wants(head.Path) && !slices.Contains(r.Missing, head.Path) && !slices.Contains(r.Altered, head.Path) { // they can be written again
			files = append(files, File{Path: head.Path, Length: head.Length, SHA256: head.SHA256})
		}
	}
	sum := sha256.Sum256(r.record)
	return append(files, File{Path: r.layout.Record().Path, Length: int64(len(r.record)), SHA256: hex.EncodeToString(sum[:])})
}
