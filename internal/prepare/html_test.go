package prepare_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/wellspring-sync/wellspring/internal/prepare"
)

const (
	uriA  = "https://example.org/resourcesync/a/capabilitylist.xml"
	uriB  = "https://example.org/it's/capabilitylist.xml"
	linkA = `<link rel="resourcesync" href="https://example.org/resourcesync/a/capabilitylist.xml" data-wellspring="" />`
	linkB = `<link rel="resourcesync" href="https://example.org/it&#39;s/capabilitylist.xml" data-wellspring="" />`
)

// In the pages, | is where the link goes.
func TestInsert(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]string{
		"plain":                   "<html><head><title>x</title>|</head><body></body></html>",
		"doctype":                 "<!doctype html><html lang=en><head><meta charset=utf-8>|</head>",
		"capitals":                "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\"><HTML><HEAD><TITLE>x</TITLE>|</HEAD>",
		"no html tag":             "<head>|</head>",
		"attributes of head":      "<head profile='x>y' data-x=\"</head>\">|</head>",
		"space in the end tag":    "<head>|</head  ><body>",
		"byte order mark":         "\xef\xbb\xbf<html><head>|</head>",
		"head without an end":     "<html><head><title>x</title>|<body><p>x</body></html>",
		"space before body":       "<head><title>x</title>|\n  <body>",
		"ended by an element":     "<head><title>x</title>|<p>x</head>",
		"ended by text":           "<head><title>x</title>| text <meta charset=x></head>",
		"ended by html":           "<head><title>x</title>|</html>",
		"empty, ended by text":    "<head>|text",
		"frames":                  "<html><head><title>x</title>|</head><frameset cols=*><frame src=a></frameset></html>",
		"frames without an end":   "<html><head><title>x</title>|<frameset cols=*><frame src=a></frameset>",
		"base":                    "<head><base href='https://elsewhere.example/'>|</head>",
		"in a comment":            "<!-- <head></head> --><html><head><!-- </head> -->|</head>",
		"conditional comments":    "<!--[if IE]><html class=ie><head><![endif]--><html><head>|</head>",
		"in a script":             "<head><script>var x = '</head><head>';</script>|</head>",
		"script in a script":      "<head><script><!-- <script> </script> </head> --></script>|</head>",
		"in a style":              "<head><style>/* </head> */</style>|</head>",
		"in a title":              "<head><title></head></title>|</head>",
		"in a template":           "<head><template><head><p></head><template></template></template>|</head>",
		"in noscript":             "<head><noscript><link rel=stylesheet href=x></noscript>|</head>",
		"in an attribute":         "<head><meta content='</head>'>|</head>",
		"in a frame's srcdoc":     "<head>|</head><iframe srcdoc='<head></head>'></iframe>",
		"stray end tags":          "<head></div></p>|</head>",
		"second head":             "<head><head><title>x</title>|</head></head>",
		"latin-1":                 "<head><title>caf\xe9</title>|</head>",
		"shift-jis":               "<head><meta charset=shift_jis><title>\x83\x5c</title>|</head>",
		"xhtml":                   "<?xml version=\"1.0\"?>\n<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\"><head><meta charset=\"utf-8\"/><title>x</title>|</head><body/></html>",
		"CR at the end of a line": "<head>\r<title>x</title>|</head>",
		"other relations":         "<head><link rel=alternate href=x><link rel='stylesheet' href='resourcesync'>|</head>",
		"odd markup":              "<head><meta name=a name=b name = 'c' / ><LINK REL=next HREF=a&b>|</head>",
		"the rest is not read":    "<head>|</head><p <b <<!-- \x00 \x1b",
		"a link in the body":      "<head>|</head><link rel=resourcesync href=x>",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after, _ := strings.Cut(page, "|")
			checkInsert(t, before+after, before+linkA+after, uriA)
			checkInsert(t, before+after, before+linkA+linkB+after, uriA, uriB)
		})
	}
}

// On a line of its own, the link gets one, with the same line ends and blanks.
func TestInsertLine(t *testing.T) {
	t.Parallel()
	for _, space := range []string{"\n", "\r\n", "\r", "\n  ", "\r\n\t", "\n\n "} {
		before, after := "<html><head>"+space+"<title>x</title>"+space, "</head>"+space+"<body>"
		own := strings.ReplaceAll(space, "\n\n", "\n")
		checkInsert(t, before+after, before+linkA+own+after, uriA)
		checkInsert(t, before+after, before+linkA+own+linkB+own+after, uriA, uriB)
	}
}

