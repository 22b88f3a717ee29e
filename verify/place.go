package verify

import (
	"context"
	"errors"
	"os"

	"github.com/wellspring-sync/wellspring/internal/httpclient"
)

// place is where a publication is: a directory or a server. Its methods may be
// called concurrently, but for start and close.
type place interface {
	// name is what the place is called in messages, without anything secret.
	name() string
	// start returns the document to begin with. The error is for the user.
	start(ctx context.Context) (start, error)
	// open returns what a URI leads to, a file of at most some bytes if it comes from
	// a server: what is longer is cut off there. The error is errNotThere, or says why it
	// cannot be had.
	open(ctx context.Context, uri string, most int64) (*file, error)
	// forget says that nobody will open it again.
	forget(uri string)
	// reader returns what reads resources, and readersAtOnce how many of them
	// should.
	reader() resourceReader
	readersAtOnce(jobs int) int
	// isTold reports whether it is certain where resources lie.
	isTold() bool
	close()
}

// start is the document with which an audit begins.
type start struct {
	uri string
	// alone is true if only this document is audited.
	alone bool
}

// file is what a URI led to.
type file struct {
	*os.File
	size int64
	// path is where it is in the directory, or empty.
	path string
	// answer is what a server said, or nil.
	answer *answer
}

var (
	// errNotThere says that there is no such file, for sure.
	errNotThere = errors.New("it is not there")
	// errElsewhere says that the URI belongs to no directory that is known.
	errElsewhere = errors.New("its URI does not belong to this directory")
)

// openPlace opens what a user names: a directory, a document or a URL.
func openPlace(where string, o *Options) (place, error) {
	if httpclient.IsURL(where) {
		return newWeb(where, o)
	}
	return newDisk(where, o)
}
