package remote

import (
	"bufio"
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
	"math"
	"mime"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/internal/httpclient"
)

// errNotSaid says that a server does not tell the length of a file without
// sending it.
var errNotSaid = errors.New("the length is not said")

// askLength asks for the length of a file alone. Some servers say zero for all
// files, and none of a publication is empty.
func (f *FS) askLength(ctx context.Context, name string) (length int64, err error) {
	err = f.ask(ctx, http.MethodHead, name, func(answer *http.Response) error {
		if err := checkType(answer, name); err != nil {
			return err
		}
		if length = answer.ContentLength; length <= 0 || encoding(answer) != "" {
			return errNotSaid
		}
		return nil
	})
	return length, err
}

// keep fetches a file into the directory. It appears under its name when it is
// whole, and not at all if it is not as stated.
func (f *FS) keep(ctx context.Context, known *file, want Want) error {
	began := time.Now()
	temp, err := f.create()
	if err != nil {
		return fmt.Errorf("making a file for what is fetched: %w", noAnswer(err))
	}
	err = f.ask(ctx, http.MethodGet, want.Path, func(answer *http.Response) error {
		return f.receive(temp, answer, want)
	})
	if closed := temp.Close(); err == nil { // Windows renames nothing that is open
		err = closed
	}
	if err == nil {
		err = noAnswer(f.put(temp.name, want.Path))
	}
	if err != nil {
		f.dir.Remove(temp.name)
		return err
	}
	known.fetched, known.sized = true, true
	known.length, known.sha256 = temp.length, temp.digest()
	f.o.Log.Debug("fetched", "path", want.Path, "bytes", temp.length, "took", time.Since(began))
	return nil
}

// receive writes an answer into a temporary file. Any may follow another that was
// not read to its end.
func (f *FS) receive(temp *temporary, answer *http.Response, want Want) error {
	if err := checkType(answer, want.Path); err != nil {
		return err
	}
	if e := encoding(answer); e != "" {
		return &httpclient.Error{Err: fmt.Errorf("the server answers with the Content-Encoding %q, which was not asked for", e)}
	}
	content := bufio.NewReaderSize(answer.Body, 32<<10)
	if err := checkBeginning(content, want.Path); err != nil {
		return err
	}
	if err := f.checkLength(want, answer.ContentLength); err != nil {
		return err
	}
	if err := temp.clear(); err != nil {
		return err
	}
	if _, err := io.Copy(temp, io.LimitReader(content, f.limit(want)+1)); err != nil {
		return err
	}
	if err := f.checkLength(want, temp.length); err != nil {
		return err
	}
	return f.check(want, temp.length, temp.digest())
}

// limit returns how many bytes of a file are read at most.
func (f *FS) limit(want Want) int64 {
	return min(cmp.Or(want.Length, f.o.MaxBytes), math.MaxInt64-1)
}

// checkLength compares a length with what is stated or allowed. A negative one is
// not known yet.
func (f *FS) checkLength(want Want, length int64) error {
	switch {
	case length < 0:
		return nil
	case want.Length > 0 && length > want.Length:
		return f.other(want, "it has more than %d bytes", want.Length)
	case length > f.limit(want):
		return &httpclient.Error{Err: fmt.Errorf("the answer has more than %d bytes", f.limit(want))}
	}
	return nil
}

// check compares a whole file with what is stated.
func (f *FS) check(want Want, length int64, sum string) error {
	if want.Length > 0 && length != want.Length {
		return f.other(want, "it has %d bytes, not %d", length, want.Length)
	}
	if want.SHA256 != "" && sum != want.SHA256 {
		return f.other(want, "it has the SHA-256 %s, not %s", sum, want.SHA256)
	}
	return nil
}

func (f *FS) other(want Want, format string, args ...any) error {
	return fmt.Errorf("%s: %w: %s", f.layout.URI(want.Path), ErrOther, fmt.Sprintf(format, args...))
}

// errPage is neither an answer nor a missing file: many hosts answer so whatever
// they do not know, or want somebody to log in.
var errPage = errors.New("the server answers with an HTML page")

// checkType refuses a page that says that it is one.
func checkType(answer *http.Response, name string) error {
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if isNoPage(name) && (kind == "text/html" || kind == "application/xhtml+xml") {
		return &httpclient.Error{Err: errPage}
	}
	return nil
}

// checkBeginning refuses a page that is said to be something else.
func checkBeginning(content *bufio.Reader, name string) error {
	begin, err := content.Peek(512)
	if err != nil && err != io.EOF {
		return err
	}
	begin = bytes.ToLower(bytes.TrimLeft(begin, "\ufeff \t\r\n\f"))
	if isNoPage(name) && (bytes.HasPrefix(begin, []byte("<!doctype html")) || bytes.HasPrefix(begin, []byte("<html"))) {
		return &httpclient.Error{Err: errPage}
	}
	return nil
}

// isNoPage reports whether a file is none that could be meant for a browser.
func isNoPage(name string) bool {
	switch path.Ext(name) {
	case ".xml", ".json", ".zip":
		return true
	}
	return path.Base(name) == "resourcesync"
}

// encoding returns how an answer is packed that net/http has not unpacked.
func encoding(answer *http.Response) string {
	e := answer.Header.Get("Content-Encoding")
	if strings.EqualFold(e, "identity") {
		return ""
	}
	return e
}

// temporary is a file that is not whole yet.
type temporary struct {
	*os.File
	name   string
	hash   hash.Hash
	length int64
}

func (f *FS) create() (*temporary, error) {
	f.mu.Lock()
	f.staged++
	name := staging + "/" + strconv.Itoa(f.staged)
	f.mu.Unlock()
	file, err := f.dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	return &temporary{File: file, name: name, hash: sha256.New()}, err
}

func (t *temporary) Write(p []byte) (int, error) {
	n, err := t.File.Write(p)
	t.hash.Write(p[:n])
	t.length += int64(n)
	return n, err
}

// ReadFrom hides that of the file, which would not come by Write.
func (t *temporary) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{t}, r)
}

func (t *temporary) clear() error {
	t.hash.Reset()
	t.length = 0
	_, err := t.Seek(0, io.SeekStart)
	return errors.Join(err, t.Truncate(0))
}

func (t *temporary) digest() string { return hex.EncodeToString(t.hash.Sum(nil)) }

// put gives a whole file its name. Where names differ by case and the file system
// does not mind, the second one fails, since it would replace the first.
func (f *FS) put(temp, name string) error {
	if err := f.dir.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.dir.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return cmp.Or(err, error(&fs.PathError{Op: "rename", Path: name, Err: fs.ErrExist}))
	}
	return f.dir.Rename(temp, name)
}
