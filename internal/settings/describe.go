package settings

import (
	"reflect"
	"slices"
	"strings"
)

// Field describes a setting that has no flag.
type Field struct {
	Name string
	Type Kind
	Doc  string
	// Fields are those of a table.
	Fields []Field
}

// Header is how the table begins in a file.
func (f *Field) Header() string {
	if f.Type == table {
		return "[" + f.Name + "]"
	}
	return "[[" + f.Name + "]]"
}

// Fields describes the settings that have no flag.
func Fields() []Field { return fieldsOf(reflect.TypeFor[Tables]()) }

func fieldsOf(t reflect.Type) []Field {
	var fields []Field
	for i := range t.NumField() {
		f := t.Field(i)
		if name := f.Tag.Get("toml"); name != "-" {
			kind, inner := kindOf(f.Type)
			fields = append(fields, Field{name, kind, f.Tag.Get("doc"), inner})
		}
	}
	return fields
}

// kindOf returns what a type is called, and the settings in it if it is a table.
func kindOf(t reflect.Type) (Kind, []Field) {
	switch t.Kind() {
	case reflect.Pointer:
		return kindOf(t.Elem())
	case reflect.Struct:
		return table, fieldsOf(t)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
			return tables, fieldsOf(t.Elem())
		}
		return List, nil
	case reflect.Int:
		return Number, nil
	case reflect.Bool:
		return Bool, nil
	}
	return Text, nil
}

// find follows a path as far as there are such settings. It returns the last one that was
// found, and those among which the last name of the path was looked for.
func find(all []Field, path []string) (found Field, beside []Field) {
	for i, name := range path {
		at := slices.IndexFunc(all, func(f Field) bool { return f.Name == strings.ToLower(name) })
		if at < 0 && i < len(path)-1 {
			return found, nil
		}
		if at < 0 {
			return found, all
		}
		found, beside, all = all[at], all, all[at].Fields
	}
	return found, beside
}

func names(fields []Field) (list []string) {
	for _, f := range fields {
		list = append(list, f.Name)
	}
	return list
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
