package prepare

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// The lines around what is kept up to date in files that others write, too.
const (
	blockBegin = "# wellspring begin"
	blockEnd   = "# wellspring end"
)

// Reasons for leaving a file of lines alone.
const (
	NotText      LeftAlone = "not text in UTF-8"
	BrokenBlock  LeftAlone = "its lines '" + blockBegin + "' and '" + blockEnd + "' are not one pair: put them right, or remove them"
	NotRegular   LeftAlone = "not a regular file"
	LargeControl LeftAlone = "larger than 1 MiB"
)

// lineFile is a text with lines of ours between two marks.
type lineFile struct {
	before, block, after []string // with their line ends; block is nil if there is none
	end                  string   // of lines
}

// parseLines finds the block in a text. The error is a LeftAlone.
func parseLines(text []byte) (*lineFile, error) {
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return nil, NotText
	}
	f := &lineFile{end: lineEnd(text)}
	begin, end := -1, -1
	lines := splitLines(string(text))
	for i, line := range lines {
		switch strings.TrimSpace(strings.TrimPrefix(line, "\ufeff")) {
		case blockBegin:
			if begin >= 0 {
				return nil, BrokenBlock
			}
			begin = i
		case blockEnd:
			if end >= 0 || begin < 0 {
				return nil, BrokenBlock
			}
			end = i
		}
	}
	if (begin < 0) != (end < 0) {
		return nil, BrokenBlock
	}
	f.before = lines
	if begin >= 0 {
		f.before, f.block, f.after = lines[:begin], lines[begin:end+1], lines[end+1:]
	}
	return f, nil
}

// lineEnd returns that of the first line, since the others will have the same.
func lineEnd(text []byte) string {
	i := bytes.IndexAny(text, "\r\n")
	switch {
	case i < 0, text[i] == '\n':
		return "\n"
	case bytes.HasPrefix(text[i:], []byte("\r\n")):
		return "\r\n"
	}
	return "\r"
}

// splitLines returns the lines with their ends, which may be of any kind.
func splitLines(text string) (lines []string) {
	for len(text) > 0 {
		n := strings.IndexAny(text, "\r\n") + 1
		switch {
		case n == 0:
			n = len(text)
		case strings.HasPrefix(text[n-1:], "\r\n"):
			n++
		}
		lines, text = append(lines, text[:n]), text[n:]
	}
	return lines
}

// with returns the text with other lines in its block. The block is appended if there
// is none, and goes if there are no lines.
func (f *lineFile) with(lines []string) []byte {
	if len(lines) == 0 && f.block == nil {
		return []byte(strings.Join(f.before, ""))
	}
	var b strings.Builder
	for _, line := range f.before {
		b.WriteString(line)
	}
	if n := len(f.before); n > 0 && f.block == nil && !strings.HasSuffix(f.before[n-1], "\n") && !strings.HasSuffix(f.before[n-1], "\r") {
		b.WriteString(f.end)
	}
	switch {
	case len(lines) > 0 && slices.EqualFunc(f.block, marked(lines), func(is, want string) bool { return strings.TrimRight(is, "\r\n") == want }):
		b.WriteString(strings.Join(f.block, ""))
	case len(lines) > 0:
		b.WriteString(strings.Join(marked(lines), f.end) + f.end)
	}
	b.WriteString(strings.Join(f.after, ""))
	return []byte(b.String())
}

// marked returns lines with the marks around them.
func marked(lines []string) []string {
	return append(append([]string{blockBegin}, lines...), blockEnd)
}
