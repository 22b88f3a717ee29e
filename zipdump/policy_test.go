package zipdump

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

func TestComment(t *testing.T) {
	t.Parallel()
	for p, want := range map[Policy]string{
		{"1.2.0", 6}:   "wellspring 1.2.0; deflate 6; policy 1",
		{"(devel)", 0}: "wellspring (devel); deflate 0; policy 1",
		{"1.2.0", 12}:  "wellspring 1.2.0; deflate 9; policy 1",
		{"1.2.0", -1}:  "wellspring 1.2.0; deflate 0; policy 1",
	} {
		if got := p.Comment(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestPacked(t *testing.T) {
	t.Parallel()
	for mediaType, want := range map[string]bool{
		"": false, "text/plain": false, "image/jpeg": true, "IMAGE/JPEG": true, "image/jpeg2": false,
		"video/mp4": true, "video/": true, "video": false, "image/svg+xml": false, "image/tiff": false,
		"audio/ogg; codecs=opus": true, "audio/wav": false, "application/warc": false,
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document": true,
		"application/vnd.oasis.opendocument.text":                                 true,
		"application/zip":     true,
		"application/zip-not": false,
		"application/pdf":     false,
		"font/woff2":          true,
		"font/woff2 ;x=y":     true,
	} {
		if got := packed(mediaType); got != want {
			t.Errorf("%q: got %t, want %t", mediaType, got, want)
		}
	}
}

func TestMethod(t *testing.T) {
	t.Parallel()
	partly := func(percent int) []byte { // noise of which so much was there before
		b := noise(blockSize, 1)
		for at := 1000; at < len(b); at += 1000 {
			copy(b[at-10*percent:at], b[at-1000:])
		}
		return b
	}
	for name, c := range map[string]struct {
		level     int
		mediaType string
		content   []byte
		want      int
	}{
		"nothing":                      {6, "text/plain", nil, Store},
		"one byte":                     {6, "text/plain", []byte("x"), Store},
		"text":                         {6, "text/plain", text(5000, 1), Deflate},
		"text by an unknown name":      {6, "", text(5000, 1), Deflate},
		"text at level 0":              {0, "text/plain", text(5000, 1), Store},
		"large text at level 0":        {0, "text/plain", text(500_000, 1), Store},
		"noise":                        {6, "text/plain", noise(5000, 1), Store},
		"noise of the limit":           {6, "text/plain", noise(rawLimit, 1), Store},
		"noise that is too large":      {6, "text/plain", noise(rawLimit+1, 1), Deflate},
		"picture":                      {6, "image/jpeg", noise(5000, 1), Store},
		"large picture":                {6, "image/jpeg", noise(500_000, 1), Store},
		"picture that saves 2 %":       {6, "image/jpeg", partly(2), Store},
		"picture that saves 12 %":      {6, "image/jpeg", partly(12), Deflate},
		"other that saves 12 %":        {6, "image/tiff", partly(12), Deflate},
		"picture that is text":         {6, "image/jpeg", text(5000, 1), Deflate},
		"large picture that is text":   {1, "image/jpeg", text(500_000, 1), Deflate},
		"picture with text at its end": {9, "image/png", append(noise(blockSize, 1), text(blockSize, 1)...), Store},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &Packer{Policy: Policy{Level: c.level}}
			b := pack(t, p, file{mediaType: c.mediaType, content: c.content})
			if b.Method() != c.want {
				t.Errorf("got method %d for %d bytes, want %d", b.Method(), b.Compressed(), c.want)
			}
		})
	}
}

// TestPolicyVersion fails when bytes come out otherwise than before, as after
// an update of the compressor. Then policyVersion has to grow, and published
// packages are made anew.
func TestPolicyVersion(t *testing.T) {
	t.Parallel()
	h := sha256.New()
	for level := range 10 {
		p := &Packer{Policy: Policy{Level: level}}
		for _, content := range [][]byte{text(500, 1), text(70_000, 2), blend(600_000, 3), noise(70_000, 4)} {
			h.Write(packedBytes(t, pack(t, p, file{content: content})))
			h.Write(packedBytes(t, pack(t, p, file{content: content, mediaType: "image/png"})))
		}
	}
	const want = "42404801a58eec53e8135c4b056aea149423fb5280f7a1fba4843c8cb1690ff4"
	if got := hex.EncodeToString(h.Sum(nil)); got != want || policyVersion != 1 {
		t.Errorf("policy %d makes %s, and version 1 made %s", policyVersion, got, want)
	}
}
