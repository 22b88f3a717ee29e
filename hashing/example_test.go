package hashing_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"testing/fstest"

	"github.com/wellspring-sync/wellspring/hashing"
)

// Two workers read; what they have read comes in the order of the list all the same.
func ExampleFiles() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, fstest.MapFS{"a.csv": {Data: []byte("1;2\n")}, "b.ttl": {Data: []byte("<a> a <b> .\n")}}); err != nil {
		log.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer root.Close()
	want, err := hashing.NewSet("md5")
	if err != nil {
		log.Fatal(err)
	}
	names := func(yield func(string, error) bool) {
		for _, name := range []string{"a.csv", "b.ttl", "gone.txt"} {
			if !yield(name, nil) {
				return
			}
		}
	}
	pool := hashing.Pool{Opener: hashing.RootOpener{Root: root}, Workers: 2}
	read := func(name *string) (hashing.Job, bool) {
		return hashing.Job{Path: *name, Name: *name, Want: want}, true
	}
	for result, err := range hashing.Files(context.Background(), pool, names, read) {
		if err != nil {
			log.Fatal(err)
		}
		if errors.Is(result.Err, fs.ErrNotExist) {
			fmt.Println(result.Item, "is gone")
			continue
		}
		f := result.Fingerprint
		fmt.Println(result.Item, f.Length, f.Type, f.Hash)
	}
	// Output:
	// a.csv 4 text/csv md5:f4bba4e4763ff05ba9202db672d30032
	// b.ttl 12 text/turtle md5:de580341001f250af4e8900dd77a48e0
	// gone.txt is gone
}

func ExampleMediaType() {
	fmt.Println(hashing.MediaType("notes.md", []byte("# Notes")))
	fmt.Println(hashing.MediaType("picture", []byte("\x89PNG\r\n\x1a\n")))
	// Output:
	// text/markdown
	// image/png
}