// checkInsert checks that links come into a page, that a second time changes
// nothing, and that they can be taken out again.
func checkInsert(t *testing.T, page, want string, uris ...string) {
	t.Helper()
	got, err := prepare.Insert([]byte(page), uris)
	if err != nil {
		t.Fatalf("%q: %v", page, err)
	}
	if string(got) != want {
		t.Fatalf("got  %q\nwant %q", got, want)
	}
	again, err := prepare.Insert(got, uris)
	if err != nil || !bytes.Equal(again, got) {
		t.Errorf("the second time: got %q, %v", again, err)
	}
	none, err := prepare.Insert(got, nil)
	if err != nil || string(none) != page {
		t.Errorf("taken out: got  %q, %v\nwant %q", none, err, page)
	}
}

func TestInsertLeavesAlone(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, page string
		want       prepare.LeftAlone
	}{
		{"empty", "", prepare.NoHead},
		{"text", "Hello", prepare.NoHead},
		{"fragment", "<p>Hello</p>", prepare.NoHead},
		{"implied head", "<!doctype html><title>x</title><p>Hello", prepare.NoHead},
		{"head in the body", "<html><body><head></head>", prepare.NoHead},
		{"head behind a script", "<html><script>'<head>'</script><head></head>", prepare.NoHead},
		{"head in a template", "<template><head></head></template>", prepare.NoHead},
		{"head in a comment", "<!-- <head></head> --><p>x", prepare.NoHead},
		{"head in srcdoc", "<iframe srcdoc='<head></head>'></iframe>", prepare.NoHead},
		{"header", "<header></header>", prepare.NoHead},
		{"template of a site", "{{ x }}<html><head></head>", prepare.NoHead},
		{"internal subset", "<!DOCTYPE html [<!ENTITY x 'y'>]><html><head></head>", prepare.NoHead},
		{"another namespace", "<h:html><h:head></h:head></h:html>", prepare.NoHead},
		{"cut in a tag", "<html><head", prepare.NoHead},
		{"cut in the head", "<html><head><title>x</title>", prepare.OpenHead},
		{"cut in the end tag", "<html><head><title>x</title></hea", prepare.OpenHead},
		{"open title", "<head><title>x</head><body>", prepare.OpenHead},
		{"open script", "<head><script>x</head><body>", prepare.OpenHead},
		{"open comment", "<head><!-- x </head><body>", prepare.OpenHead},
		{"open template", "<head><template></head><body>", prepare.OpenHead},
		{"open attribute", "<head><meta content='x></head><body>", prepare.OpenHead},
		{"UTF-16", "\xff\xfe<\x00h\x00e\x00a\x00d\x00>\x00<\x00/\x00h\x00e\x00a\x00d\x00>\x00", prepare.NotASCII},
		{"UTF-16 without a mark", "\x00<\x00h\x00e\x00a\x00d\x00>", prepare.NotASCII},
		{"ISO 2022", "<head><title>\x1b$B<head>\x1b(B</title></head>", prepare.NotASCII},
		{"script of XML", "<head><script src='x'/><title>x</title></head><body><script></script></body>", prepare.SelfClosing},
		{"empty head of XML", "<html><head/><body/></html>", prepare.SelfClosing},
		{"own link", "<head><link rel=resourcesync href=/other.xml></head>", prepare.OwnLink},
		{"own link among relations", "<head><link href=/other.xml rel='alternate ResourceSync'></head>", prepare.OwnLink},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got, err := prepare.Insert([]byte(test.page), []string{uriA}); !errors.Is(err, test.want) {
				t.Errorf("got %q, %v, want %v", got, err, test.want)
			}
			if got, err := prepare.Insert([]byte(test.page), nil); err != nil || string(got) != test.page {
				t.Errorf("without anything to say: got %q, %v", got, err)
			}
		})
	}
}

