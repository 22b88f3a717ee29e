package zipdump_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"log"
	"strings"
	"time"

	"github.com/wellspring-sync/wellspring/zipdump"
)

// A package with one bitstream, and its manifest at the end.
func ExampleWriter() {
	packer := &zipdump.Packer{Policy: zipdump.Policy{Release: "1.0.0", Level: 6}}
	pack := func(mediaType, text string) *zipdump.Bitstream {
		b := packer.New()
		b.Begin(mediaType, int64(len(text)))
		if _, err := io.WriteString(b, text); err != nil {
			log.Fatal(err)
		}
		if err := b.Finish(); err != nil {
			log.Fatal(err)
		}
		return b
	}
	day := time.Date(2013, 1, 3, 9, 0, 0, 0, time.UTC)

	var file, directory bytes.Buffer
	w := zipdump.NewWriter(&file, &directory)
	page := pack("text/html", strings.Repeat("<p>hello", 100))
	defer page.Close()
	if err := w.Add(zipdump.Header{Path: zipdump.Path("a/index.html"), Modified: day}, page); err != nil {
		log.Fatal(err)
	}
	manifest := pack("application/xml", "<urlset/>")
	defer manifest.Close()
	closing := zipdump.Closing{Manifest: manifest, Modified: day, Comment: packer.Policy.Comment()}
	if _, err := w.End().Finish(&file, &directory, closing); err != nil {
		log.Fatal(err)
	}

	read, err := zip.NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(read.Comment)
	for _, f := range read.File {
		fmt.Println(f.Name, f.UncompressedSize64)
	}
	// Output:
	// wellspring 1.0.0; deflate 6; policy 1
	// resources/a/index.html 800
	// manifest.xml 9
}

func ExamplePath() {
	fmt.Println(zipdump.Path("a/index.html"))
	fmt.Println(zipdump.Path("100%25/a\\b"))
	// Output:
	// resources/a/index.html
	// resources/100%2525/a%5Cb
}
