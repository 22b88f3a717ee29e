package zipdump

import (
	"fmt"
	"io"
	"strings"
)

// Policy says how bitstreams are compressed. The same content, media type and
// level give the same bytes, whichever worker packs them and however they come.
type Policy struct {
	Release string // of the program, as it is named in comments
	Level   int    // 0 stores everything, 9 takes the longest; others are clamped
}

// policyVersion grows with every change by which the same content comes out as
// other bytes, be it ours or that of the compressor.
const policyVersion = 1

// Comment returns the comment of a package. It names all that its bytes depend
// on besides the content.
func (p Policy) Comment() string {
	return fmt.Sprintf("wellspring %s; deflate %d; policy %d", p.Release, p.level(), policyVersion)
}

func (p Policy) level() int { return min(max(p.Level, 0), 9) }

// The methods of compression that are used.
const (
	Store   = 0
	Deflate = 8
)

// packedTypes are media types of formats that are compressed already. One that
// ends in a slash, a dot or a hyphen stands for all that begin with it.
var packedTypes = []string{
	"application/epub+zip", "application/gzip", "application/java-archive", "application/vnd.android.package-archive",
	"application/vnd.oasis.opendocument.", "application/vnd.openxmlformats-", "application/vnd.rar", "application/zip",
	"application/zstd",
	"application/x-7z-compressed", "application/x-bzip", "application/x-bzip2", "application/x-gzip",
	"application/x-lzip", "application/x-lzma", "application/x-rar", "application/x-rar-compressed", "application/x-xz",
	"application/x-zip-compressed", "application/x-zstd",
	"audio/aac", "audio/flac", "audio/mp4", "audio/mpeg", "audio/ogg", "audio/opus", "audio/vorbis", "audio/webm",
	"audio/x-flac", "audio/x-m4a",
	"font/woff", "font/woff2",
	"image/avif", "image/gif", "image/heic", "image/heif", "image/jp2", "image/jpeg", "image/jxl", "image/png",
	"image/webp",
	"video/",
}

// packed reports whether files of a media type are likely to be compressed.
func packed(mediaType string) bool {
	t, _, _ := strings.Cut(strings.ToLower(mediaType), ";")
	t = strings.TrimSpace(t)
	for _, p := range packedTypes {
		if t == p || strings.ContainsRune("/.-", rune(p[len(p)-1])) && strings.HasPrefix(t, p) {
			return true
		}
	}
	return false
}

// method decides by media type and the first block of content. A format that
// should be compressed already is believed to be if deflate confirms it.
func (p Policy) method(mediaType string, first []byte) (int, error) {
	if p.level() == 0 || len(first) == 0 {
		return Store, nil
	}
	if !packed(mediaType) {
		return Deflate, nil
	}
	var n counter
	if err := deflate(&n, probeLevel, first); err != nil {
		return Store, err
	}
	if saved := len(first) - int(n); saved*100 < len(first)*probePercent {
		return Store, nil
	}
	return Deflate, nil
}

const (
	// probeLevel is quick, and sees as well as any whether there is nothing to
	// gain.
	probeLevel = 1
	// probePercent is the least that has to be saved.
	probePercent = 3
)

// counter counts the bytes that are written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// deflate compresses one block.
func deflate(to io.Writer, level int, block []byte) error {
	d, err := newDeflater(to, level)
	if err != nil {
		return err
	}
	defer d.free()
	if _, err := d.Write(block); err != nil {
		return err
	}
	return d.Close()
}
