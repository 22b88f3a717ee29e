package prepare

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
)

// Reasons for leaving a page alone.
const (
	NoHead        LeftAlone = "no <head>"
	OpenHead      LeftAlone = "its <head> does not end"
	OwnLink       LeftAlone = "a link of its own to another Capability List"
	NotASCII      LeftAlone = "an encoding such as UTF-16, in which tags are not plain ASCII"
	SelfClosing   LeftAlone = "an element such as <script/> in its <head>, which ends there in XML alone"
	LargePage     LeftAlone = "larger than 16 MiB"
	ReachedByLink LeftAlone = "reached through a symbolic link"
)

// link is one in a head that has the relation.
type link struct {
	start, end int // in the page
	href       string
	marked     bool // by us
}

// head is what matters of the head of a page.
type head struct {
	page  []byte
	end   int // where more can be put into it
	links []link
}

// relation is that of links to Capability Lists, and mark the attribute of those that
// were put into a page. See Z39.99-2017 §6.3.3.
const (
	relation = "resourcesync"
	mark     = "data-wellspring"
)

// tokens are those of a page, with the bytes where they are.
type tokens struct {
	z          *html.Tokenizer
	page       []byte
	start, end int
	kind       html.TokenType
	name       string
}

func newTokens(page []byte) *tokens {
	text := bytes.TrimPrefix(page, []byte("\xef\xbb\xbf"))
	at := len(page) - len(text)
	return &tokens{z: html.NewTokenizer(bytes.NewReader(text)), page: page, end: at}
}

// next goes to the next token. It returns false at the end of the page, where there
// may be the beginning of a tag.
func (t *tokens) next() bool {
	t.start, t.kind, t.name = t.end, t.z.Next(), ""
	t.end += len(t.z.Raw())
	switch t.kind {
	case html.ErrorToken:
		return false
	case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
		name, _ := t.z.TagName()
		t.name = string(name)
	}
	return true
}

func (t *tokens) isBlank() bool { return len(bytes.Trim(t.page[t.start:t.end], " \t\r\n\f")) == 0 }

// isSilent reports whether the token is one that can stand anywhere.
func (t *tokens) isSilent() bool {
	return t.kind == html.CommentToken || t.kind == html.DoctypeToken || t.kind == html.TextToken && t.isBlank()
}

// toHead goes to the start tag of the head. If something else begins the page, a
// later tag is none to browsers either.
func (t *tokens) toHead() error {
	for t.next() {
		switch {
		case t.isSilent(), t.kind == html.StartTagToken && t.name == "html":
		case t.kind == html.StartTagToken && t.name == "head":
			return nil
		case t.kind == html.SelfClosingTagToken && t.name == "head":
			return SelfClosing
		default:
			return NoHead
		}
	}
	return NoHead
}

// link returns the link of a tag, and false if it has another relation. Of attributes
// with the same name, the first one counts.
func (t *tokens) link() (l link, ok bool) {
	seen := map[string]bool{}
	l = link{start: t.start, end: t.end}
	for {
		key, value, more := t.z.TagAttr()
		if name := string(key); !seen[name] {
			seen[name] = true
			switch name {
			case "rel":
				ok = hasWord(string(value), relation)
			case "href":
				l.href = strings.Trim(string(value), " \t\r\n\f")
			case mark:
				l.marked = true
			}
		}
		if !more {
			return l, ok
		}
	}
}

func hasWord(list, word string) bool {
	for w := range strings.FieldsSeq(list) {
		if strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}

// headElements are those that can stand in a head. Where another one begins, the head
// ends, also without a tag. See https://html.spec.whatwg.org/#parsing-main-inhead.
var headElements = map[string]bool{
	"base": true, "basefont": true, "bgsound": true, "link": true, "meta": true, "noframes": true, "noscript": true,
	"script": true, "style": true, "template": true, "title": true,
}

// hasContent are those whose content is no part of the head.
var hasContent = map[string]bool{
	"noframes": true, "noscript": true, "script": true, "style": true, "template": true, "title": true,
}

// parseHead finds the head of a page as browsers do. The error is a LeftAlone.
func parseHead(page []byte) (*head, error) {
	if isWide(page) {
		return nil, NotASCII
	}
	h, t := &head{page: page}, newTokens(page)
	if err := t.toHead(); err != nil {
		return nil, err
	}
	h.end = t.end
	if err := h.read(t); err != nil {
		return nil, err
	}
	if bytes.ContainsAny(page[:h.end], "\x00\x1b") { // UTF-16 further on, or ISO 2022
		return nil, NotASCII
	}
	return h, nil
}

// isWide reports whether a page is in UTF-16 or UTF-32.
func isWide(page []byte) bool {
	return bytes.HasPrefix(page, []byte("\xfe\xff")) || bytes.HasPrefix(page, []byte("\xff\xfe")) ||
		bytes.IndexByte(page[:min(len(page), 4)], 0) >= 0
}

// read reads the head, behind its start tag.
func (h *head) read(t *tokens) error {
	templates, content := 0, false
	for t.next() {
		inContent := content
		content = false
		switch {
		case templates > 0:
			templates += t.nesting()
		case t.isSilent(), inContent && t.kind == html.TextToken:
			continue
		case t.kind == html.TextToken:
			return nil
		case t.kind == html.EndTagToken:
			switch t.name {
			case "head":
				h.end = t.start
				return nil
			case "body", "html", "br":
				return nil
			}
		case t.name == "head", t.name == "html":
		case !headElements[t.name]:
			return nil
		case t.kind == html.SelfClosingTagToken && hasContent[t.name]:
			return SelfClosing
		case t.name == "link":
			if l, ok := t.link(); ok {
				h.links = append(h.links, l)
			}
		case t.name == "template":
			templates++
		default:
			content = hasContent[t.name]
		}
		if templates == 0 && !content {
			h.end = t.end
		}
	}
	return OpenHead
}

// nesting is how much deeper a token leads into templates.
func (t *tokens) nesting() int {
	switch {
	case t.name != "template":
		return 0
	case t.kind == html.EndTagToken:
		return -1
	}
	return 1
}
