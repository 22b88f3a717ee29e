package patch

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A tree is a string (a scalar as it is written), a []any, or an object.
type (
	object []member
	member struct {
		name string
		v    any
	}
)

// layout is how a tree is written, apart from the code under test.
type layout struct{ newline, indent, comma, colon, array, object, end string }

func (l *layout) write(b *strings.Builder, v any, depth int) {
	switch v := v.(type) {
	case string:
		b.WriteString(v)
	case []any:
		l.items(b, len(v), depth, "[]", l.array, func(i int) { l.write(b, v[i], depth+1) })
	case object:
		l.items(b, len(v), depth, "{}", l.object, func(i int) {
			b.WriteString(`"` + v[i].name + `"` + l.colon)
			l.write(b, v[i].v, depth+1)
		})
	}
}

func (l *layout) items(b *strings.Builder, n, depth int, brackets, empty string, item func(i int)) {
	if n == 0 {
		b.WriteString(empty)
		return
	}
	b.WriteString(brackets[:1])
	for i := range n {
		if i > 0 {
			b.WriteString(l.comma)
		}
		b.WriteString(l.newline + strings.Repeat(l.indent, depth+1))
		item(i)
	}
	b.WriteString(l.newline + strings.Repeat(l.indent, depth) + brackets[1:])
}

func (l *layout) text(v any) []byte {
	var b strings.Builder
	l.write(&b, v, 0)
	return []byte(b.String() + l.end)
}

var layouts = map[string]layout{
	"compact":           {"", "", ",", ":", "[]", "{}", ""},
	"compact with end":  {"", "", ",", ":", "[]", "{}", "\n"},
	"json.dumps":        {"", "", ", ", ": ", "[]", "{}", ""},
	"comma only":        {"", "", ", ", ":", "[]", "{}", ""},
	"no indentation":    {"\n", "", ",", ": ", "[]", "{}", ""},
	"one space":         {"\n", " ", ",", ": ", "[]", "{}", "\n"},
	"two spaces":        {"\n", "  ", ",", ": ", "[]", "{}", ""},
	"JSON::PP":          {"\n", "   ", ",", " : ", "[]", "{}", "\n"},
	"four spaces":       {"\n", "    ", ",", ": ", "[]", "{}", "\n"},
	"eight spaces":      {"\n", "        ", ",", ": ", "[]", "{}", "\n"},
	"tab":               {"\n", "\t", ",", ": ", "[]", "{}", "\n"},
	"CRLF":              {"\r\n", "  ", ",", ": ", "[]", "{}", "\r\n"},
	"space in empty":    {"\n", "  ", ",", ": ", "[ ]", "{ }", "\n"},
	"indented and a:b":  {"\n", "  ", ",", ":", "[]", "{}", "\n"},
	"compact with CRLF": {"", "", ",", ":", "[]", "{}", "\r\n"},
}

var scalars = []string{"null", "true", "0", "-1.50", "1e400", "123456789012345678901234567890", `""`, `"\u00e9\/"`, `"é\n\"[{,:"`, `"\ud800"`}

func randomTree(r *rand.Rand, depth int) any {
	n := r.IntN(6)
	switch k := r.IntN(4); {
	case depth == 0 || k < 2 && depth < 4:
		return scalars[r.IntN(len(scalars))]
	case k == 2:
		a := []any{}
		for range n {
			a = append(a, randomTree(r, depth-1))
		}
		return a
	}
	o := object{}
	for i := range n {
		o = append(o, member{fmt.Sprintf("%s/~%d é\\u00e9", words[r.IntN(len(words))], i), randomTree(r, depth-1)})
	}
	return o
}

// editTree changes something in a tree, in a way that JSON Patch can describe.
func editTree(r *rand.Rand, v any) any {
	switch v := v.(type) {
	case []any:
		i := r.IntN(len(v) + 1)
		if v = slices.Clone(v); i == len(v) || r.IntN(4) == 0 {
			return slices.Insert(v, i, randomTree(r, 1))
		}
		if r.IntN(4) == 0 {
			return slices.Delete(v, i, i+1)
		}
		v[i] = editTree(r, v[i])
		return v
	case object:
		i := r.IntN(len(v) + 1)
		if v = slices.Clone(v); i == len(v) {
			return append(v, member{"new" + strconv.Itoa(r.IntN(1e9)), randomTree(r, 1)})
		}
		if r.IntN(4) == 0 {
			return slices.Delete(v, i, i+1)
		}
		v[i].v = editTree(r, v[i].v)
		return v
	}
	return scalars[r.IntN(len(scalars))]
}

