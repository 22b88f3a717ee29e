package settings

import "reflect"

// Field describes a setting that has no flag.
type Field struct {
	Name string
	// Type is what a person would call its type.
	Type string
	Doc  string
	// Fields are those of a table.
	Fields []Field
}

// Header is how the table begins in a file.
func (f *Field) Header() string {
	if f.Type == "table" {
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
		name := f.Tag.Get("toml")
		if name == "-" {
			continue
		}
		field := Field{Name: name, Doc: f.Tag.Get("doc"), Type: typeName(f.Type)}
		if t := f.Type; (t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer) && t.Elem().Kind() == reflect.Struct {
			field.Fields = fieldsOf(t.Elem())
		}
		fields = append(fields, field)
	}
	return fields
}

func typeName(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct:
		return "table"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
			return "tables"
		}
		return "list of strings"
	case reflect.Int:
		return "number"
	case reflect.Bool:
		return "true or false"
	}
	return "string"
}
