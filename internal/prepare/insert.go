package prepare

import (
	"bytes"
	"html"
	"slices"
	"strings"
)

// Insert returns an HTML page with a link to each of some Capability Lists in its head.
// Links that were put there before are brought up to date where they are, and others
// stay as they are; all else is kept byte by byte. If nothing has to change, that is
// the page itself. The error is a LeftAlone.
// See Z39.99-2017 §6.3.3.
func Insert(page []byte, uris []string) ([]byte, error) {
	h, err := parseHead(page)
	if err != nil {
		if len(uris) == 0 { // and there is nothing to say
			return page, nil
		}
		return nil, err
	}
	marked, want := []link{}, slices.Clone(uris)
	for _, l := range h.links {
		i := slices.Index(want, l.href)
		switch {
		case l.marked:
			marked = append(marked, l)
		case i >= 0:
			want = slices.Delete(want, i, i+1)
		case len(uris) > 0 && !slices.Contains(uris, l.href):
			return nil, OwnLink
		}
	}
	if slices.EqualFunc(marked, want, func(l link, uri string) bool { return l.href == uri }) {
		return page, nil
	}
	return h.replace(marked, want), nil
}

// replace returns the page with links to other URIs in place of marked ones.
func (h *head) replace(marked []link, uris []string) []byte {
	at, first := h.end, len(marked) > 0
	if first {
		at = marked[0].start
	}
	space := h.spaceBefore(at)
	links := make([]string, len(uris))
	for i, uri := range uris {
		links[i] = `<link rel="` + relation + `" href="` + html.EscapeString(uri) + `" ` + mark + `="" />`
	}
	text := strings.Join(links, space)
	if !first {
		text += space
	}
	var b bytes.Buffer
	b.Write(h.page[:at])
	b.WriteString(text)
	for i, l := range marked {
		b.Write(h.page[at:l.start])
		at = h.endOf(l)
		if i == 0 && len(uris) > 0 {
			at = l.end
		}
	}
	b.Write(h.page[at:])
	return b.Bytes()
}

// endOf returns where a link ends, with the space that was put behind it.
func (h *head) endOf(l link) int {
	if space := h.spaceBefore(l.start); strings.HasPrefix(string(h.page[l.end:min(len(h.page), l.end+len(space))]), space) {
		return l.end + len(space)
	}
	return l.end
}

// spaceBefore returns the line end and the blanks by which a line begins, if there is
// nothing else before a position in it.
func (h *head) spaceBefore(at int) string {
	start := len(bytes.TrimRight(h.page[:at], " \t"))
	before := h.page[:start]
	for _, end := range [...]string{"\r\n", "\n", "\r"} {
		if bytes.HasSuffix(before, []byte(end)) {
			return end + string(h.page[start:at])
		}
	}
	return ""
}