// TestJSON changes a record or two among many, in all layouts.
func TestJSON(t *testing.T) {
	t.Parallel()
	for name, l := range layouts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(few(20)) {
				r := random(seed)
				records := []any{object{}, []any{}}
				for i := range 50 {
					records = append(records, object{{"id", strconv.Itoa(i)}, {"title", `"` + sentence(r) + `"`}, {"more", randomTree(r, 4)}})
				}
				now := slices.Clone(records)
				for range 1 + r.IntN(2) {
					i := 2 + r.IntN(len(now)-2)
					switch r.IntN(4) {
					case 0:
						now = slices.Delete(now, i, i+1)
					case 1:
						now = slices.Insert(now, i, randomTree(r, 3))
					default:
						now[i] = editTree(r, now[i])
					}
				}
				before, after := l.text(object{{"records", records}, {"count", "100"}}), l.text(object{{"records", now}, {"count", "100"}})
				if bytes.Equal(before, after) {
					continue
				}
				if p := offered(t, "application/ld+json; charset=utf-8", before, after); p.Type != jsonType || p.Extension != ".json-patch" {
					t.Errorf("%d: %s", seed, p.Type)
				}
			}
		})
	}
}

// TestJSONFallsBack shows what JSON Patch cannot do, which is described as bytes.
func TestJSONFallsBack(t *testing.T) {
	t.Parallel()
	r := random(1)
	all := "[\n" + strings.Repeat("  \"same\",\n", 200) + "  \"last\"\n]\n"
	long := `"` + strings.Repeat(sentence(r)+" ", 50) + `"`
	for name, test := range map[string]struct{ before, now string }{
		"one space more":   {all, strings.Replace(all, "  \"same\"", "   \"same\"", 1)},
		"no usual layout":  {"[ " + long + " ]", "[ " + long + ", 1 ]"},
		"another end":      {all, all + "\n"},
		"member in front":  {`{"a":` + long + `}`, `{"b":1,"a":` + long + `}`},
		"spelling of name": {`{"é":` + long + `}`, `{"\u00e9":` + long + `}`},
		"double name":      {`{"a":1,"a":` + long + `}`, `{"a":2,"a":` + long + `}`},
		"half a character": {`{"\ud800":` + long + `}`, `{"\ud800":` + long + `,"b":2}`},
		"invalid UTF-8":    {`["` + "\xff" + `",` + long + `]`, `["` + "\xff" + `",` + long + `,1]`},
		"byte order mark":  {"\ufeff[" + long + `]`, "\ufeff[" + long + `,1]`},
		"deep":             {strings.Repeat("[", 150) + long + strings.Repeat("]", 150), strings.Repeat("[", 150) + "1," + long + strings.Repeat("]", 150)},
		"not JSON":         {long[:len(long)-1], long[1:]},
	} {
		if p := offered(t, "application/json", []byte(test.before), []byte(test.now)); p.Type != zstdType {
			t.Errorf("%s: %s", name, p.Content)
		}
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ before, now, want string }{
		{`{"a":1}`, `{"a":1}`, ``},
		{`{"a":1}`, `{ "a" : 1 }`, ``},
		{`1`, `[]`, `{"op":"replace","path":"","value":[]}`},
		{`{"abcdefghijklmnopqrstuvwxyz":1,"b":2}`, `{"abcdefghijklmnopqrstuvwxyz":1,"b":3}`, `{"op":"replace","path":"/b","value":3}`},
		{`{"a":1,"b":"long enough for a removal"}`, `{"b":"long enough for a removal"}`, `{"op":"remove","path":"/a"}`},
		{`{"b":"long enough for an addition"}`, `{"b":"long enough for an addition","~/é\u00e9":{ "z": 1.0,"a":[ ] }}`, `{"op":"add","path":"/~0~1éé","value":{"z":1.0,"a":[]}}`},
		{`{"b":"long enough for an addition"}`, `{"b":"long enough for an addition","\u00e9":1}`, `{"op":"add","path":"/\u00e9","value":1}`},
		{`{"a":"long enough","b":1,"c":"for two operations of this"}`, `{"a":"long enough","c":"for two operations of this","b":1}`, "{\"op\":\"remove\",\"path\":\"/b\"},\n{\"op\":\"add\",\"path\":\"/b\",\"value\":1}"},
		{`["a long first element of it",1,2,3]`, `["a long first element of it",2,3]`, `{"op":"remove","path":"/1"}`},
		{`["a long first element of it",1,3]`, `["a long first element of it",1,2,3]`, `{"op":"add","path":"/2","value":2}`},
		{`["a long first element of it",0,0,0]`, `["a long first element of it",0,0,0,0]`, `{"op":"add","path":"/4","value":0}`},
		{`[[1,2,3,4,5],[6]]`, `[[5,4,3,2,1],[6]]`, `{"op":"replace","path":"/0","value":[5,4,3,2,1]}`},
		{`["some long text",[1,2,3,4,5],"and some more long text"]`, `["some long text",[5,4,3,2,1],"and some more long text"]`, `{"op":"replace","path":"/1","value":[5,4,3,2,1]}`},
	} {
		d, err := parseStyled([]byte(test.before))
		if err != nil {
			t.Errorf("%s: %v", test.before, err)
			continue
		}
		want := test.want
		if want != "" {
			want = "[" + want + "]\n"
		}
		if got := string(d.diff([]byte(test.now))); got != want {
			t.Errorf("from %s to %s:\n%s, want\n%s", test.before, test.now, got, want)
		}
	}
}

