package generator

import (
	"bufio"
	"encoding/binary"
	"io"
	"time"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// What facts say of links that a run makes itself: those to versions and patches.

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// readText returns io.EOF only where nothing is left at all.
func readText(r *bufio.Reader) (string, error) {
	n, err := binary.ReadUvarint(r)
	if err != nil {
		return "", err
	}
	b := make([]byte, n)
	_, err = io.ReadFull(r, b)
	return string(b), noEOF(err)
}

func appendLinks(b []byte, links []resourcesync.Link) []byte {
	b = binary.AppendUvarint(b, uint64(len(links)))
	for i := range links {
		l := &links[i]
		for _, s := range [...]string{l.Rel, l.Href, string(l.Hash), l.Type, l.Path, l.Encoding} {
			b = appendText(b, s)
		}
		modified, dated := int64(0), byte(0)
		if !l.Modified.IsZero() {
			modified, dated = l.Modified.Unix(), 1
		}
		length, hasLength := l.Length, byte(0)
		if l.HasLength {
			hasLength = 1
		}
		b = binary.AppendVarint(append(b, dated), modified)
		b = binary.AppendVarint(append(b, hasLength), length)
	}
	return b
}

func readLinks(r *bufio.Reader) ([]resourcesync.Link, error) {
	n, err := binary.ReadUvarint(r)
	if err != nil || n == 0 {
		return nil, err
	}
	links := make([]resourcesync.Link, n)
	for i := range links {
		if err := readLink(r, &links[i]); err != nil {
			return nil, err
		}
	}
	return links, nil
}

func readLink(r *bufio.Reader, l *resourcesync.Link) error {
	var texts [6]string
	for i := range texts {
		var err error
		if texts[i], err = readText(r); err != nil {
			return err
		}
	}
	modified, dated, err := readNumber(r)
	if err != nil {
		return err
	}
	length, hasLength, err := readNumber(r)
	if err != nil {
		return err
	}
	*l = resourcesync.Link{
		Rel: texts[0], Href: texts[1], Hash: resourcesync.Hash(texts[2]), Type: texts[3], Path: texts[4], Encoding: texts[5], Length: length, HasLength: hasLength,
	}
	if dated {
		l.Modified = time.Unix(modified, 0).UTC()
	}
	return nil
}

// readNumber reads a number, and whether it says anything.
func readNumber(r *bufio.Reader) (n int64, says bool, err error) {
	flag, err := r.ReadByte()
	if err != nil {
		return 0, false, err
	}
	n, err = binary.ReadVarint(r)
	return n, flag == 1, err
}

// appendTo does so also if p is nil.
func (p *patched) appendTo(b []byte) []byte {
	if p == nil {
		return appendText(b, "")
	}
	return appendLinks(appendText(b, p.path), []resourcesync.Link{p.link})
}

func readPatched(r *bufio.Reader) (*patched, error) {
	path, err := readText(r)
	if err != nil || path == "" {
		return nil, err
	}
	links, err := readLinks(r)
	if err != nil || len(links) != 1 {
		return nil, err
	}
	return &patched{path: path, link: links[0]}, nil
}
