package stage

import (
	"fmt"
	"io"
	"time"

	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/zipdump"
)

// ContentMemory is how much of one file is held in memory once it is compressed, in
// bytes; more goes through a temporary file.
const ContentMemory = 16 << 20

// Packing is a package that is being written. Its manifest is written by whoever
// knows when it is published.
type Packing struct {
	Zip       *File
	area      *Area
	directory *File
	w         *zipdump.Writer
}

// NewPacking begins a package.
func (a *Area) NewPacking() (*Packing, error) {
	zip, err := a.createPackage()
	if err != nil {
		return nil, err
	}
	directory, err := a.Create()
	if err != nil {
		return nil, err
	}
	return &Packing{Zip: zip, area: a, directory: directory, w: zipdump.NewWriter(zip, directory)}, nil
}

// Add puts a bitstream in.
func (p *Packing) Add(h zipdump.Header, b *zipdump.Bitstream) error {
	if err := p.w.Add(h, b); err != nil {
		return fmt.Errorf("writing a package: %w", err)
	}
	return nil
}

// Take copies bitstreams out of another package as they are.
func (p *Packing) Take(from *zipdump.Package, begin, end int) error {
	return p.w.Take(from, begin, end)
}

// Pack compresses what a reader gives and puts it in. The media type may be empty.
func (p *Packing) Pack(h zipdump.Header, policy zipdump.Policy, mediaType string, length int64, content io.Reader) error {
	b := (&zipdump.Packer{Policy: policy, MaxMemory: ContentMemory, Spill: p.area.Spill}).New()
	defer b.Close()
	b.Begin(mediaType, length)
	if _, err := io.Copy(b, content); err != nil {
		return err
	}
	if err := b.Finish(); err != nil {
		return err
	}
	return p.Add(h, b)
}

// Pause closes the files, so that any number of packages can wait.
func (p *Packing) Pause() error {
	if err := p.Zip.Close(); err != nil {
		return err
	}
	return p.directory.Close()
}

// Finish completes a package that was paused: with its manifest, which is a
// document that is complete, and with its directory.
func (p *Packing) Finish(manifest *File, policy zipdump.Policy, modified time.Time) error {
	b, err := compress(manifest, policy)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := p.Zip.reopen(); err != nil {
		return err
	}
	directory, err := p.directory.Open()
	if err != nil {
		return err
	}
	defer directory.Close()
	closing := zipdump.Closing{Manifest: b, Modified: modified, Comment: policy.Comment()}
	if _, err := p.w.End().Finish(p.Zip, directory, closing); err != nil {
		return fmt.Errorf("writing a package: %w", err)
	}
	if err := p.Zip.Close(); err != nil {
		return err
	}
	p.Zip.SyncLater()
	return p.directory.Discard()
}

// compress compresses a document.
func compress(f *File, policy zipdump.Policy) (*zipdump.Bitstream, error) {
	file, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b := (&zipdump.Packer{Policy: policy, MaxMemory: resourcesync.MaxBytes}).New()
	b.Begin("application/xml", f.size)
	if _, err := io.Copy(b, file); err != nil {
		return nil, err
	}
	return b, b.Finish()
}
