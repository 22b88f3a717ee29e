package verify

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha3"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// algorithms are those that digests can be compared by, under the names of the
// registries that Sources take them from.
var algorithms = map[string]func() hash.Hash{
	"md5": md5.New, "sha-1": sha1.New, "sha-224": sha256.New224, "sha-256": sha256.New,
	"sha-384": sha512.New384, "sha-512": sha512.New,
	"sha3-256": func() hash.Hash { return sha3.New256() }, "sha3-512": func() hash.Hash { return sha3.New512() },
}

func isKnownAlgorithm(name string) bool { return algorithms[strings.ToLower(name)] != nil }

// digester computes several digests of what is written to it.
type digester struct {
	asked  []string
	names  []string
	hashes []hash.Hash
}

// newDigester returns one for those algorithms of a hash attribute that are known.
func newDigester(names []string) *digester {
	d := &digester{asked: names}
	for _, name := range names {
		if make := algorithms[name]; make != nil {
			d.names = append(d.names, name)
			d.hashes = append(d.hashes, make())
		}
	}
	return d
}

// reuse returns a digester for algorithms: the last one, if it has the same.
func (d *digester) reuse(names []string) *digester {
	if d == nil || !slices.Equal(d.asked, names) {
		return newDigester(names)
	}
	for _, h := range d.hashes {
		h.Reset()
	}
	return d
}

func algorithmsOf(h resourcesync.Hash) []string {
	var names []string
	for name := range h.All() {
		names = append(names, strings.ToLower(name))
	}
	return names
}

func (d *digester) Write(p []byte) (int, error) {
	for _, h := range d.hashes {
		h.Write(p)
	}
	return len(p), nil
}

// sums returns the digests by algorithm, in lower case.
func (d *digester) sums() map[string]string {
	sums := make(map[string]string, len(d.names))
	for i, name := range d.names {
		sums[name] = hex.EncodeToString(d.hashes[i].Sum(nil))
	}
	return sums
}

// digestOf reads all of r.
func digestOf(r io.Reader, names []string) (sums map[string]string, n int64, err error) {
	d := newDigester(names)
	n, err = io.CopyBuffer(d, onlyReader{r}, make([]byte, 128<<10))
	return d.sums(), n, err
}

// onlyReader hides what else a reader can do.
type onlyReader struct{ io.Reader }

// mismatch says in which way something is not what is stated of it, or nothing.
// Digests that are not among sums are not compared.
func mismatch(stated resourcesync.Metadata, length int64, sums map[string]string) string {
	if stated.HasLength && stated.Length != length {
		return fmt.Sprintf("it has %d bytes, not %d as stated", length, stated.Length)
	}
	for algorithm, digest := range stated.Hash.All() {
		got, ok := sums[strings.ToLower(algorithm)]
		if ok && !strings.EqualFold(got, digest) {
			return fmt.Sprintf("its %s is %s, not %s as stated", clip(algorithm), got, clip(digest))
		}
	}
	return ""
}
