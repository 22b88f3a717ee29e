package survey

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/scanner"
)

// writeCache writes a cache file around a payload, with the sum that it needs.
func writeCache(t testing.TB, payload []byte) string {
	t.Helper()
	b := append([]byte(cacheMagic), payload...)
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	name := filepath.Join(t.TempDir(), "stat")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

var cacheEntries = []cached{
	{
		uri:   "https://example.org/a",
		stat:  scanner.Stat{Size: 7, Inode: 1 << 63, ModTime: time.Unix(1_700_000_000, 5), ChangeTime: time.Unix(1_700_000_001, 0)},
		began: time.Unix(1_700_000_002, 0),
		hash:  resourcesync.Hash("md5:" + "900150983cd24fb0d6963f7d28e17f72"),
		typ:   "text/plain",
	},
	{uri: "https://example.org/b%FF", stat: scanner.Stat{ModTime: time.Unix(-1, 0)}, began: time.Unix(0, 0)},
}

func TestCacheRoundTrip(t *testing.T) {
	t.Parallel()
	var payload []byte
	for i := range cacheEntries {
		payload = appendCached(payload, &cacheEntries[i])
	}
	c := openCache(writeCache(t, payload))
	defer c.close()
	for i := range cacheEntries {
		want := &cacheEntries[i]
		got := c.lookup(want.uri)
		if got == nil || got.stat != want.stat || got.hash != want.hash || got.typ != want.typ || !got.began.Equal(want.began) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	if c.lookup("https://example.org/c") != nil {
		t.Error("found what was never written")
	}
}

// FuzzCache reads caches that have the right sum but any content.
func FuzzCache(f *testing.F) {
	f.Add([]byte{}, "")
	var payload []byte
	for i := range cacheEntries {
		payload = appendCached(payload, &cacheEntries[i])
		f.Add(payload, cacheEntries[i].uri)
		f.Add(payload[:len(payload)-3], cacheEntries[0].uri)
	}
	f.Fuzz(func(t *testing.T, payload []byte, uri string) {
		c := openCache(writeCache(t, payload))
		defer c.close()
		got := c.lookup(uri)
		if got == nil {
			return
		}
		if got.uri != uri {
			t.Fatalf("asked for %q, got %q", uri, got.uri)
		}
		again := openCache(writeCache(t, appendCached(nil, got)))
		defer again.close()
		same := again.lookup(uri)
		if same == nil || same.stat.Size != got.stat.Size || same.stat.Inode != got.stat.Inode ||
			!same.stat.ModTime.Equal(got.stat.ModTime) || same.hash != got.hash || same.typ != got.typ {
			t.Fatalf("wrote %+v, read %+v", got, same)
		}
	})
}
