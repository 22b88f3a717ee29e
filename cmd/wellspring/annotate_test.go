package main

import (
	"regexp"
	"strings"
	"testing"
)

func TestShownIsNoCommand(t *testing.T) {
	t.Parallel()
	c := &cli{annotator: annotator{on: true}}
	for _, tt := range []struct{ text, want string }{
		{"plain: text\nhttps://example.org/::error::x\n", "plain: text\nhttps://example.org/::error::x\n"},
		{"::error::x\n", `\x3a:error::x` + "\n"},
		{"a\n \u00a0\u2003::add-mask::a", "a\n \u00a0\u2003" + `\x3a:add-mask::a`},
		{"a\t::error::x", `a\x09::error::x`},
		{"\r::error::x", `\x0d::error::x`},
		{"a ##[add-mask]e", `a #\x23[add-mask]e`},
		{"###[error]", `##\x23[error]`},
	} {
		if got := c.shown(tt.text); got != tt.want {
			t.Errorf("%q is shown as %q, not %q", tt.text, got, tt.want)
		}
	}
	if got := (&cli{}).shown("::error::##[x]"); got != "::error::##[x]" {
		t.Errorf("where nobody listens, it is shown as %q", got)
	}
}

func TestCommandsAreEscaped(t *testing.T) {
	t.Parallel()
	if got, want := commandData("50%\n::error::\r\x1b"), `50%25%0A::error::\x0d\x1b`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := commandProperty("a:b,c%\n"), "a%3Ab%2Cc%25%0A"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSpotOf(t *testing.T) {
	t.Parallel()
	c := &cli{settingsFile: "a/wellspring.toml"}
	for message, want := range map[string]spot{
		"a/wellspring.toml:3: jobs is wrong":        {"a/wellspring.toml", 3, 0},
		"a/wellspring.toml:3:14: no value":          {"a/wellspring.toml", 3, 14},
		"a/wellspring.toml: no such file":           {"a/wellspring.toml", 0, 0},
		"a/wellspring.toml:99999999999999999999: x": {"a/wellspring.toml", 0, 0},
		"b.toml:3: x": {},
	} {
		if got := c.spotOf(message); got != want {
			t.Errorf("%s is about %v, not %v", message, got, want)
		}
	}
	if got := (&cli{}).spotOf(":3: x"); got != (spot{}) {
		t.Errorf("without settings, it is about %v", got)
	}
}

// FuzzMarkdownText looks for a text that means more than itself: only entities, and
// what is never part of Markdown, may come out.
func FuzzMarkdownText(f *testing.F) {
	for _, s := range []string{"a b", "<script>", "[a](b)|c|`d`", "\n# x", "&amp;", "\x1b[31m", "é\u2028", "https://example.org/", strings.Repeat("x", 400)} {
		f.Add(s)
	}
	plain := regexp.MustCompile(`^([0-9A-Za-z ,/]|&#[0-9]+;|[^\x00-\x7f])*$`)
	f.Fuzz(func(t *testing.T, text string) {
		if got := markdownText(text); !plain.MatchString(got) {
			t.Errorf("%q becomes %q", text, got)
		}
	})
}
