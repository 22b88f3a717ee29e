// Package settings reads wellspring.toml, strictly: what it does not know, or what
// has another type than it should have, is an error that says where. It knows the
// form of settings and not what they mean.
package settings

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Name is how the file is called where nobody says another name.
const Name = "wellspring.toml"

// Kind is the type of a setting, as a person would call it.
type Kind string

// The kinds of settings. Those at the top of the file that have a flag are none of tables.
const (
	Text   Kind = "string" // at the top, a number or a date is taken as it is written
	Bool   Kind = "true or false"
	Number Kind = "number" // an integer
	List   Kind = "list of strings"
	table  Kind = "table"
	tables Kind = "tables"
)

// Key is a setting at the top of the file. Each flag of build has one.
type Key struct {
	Name string // with _ where the flag has -
	Kind Kind
}

// Value is what a setting at the top of the file is set to.
type Value struct {
	Text []string // one, but for a List
	Line int
}

// File is what a file says.
type File struct {
	Name   string
	Values map[string]Value // those with a flag, and others that are no tables
	Tables
}

// Tables are the parts of the file that have no flags.
type Tables struct {
	DescribedBy string     `toml:"described_by" doc:"URI, or path of a file of the source, of what describes the Source and its set of resources"`
	Hub         string     `toml:"hub" doc:"URL of a hub through which changes of documents are told to subscribers (Framework Notification 1.0); wellspring notify sends them"`
	Links       []Link     `toml:"link" doc:"A rule for links from resources to others (Z39.99-2017 §14). There can be any number of them."`
	Sets        []Set      `toml:"set" doc:"A set of resources, with a Capability List, lists and dumps of its own. There can be any number of them, and a file can be in several; a file that is in none is not published. What is said in the settings for all holds for each set that does not say it itself."`
	Versions    *Versions  `toml:"versions" doc:"With this table, even an empty one, what a resource was stays at a URI of its own when it changes, and lists link to it (Z39.99-2017 §14.6). It needs a Resource Dump, from which the former bytes come."`
	Patches     *Patches   `toml:"patches" doc:"With this table, even an empty one, changes are published with a description from which the new bytes can be made out of the former ones, where that is shorter than a third (Z39.99-2017 §14.4). It needs a Resource Dump, from which the former bytes come."`
	Resources   []Resource `toml:"resource" doc:"A rule about what is said of resources. There can be any number of them."`
}