func TestApplyJSON(t *testing.T) {
	t.Parallel()
	const none = "there is nothing at its path"
	for _, test := range []struct{ before, operations, want string }{
		{`{"a":1,  "b":2}`, ``, "not laid out"},
		{`{"a": 1, "b": 2}`, ``, `{"a": 1, "b": 2}`},
		{`{"a": 1, "b": 2}`, `{"op":"replace","path":"/a","value":[1,{"x":[]}]}`, `{"a": [1, {"x": []}], "b": 2}`},
		{`{"a": 1, "b": 2}`, `{"op":"add","path":"/a","value":3}`, `{"a": 3, "b": 2}`},
		{`{"a": 1, "b": 2}`, `{"op":"remove","path":"/a"},{"op":"add","path":"/a","value":3}`, `{"b": 2, "a": 3}`},
		{`{"a":1}`, `{"op":"remove","path":"/a"}`, `{}`},
		{`{"":{"":1}}`, `{"op":"replace","path":"//","value":2}`, `{"":{"":2}}`},
		{`{"a/b":1,"m~n":2}`, `{"op":"replace","path":"/a~1b","value":3},{"op":"remove","path":"/m~0n"}`, `{"a/b":3}`},
		{`{"~1":1}`, `{"op":"replace","path":"/~01","value":3}`, `{"~1":3}`},
		{`{"é":1}`, `{"op":"replace","path":"/\u00e9","value":"\u00e9"}`, `{"é":"\u00e9"}`},
		{`{"\u00e9":1}`, `{"op":"replace","path":"/é","value":2}`, `{"\u00e9":2}`},
		{`{}`, `{"op":"add","path":"/\u00e9","value":1}`, `{"\u00e9":1}`},
		{`{}`, `{"op":"add","path":"\u002f\"","value":1}`, `{"\"":1}`},
		{`{"x":{}}`, `{"op":"add","path":"/x\u002fa~1b","value":1}`, `{"x":{"a/b":1}}`},
		{`[1,2]`, `{"op":"add","path":"/0","value":0},{"op":"add","path":"/-","value":3},{"op":"add","path":"/4","value":4}`, `[0,1,2,3,4]`},
		{`[1,2]`, `{"value":0,"note":[],"path":"/1","op":"add"}`, `[1,0,2]`},
		{`[1,2]`, `{"op":"remove","path":"/1"},{"op":"remove","path":"/0"}`, `[]`},
		{"[\n 1\n]\n", `{"op":"remove","path":"/0"}`, "[]\n"},
		{"[\n 1\n]\n", `{"op":"add","path":"/1","value":{"a":[2]}}`, "[\n 1,\n {\n  \"a\": [\n   2\n  ]\n }\n]\n"},
		{`[1]`, `{"op":"replace","path":"","value":{"a":2}}`, `{"a":2}`},
		{`[1]`, `{"op":"add","path":"","value":null}`, `null`},
		{`[1]`, `{"op":"remove","path":""}`, "leaves nothing"},
		{`[1,2]`, `{"op":"add","path":"/3","value":0}`, none},
		{`[1,2]`, `{"op":"add","path":"/01","value":0}`, none},
		{`[1,2]`, `{"op":"add","path":"/+1","value":0}`, none},
		{`[1,2]`, `{"op":"replace","path":"/-","value":0}`, none},
		{`[1,2]`, `{"op":"remove","path":"/99999999999999999999"}`, none},
		{`[1,2]`, `{"op":"remove","path":"/0/0"}`, none},
		{`{"a":1}`, `{"op":"replace","path":"/b","value":0}`, none},
		{`{"a":1}`, `{"op":"remove","path":"/a"},{"op":"remove","path":"/a"}`, none},
		{`{"a":1}`, `{"op":"add","path":"/b/c","value":0}`, none},
		{`{"a":1}`, `{"op":"remove","path":"a"}`, "begin with a slash"},
		{`{"a":1}`, `{"op":"remove","path":"/~2"}`, "neither 0 nor 1"},
		{`{"a":1}`, `{"op":"add","path":"/b"}`, "no value"},
		{`{"a":1}`, `{"op":"remove"}`, "no path"},
		{`{"a":1}`, `{"op":"remove","path":1}`, "no path"},
		{`{"a":1}`, `{"path":"/a"}`, "unsupported"},
		{`{"a":1}`, `{"op":"move","from":"/a","path":"/b"}`, "unsupported"},
		{`{"a":1}`, `[]`, "not an object"},
		{`{"a":1}`, `1`, "not an object"},
		{`{"a":1}`, `{"op":"remove","op":"add","path":"/a"}`, "same name"},
		{`{"a":1}`, `]`, "not JSON"},
	} {
		got, err := Apply(jsonType, []byte(test.before), []byte("["+test.operations+"]"))
		if string(got) != test.want && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s to %s: %s, %v, want %s", test.operations, test.before, got, err, test.want)
		}
		if errors.Is(err, errMismatch) != (test.want == none) {
			t.Errorf("%s to %s: %v", test.operations, test.before, err)
		}
	}
	if _, err := Apply(jsonType, []byte("[]"), []byte("{}")); err == nil {
		t.Error("an object was taken for a JSON Patch")
	}
}

