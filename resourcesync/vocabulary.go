package resourcesync

import (
	"mime"
	"net/url"
	"strings"
)

// IsURI reports whether s is an absolute URI. See RFC 3986.
func IsURI(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c <= ' ' || c >= 0x7f, notInURI[c]:
			return false
		case c == '%':
			if i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
				return false
			}
		}
	}
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok || !isScheme(scheme) || rest == "" {
		return false
	}
	if scheme = strings.ToLower(scheme); scheme != "http" && scheme != "https" {
		return true
	}
	if !strings.HasPrefix(rest, "//") {
		return false
	}
	name := host(rest)
	if strings.ContainsAny(name, ":[%@") { // a port, an address, a user: rare enough for the real parser
		u, err := url.Parse(s)
		return err == nil && u.Host != ""
	}
	return name != ""
}

var notInURI = func() (t [256]bool) {
	for _, c := range `<>"{}|\^` + "`" {
		t[c] = true
	}
	return t
}()

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		letter := 'a' <= c && c <= 'z'
		if !letter && (i == 0 || !('0' <= s[i] && s[i] <= '9' || s[i] == '+' || s[i] == '-' || s[i] == '.')) {
			return false
		}
	}
	return s != ""
}

// host returns what stands between the slashes and the path.
func host(rest string) string {
	rest = strings.TrimPrefix(rest, "//")
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// IsMediaType reports whether s has the form of a media type, perhaps with
// parameters. See RFC 9110 §8.3.1.
func IsMediaType(s string) bool {
	essence, parameters, more := strings.Cut(s, ";")
	typ, sub, ok := strings.Cut(strings.TrimRight(essence, " \t"), "/")
	if !ok || !isToken(typ) || !isToken(sub) {
		return false
	}
	if !more {
		return true
	}
	_, _, err := mime.ParseMediaType("a/b;" + parameters)
	return err == nil
}

func isToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// IsRelation reports whether s is a registered relation type, or a URI. See
// Z39.99-2017 §7.
func IsRelation(s string) bool {
	return registered[strings.ToLower(s)] || IsURI(s)
}

// registered are the relation types that IANA lists, as of 2026, and those that
// specifications of the framework use besides.
var registered = func() map[string]bool {
	m := map[string]bool{}
	for name := range strings.FieldsSeq(`
		about acl alternate amphtml api-catalog appendix apple-touch-icon apple-touch-startup-image archives author
		blocked-by bookmark c2pa-manifest canonical chapter cite-as collection compression-dictionary contents
		convertedfrom copyright create-form current deprecation describedby describes disclosure dns-prefetch
		duplicate edit edit-form edit-media enclosure external first geofeed glossary help hosts hub ice-server
		icon index intervalafter intervalbefore intervalcontains intervaldisjoint intervalduring intervalequals
		intervalfinishedby intervalfinishes intervalin intervalmeets intervalmetby intervaloverlappedby
		intervaloverlaps intervalstartedby intervalstarts item last latest-version license linkset lrdd manifest
		mask-icon me media-feed memento micropub modulepreload monitor monitor-group next next-archive nofollow
		noopener noreferrer opener openid2.local_id openid2.provider original p3pv1 payment pingback preconnect
		predecessor-version prefetch preload prerender prev prev-archive preview previous privacy-policy profile
		publication rdap-active rdap-bottom rdap-down rdap-top rdap-up related replies restconf resourcesync
		ruleinput search section self service service-desc service-doc service-meta sip-trunking-capability
		sponsored start status stylesheet subsection successor-version sunset tag terms-of-service timegate
		timemap type ugc up version-history via webmention working-copy working-copy-of`) {
		m[name] = true
	}
	return m
}()