func TestInsertUpdates(t *testing.T) {
	t.Parallel()
	old := strings.ReplaceAll(linkA, "example.org", "old.example")
	const rewritten = "<LINK data-wellspring HREF=https://example.org/resourcesync/a/capabilitylist.xml REL=ResourceSync>"
	const theirs = "<link href='" + uriA + "' rel=resourcesync>"
	tests := []struct {
		name, page, want string
		uris             []string
	}{
		{"another URI", "<head>" + old + "<title>x</title></head>", "<head>" + linkA + "<title>x</title></head>", []string{uriA}},
		{"in its line", "<head>\n " + old + "\n <title>x</title>\n</head>", "<head>\n " + linkA + "\n <title>x</title>\n</head>", []string{uriA}},
		{"more of them", "<head>\n " + old + "\n <title>x</title>\n</head>", "<head>\n " + linkA + "\n " + linkB + "\n <title>x</title>\n</head>", []string{uriA, uriB}},
		{"fewer of them", "<head>" + linkA + "<title>x</title>" + linkB + "</head>", "<head>" + linkB + "<title>x</title></head>", []string{uriB}},
		{"twice", "<head>" + linkA + linkA + "</head>", "<head>" + linkA + "</head>", []string{uriA}},
		{"none any more", "<head>" + linkA + "</head>", "<head></head>", nil},
		{"rewritten by others", "<head>" + rewritten + "</head>", "<head>" + rewritten + "</head>", []string{uriA}},
		{"put by others", "<head>" + theirs + "</head>", "<head>" + theirs + "</head>", []string{uriA}},
		{"put by others, too", "<head>" + theirs + linkA + "</head>", "<head>" + theirs + "</head>", []string{uriA}},
		{"one put by others", "<head>" + theirs + "</head>", "<head>" + theirs + linkB + "</head>", []string{uriA, uriB}},
		{"put by others twice", "<head>" + theirs + theirs + "</head>", "<head>" + theirs + theirs + "</head>", []string{uriA}},
		{"of others, in no set", "<head><link rel=resourcesync href=x></head>", "<head><link rel=resourcesync href=x></head>", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := prepare.Insert([]byte(test.page), test.uris)
			if err != nil || string(got) != test.want {
				t.Errorf("got  %q, %v\nwant %q", got, err, test.want)
			}
			if again, err := prepare.Insert(got, test.uris); err != nil || !bytes.Equal(again, got) {
				t.Errorf("the second time: got %q, %v", again, err)
			}
		})
	}
}

func FuzzInsert(f *testing.F) {
	for _, page := range []string{
		"", "<head></head>", "<html>\r\n<head>\r\n\t<title>x</title>\r\n</head>", "<head><title>x<body>",
		"<!-- x --><head><script></head></script><template><p></template></head>", "<head/>",
		"<head>\n" + linkA + "\n" + linkB + "\n</head>", "<head><link rel=resourcesync href=x data-wellspring><meta>text", "\xef\xbb\xbf<head><noscript></noscript></head>",
	} {
		f.Add([]byte(page))
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		kept := bytes.Clone(page)
		got, err := prepare.Insert(page, []string{uriA, uriB})
		if !bytes.Equal(page, kept) {
			t.Fatalf("the page was changed in place")
		}
		if err != nil {
			return
		}
		again, err := prepare.Insert(got, []string{uriA, uriB})
		if err != nil || !bytes.Equal(again, got) {
			t.Fatalf("the second time: got %q, %v, want %q", again, err, got)
		}
		if bytes.Contains(bytes.ToLower(page), []byte("resourcesync")) || bytes.Contains(page, []byte("&")) {
			return // it may have links already
		}
		if !bytes.Contains(got, []byte(linkA)) || !bytes.Contains(got, []byte(linkB)) {
			t.Fatalf("no links in %q", got)
		}
		none, err := prepare.Insert(got, nil)
		if err != nil || !bytes.Equal(none, page) {
			t.Fatalf("taken out: got %q, %v, want %q", none, err, page)
		}
	})
}

func BenchmarkInsert(b *testing.B) {
	page := []byte("<!doctype html><html><head>\n" + strings.Repeat("<meta name=x content=y>\n", 20) + "</head>" + strings.Repeat("<p>text", 2000))
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := prepare.Insert(page, []string{uriA}); err != nil {
			b.Fatal(err)
		}
	}
}