// Error is something wrong with a file.
type Error struct {
	File         string
	Line, Column int // counted from 1
	Message      string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// ErrNoFile says that what was named cannot be a file of settings.
var ErrNoFile = errors.New("is not a file, or longer than 4 MiB")

// maxBytes is how long a file of settings may be: one that a person writes is
// shorter by far.
const maxBytes = 4 << 20

// Read reads a file. An error is of type [*Error] if it is about what stands in it.
func Read(name string, keys []Key) (*File, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("the settings: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxBytes {
		return nil, fmt.Errorf("the settings: %s %w", name, ErrNoFile)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("the settings: %w", err)
	}
	return Parse(name, b, keys)
}

// Parse takes the content of a file.
func Parse(name string, b []byte, keys []Key) (*File, error) {
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	target := reflect.New(typeOf(keys))
	d := toml.NewDecoder(bytes.NewReader(b)).DisallowUnknownFields()
	if err := d.Decode(target.Interface()); err != nil {
		return nil, located(name, err, keys)
	}
	f := &File{Name: name, Values: map[string]Value{}}
	lines := keyLines(b)
	v := target.Elem()
	f.Tables = v.FieldByName("Tables").Interface().(Tables)
	for i, key := range keys {
		if v.Field(i).IsNil() {
			continue
		}
		text, err := key.text(reflect.Indirect(v.Field(i)).Interface())
		if err != nil {
			return nil, &Error{name, lines[key.Name], 1, fmt.Sprintf("%s: %v", key.Name, err)}
		}
		f.Values[key.Name] = Value{text, lines[key.Name]}
	}
	for key, text := range map[string]string{"described_by": f.DescribedBy, "hub": f.Hub} {
		if text != "" {
			f.Values[key] = Value{[]string{text}, lines[key]}
		}
	}
	return f, f.check(lines)
}

// typeOf returns a struct type with a field for each key, and those of Tables.
func typeOf(keys []Key) reflect.Type {
	types := map[Kind]reflect.Type{
		Text: reflect.TypeFor[any](), Bool: reflect.TypeFor[*bool](), Number: reflect.TypeFor[*int64](), List: reflect.TypeFor[*[]string](),
	}
	var fields []reflect.StructField
	for i, key := range keys {
		fields = append(fields, reflect.StructField{
			Name: "F" + strconv.Itoa(i), Type: types[key.Kind], Tag: reflect.StructTag(`toml:"` + key.Name + `"`),
		})
	}
	fields = append(fields, reflect.StructField{Name: "Tables", Type: reflect.TypeFor[Tables](), Anonymous: true})
	return reflect.StructOf(fields)
}

// text returns a value as a flag takes it.
func (k Key) text(v any) ([]string, error) {
	switch x := v.(type) {
	case []string:
		return x, nil
	case []any: // as of a flag that takes several with a comma between them
		var items []string
		for _, item := range x {
			s, ok := item.(string)
			if !ok {
				return nil, fmt.Errorf("%v is not a string", item)
			}
			items = append(items, s)
		}
		return []string{strings.Join(items, ",")}, nil
	case float64:
		return nil, errors.New("write it in quotes")
	case time.Time:
		return []string{x.Format(time.RFC3339Nano)}, nil
	case bool, map[string]any:
		if k.Kind == Text {
			return nil, fmt.Errorf("%v is not a string", x)
		}
	}
	return []string{fmt.Sprint(v)}, nil
}

// located says where an error of decoding is, and what was meant.
func located(name string, err error, keys []Key) error {
	var all []Field
	for _, k := range keys {
		all = append(all, Field{Name: k.Name, Type: k.Kind})
	}
	all = append(all, Fields()...)
	message := ""
	decode, ok := errors.AsType[*toml.DecodeError](err)
	if missing, unknown := errors.AsType[*toml.StrictMissingError](err); unknown && len(missing.Errors) > 0 {
		decode, ok = &missing.Errors[0], true
		message = unknownSetting(all, decode.Key())
	} else if ok {
		message = wrongType(all, decode)
	}
	if !ok {
		return fmt.Errorf("the settings: %s: %w", name, err)
	}
	line, column := decode.Position()
	return &Error{name, line, column, message}
}

// unknownSetting says what was probably meant.
func unknownSetting(all []Field, path []string) string {
	message := "there is no setting " + dotted(path)
	last := path[len(path)-1]
	if len(path) == 2 && slices.Contains(names(all), last) {
		return message + "; settings for all stand above the first [[…]]"
	}
	_, beside := find(all, path)
	if near := Nearest(last, names(beside)); near != "" {
		message += fmt.Sprintf("; did you mean %s?", near)
	}
	return message
}

// wrongType says of which type a setting has to be, if that is what is wrong.
func wrongType(all []Field, err *toml.DecodeError) string {
	message := strings.ReplaceAll(strings.TrimPrefix(err.Error(), "toml: "), "\n", `\n`) // of a name
	path := err.Key()
	if len(path) == 0 || !strings.Contains(message, "cannot decode") && !strings.Contains(message, "cannot store") {
		return message
	}
	found, _ := find(all, path)
	switch found.Type {
	case Text:
		return dotted(path) + " has to be a string, in quotes"
	case Bool:
		return dotted(path) + " has to be true or false, without quotes"
	case Number:
		return dotted(path) + " has to be a whole number, without quotes"
	case List:
		return dotted(path) + ` has to be a list of strings, such as ["a", "b"]`
	}
	return dotted(path) + " has to be written as " + found.Header()
}

// dotted writes the name of a setting on one line.
func dotted(path []string) string {
	name := strings.Join(path, ".")
	if strings.ContainsFunc(name, unicode.IsControl) {
		return strconv.Quote(name)
	}
	return name
}

// keyLines returns the lines on which the keys at the top of a file stand, and
// those of tables, by name and number such as set.0.
func keyLines(b []byte) map[string]int {
	lines := map[string]int{}
	counts := map[string]int{}
	var p unstable.Parser
	p.Reset(b)
	top := true
	at, line := 0, 1
	for p.NextExpression() {
		e := p.Expression()
		key := e.Key()
		if !key.Next() {
			continue
		}
		name := strings.ToLower(string(key.Node().Data))       // as which any spelling counts
		if offset := int(key.Node().Raw.Offset); offset > at { // they come in order
			line += bytes.Count(b[at:offset], []byte("\n"))
			at = offset
		}
		switch e.Kind {
		case unstable.KeyValue:
			if top {
				lines[name] = line
			}
		case unstable.ArrayTable:
			top = false
			if key.Next() {
				continue
			}
			lines[name+"."+strconv.Itoa(counts[name])] = line
			counts[name]++
		case unstable.Table:
			top = false
			lines[name] = line
		}
	}
	return lines
}
