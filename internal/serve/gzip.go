package serve

import (
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
)

// leastCompressed is the length in bytes from which on compression saves something.
const leastCompressed = 1024

// isCompressible reports whether content of a type gets smaller.
func isCompressible(mediaType string) bool {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	if strings.HasPrefix(mediaType, "text/") || strings.HasSuffix(mediaType, "+xml") || strings.HasSuffix(mediaType, "+json") {
		return true
	}
	switch mediaType {
	case "application/xml", "application/json", "application/javascript", "application/link-format":
		return true
	}
	return false
}

// acceptsGzip reports whether Accept-Encoding names gzip, or anything. See RFC 9110
// §12.5.3.
func acceptsGzip(h http.Header) bool {
	accepts := false
	for part := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		coding, parameters, _ := strings.Cut(part, ";")
		coding = strings.ToLower(strings.TrimSpace(coding))
		if coding != "gzip" && coding != "x-gzip" && coding != "*" {
			continue
		}
		weight := 1.0
		if q, ok := strings.CutPrefix(strings.ToLower(strings.ReplaceAll(parameters, " ", "")), "q="); ok {
			weight, _ = strconv.ParseFloat(q, 64)
		}
		if coding != "*" {
			return weight > 0
		}
		accepts = weight > 0
	}
	return accepts
}

// gzipWriter compresses a whole answer; those without content pass as they are.
type gzipWriter struct {
	http.ResponseWriter
	method string
	began  bool
	gzip   *gzip.Writer // nil if nothing is compressed
}

func (g *gzipWriter) WriteHeader(status int) {
	if !g.began && status == http.StatusOK {
		h := g.Header()
		h.Del("Content-Length")
		h.Del("Accept-Ranges")
		h.Set("Content-Encoding", "gzip")
		if g.method != http.MethodHead {
			g.gzip = gzip.NewWriter(g.ResponseWriter)
		}
	}
	g.began = true
	g.ResponseWriter.WriteHeader(status)
}

func (g *gzipWriter) Write(b []byte) (int, error) {
	if !g.began {
		g.WriteHeader(http.StatusOK)
	}
	if g.gzip == nil {
		return g.ResponseWriter.Write(b)
	}
	return g.gzip.Write(b)
}

func (g *gzipWriter) close() {
	if g.gzip != nil {
		g.gzip.Close() // the reader is gone if that fails
	}
}
