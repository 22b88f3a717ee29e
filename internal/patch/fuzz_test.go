package patch

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// FuzzJSON checks that what is offered for two JSON bitstreams leads from one to the
// other, and that a JSON Patch always leads to equal values.
func FuzzJSON(f *testing.F) {
	for _, l := range layouts {
		r := random(uint64(len(l.indent)))
		tree := randomTree(r, 4)
		f.Add(l.text(tree), l.text(editTree(r, tree)))
	}
	f.Add([]byte(`{"a":[1,2,3],"b":{"c":null}}`), []byte(`{"b":{"c":[]},"a":[3,1,2]}`))
	f.Add([]byte(`[0,1,2,3,4,5]`), []byte(`[5,0,1,9,2,4]`))
	long := strings.Repeat("x", 3*minLength)
	f.Fuzz(func(t *testing.T, before, now []byte) {
		wrap := func(b []byte) []byte { return []byte(`{"x":"` + long + `","y":` + string(b) + `}`) }
		// Not by Make, which would have the encoder take most of the time.
		if description := makeJSON(wrap(before), wrap(now)); description != nil {
			if got, err := Apply(jsonType, wrap(before), description); err != nil || !bytes.Equal(got, wrap(now)) {
				t.Errorf("%s\nmakes %s of\n%s", description, got, before)
			}
		}
		d, err := parseStyled(before)
		if err != nil {
			return
		}
		description := d.diff(now)
		if description == nil {
			return
		}
		got, err := Apply(jsonType, before, description)
		if err != nil {
			t.Fatalf("%s\nto %s: %v", description, before, err)
		}
		if !reflect.DeepEqual(values(t, got), values(t, now)) {
			t.Errorf("%s\nmakes %s of\n%s, want\n%s", description, got, before, now)
		}
	})
}

func values(t *testing.T, b []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// FuzzApply gives Apply what nobody has made.
func FuzzApply(f *testing.F) {
	before, now := pair(300, 300)
	if description, err := encode(before, now); err == nil {
		f.Add(false, before, description[headerLength:])
	}
	f.Add(false, []byte("a"), []byte("\x28\xb5\x2f\xfd\x20\x01\x09\x00\x00x"))
	f.Add(true, []byte(`{"a":[1,2]}`), []byte(`[{"op":"remove","path":"/a/0"}]`))
	f.Add(true, []byte("[\n  1\n]\n"), []byte(`[{"op":"add","path":"/-","value":{"\u00e9":[]}}]`))
	f.Fuzz(func(t *testing.T, isJSON bool, before, description []byte) {
		mediaType := jsonType
		if !isJSON {
			sum := sha256.Sum256(before)
			mediaType, description = zstdType, append([]byte(magic+string(sum[:])), description...)
		}
		got, err := Apply(mediaType, before, description)
		if err == nil && len(got) > MaxLength {
			t.Errorf("%d bytes", len(got))
		}
		if err == nil && isJSON && !json.Valid(got) {
			t.Errorf("%q", got)
		}
	})
}
