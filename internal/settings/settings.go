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

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Name is how the file is called where nobody says another name.
const Name = "wellspring.toml"

// Kind is the type of a setting.
type Kind int

// The kinds of settings at the top of the file.
const (
	Text   Kind = iota // a string; a number or a date is taken as it is written
	Bool               // true or false
	Number             // an integer
	List               // an array of strings
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
	Values map[string]Value
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

	DescribedByLine int `toml:"-"`
	HubLine         int `toml:"-"`
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
		text, ok, err := key.text(v.Field(i))
		if err != nil {
			return nil, &Error{name, lines[key.Name], 1, fmt.Sprintf("%s: %v", key.Name, err)}
		}
		if ok {
			f.Values[key.Name] = Value{text, lines[key.Name]}
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
func (k Key) text(v reflect.Value) (text []string, ok bool, err error) {
	if v.IsNil() {
		return nil, false, nil
	}
	switch x := v.Interface().(type) {
	case *bool:
		return []string{strconv.FormatBool(*x)}, true, nil
	case *int64:
		return []string{strconv.FormatInt(*x, 10)}, true, nil
	case *[]string:
		return *x, true, nil
	case []any: // as of a flag that takes several with a comma between them
		var items []string
		for _, item := range x {
			s, ok := item.(string)
			if !ok {
				return nil, false, fmt.Errorf("%v is not a string", item)
			}
			items = append(items, s)
		}
		return []string{strings.Join(items, ",")}, true, nil
	case map[string]any, bool:
		return nil, false, fmt.Errorf("%v is not a string", x)
	case float64:
		return nil, false, errors.New("write it in quotes")
	case string:
		return []string{x}, true, nil
	case time.Time:
		return []string{x.Format(time.RFC3339Nano)}, true, nil
	case fmt.Stringer: // a date
		return []string{x.String()}, true, nil
	default:
		return []string{fmt.Sprint(x)}, true, nil
	}
}

// located says where an error of decoding is, and what was meant.
func located(name string, err error, keys []Key) error {
	if missing, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(missing.Errors) > 0 {
		first := &missing.Errors[0]
		line, column := first.Position()
		path := first.Key()
		message := fmt.Sprintf("there is no setting %s", strings.Join(path, "."))
		if len(path) == 2 && slices.Contains(namesBeside(path[1:], keys), path[1]) {
			message += "; settings for all stand above the first [[…]]"
		} else if near := Nearest(path[len(path)-1], namesBeside(path, keys)); near != "" {
			message += fmt.Sprintf("; did you mean %s?", near)
		}
		return &Error{name, line, column, message}
	}
	if decode, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column := decode.Position()
		if what := wrongType(decode, keys); what != "" {
			return &Error{name, line, column, what}
		}
		return &Error{name, line, column, strings.TrimPrefix(decode.Error(), "toml: ")}
	}
	return fmt.Errorf("the settings: %s: %w", name, err)
}

// wrongType says of which type a setting has to be, if that is what is wrong.
func wrongType(err *toml.DecodeError, keys []Key) string {
	path := err.Key()
	if len(path) == 0 || !strings.Contains(err.Error(), "cannot decode") && !strings.Contains(err.Error(), "cannot store") {
		return ""
	}
	kinds := map[string]string{
		"string": "a string, in quotes", "true or false": "true or false, without quotes", "number": "a whole number, without quotes",
		"list of strings": `a list of strings, such as ["a", "b"]`, "tables": "written as [[" + path[0] + "]]", "table": "written as [" + path[0] + "]",
	}
	kind := ""
	for _, k := range keys {
		if k.Name == path[0] {
			kind = map[Kind]string{Text: "string", Bool: "true or false", Number: "number", List: "list of strings"}[k.Kind]
		}
	}
	for _, f := range Fields() {
		if f.Name != path[0] {
			continue
		}
		kind = f.Type
		for _, field := range f.Fields {
			if len(path) > 1 && field.Name == path[len(path)-1] {
				kind = field.Type
			}
		}
	}
	return fmt.Sprintf("%s has to be %s", strings.Join(path, "."), kinds[kind])
}

// namesBeside returns the names of the settings where one was looked for.
func namesBeside(path toml.Key, keys []Key) []string {
	var names []string
	if len(path) == 1 {
		for _, k := range keys {
			names = append(names, k.Name)
		}
		return append(names, fieldNames(reflect.TypeFor[Tables]())...)
	}
	t := reflect.TypeFor[Tables]()
	for _, part := range path[:len(path)-1] {
		t = fieldType(t, part)
		if t == nil {
			return nil
		}
	}
	return fieldNames(t)
}

func fieldNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("toml"); name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// fieldType returns the struct type of a table, or nil.
func fieldType(t reflect.Type, name string) reflect.Type {
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("toml") != name {
			continue
		}
		f := t.Field(i).Type
		for f.Kind() == reflect.Slice || f.Kind() == reflect.Pointer {
			f = f.Elem()
		}
		if f.Kind() == reflect.Struct {
			return f
		}
	}
	return nil
}

// Nearest returns the name that is most like another one, or nothing if none is like
// it.
func Nearest(name string, names []string) string {
	best, least := "", max(len(name)/3, 2)+1
	for _, n := range names {
		if d := distance(strings.ReplaceAll(name, "-", "_"), n); d < least {
			best, least = n, d
		}
	}
	return best
}

// distance counts the edits that lead from one string to another.
func distance(x, y string) int {
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(x) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(y) {
			cost := diagonal
			if x[i] != y[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(y)]
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
		name := string(key.Node().Data)
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