// TestManyMembers has objects for which there is an index.
func TestManyMembers(t *testing.T) {
	t.Parallel()
	var names []member
	for i := range 1000 {
		names = append(names, member{fmt.Sprintf("n%d\\u00e9", i), strconv.Itoa(i)})
	}
	l := layouts["compact"]
	now := append(slices.Clone(names[1:]), names[0], member{"last", "[]"})
	now[500].v = `"changed"`
	p := offered(t, "application/json", l.text(object(names)), l.text(object(now)))
	if n := bytes.Count(p.Content, []byte(`{"op"`)); p.Type != jsonType || n != 4 {
		t.Errorf("%s", p.Content)
	}
}

// TestHostileJSON has what would take very long, or all memory, without bounds.
func TestHostileJSON(t *testing.T) {
	t.Parallel()
	repeat := strings.Repeat
	name := repeat(`\u0061`, 10_000)
	var escaped []string
	for i := range 16 {
		escaped = append(escaped, fmt.Sprintf(`"%s%d":1`, name, i))
	}
	nested := repeat(`{"`+repeat("n", 5000)+`":`, 100)
	for what, test := range map[string]struct{ before, description string }{
		"nesting":           {"[]", repeat("[", 1<<20)},
		"nested operations": {"[]", "[" + repeat(`{"op":"add","path":"/0","value":`+repeat("[", 100)+repeat("]", 100)+`},`, 100) + "{}]"},
		"deep paths":        {"[]", `[{"op":"add","path":"` + repeat("/0", 1<<20) + `","value":1}]`},
		"values":            {"[" + repeat("0,", 1<<20) + "0]", "[]"},
		"moves":             {"[" + repeat("0,", 1<<18) + "0]", "[" + repeat(`{"op":"add","path":"/0","value":1},`, 1<<10) + `{"op":"add","path":"","value":1}]`},
		"escaped names":     {"{" + strings.Join(escaped, ",") + "}", "[" + repeat(`{"op":"add","path":"/a","value":1},`, 1<<14) + `{"op":"remove","path":""}]`},
		"indentation":       {"[\n        1\n]", `[{"op":"add","path":"/0","value":` + repeat("[", 120) + repeat("[],", 1<<15) + "1" + repeat("]", 120) + `}]`},
		"long paths":        {nested + "[" + repeat("0,", 1<<16) + "0]" + repeat("}", 100), "[{}]"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			if _, err := Apply(jsonType, []byte(test.before), []byte(test.description)); err == nil {
				t.Error("no error")
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
	before := nested + "[" + repeat("0,", 1<<16) + "0]" + repeat("}", 100)
	d, err := parseStyled([]byte(before))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(d.diff([]byte(strings.ReplaceAll(before, "0", "1")))); n > 2*len(before) {
		t.Errorf("%d bytes describe a change to %d", n, len(before))
	}
}
