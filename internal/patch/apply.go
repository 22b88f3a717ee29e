package patch

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxWork is how many elements of arrays can be moved to make room for others, or to
// close the gaps that others leave, which takes half a second.
const maxWork = 64 << 20

// apply changes the document by a JSON Patch, and returns it in its own style. Members
// keep their places, and new ones come last.
func (d *document) apply(description []byte) ([]byte, error) {
	operations, _, err := parse(description)
	if err != nil {
		return nil, fmt.Errorf("the JSON Patch: %w", err)
	}
	if operations.in == nil || !operations.in.array {
		return nil, errors.New("the JSON Patch is not an array")
	}
	for i := range operations.in.items {
		if err := d.operation(operations.in.items[i].in); err != nil {
			return nil, fmt.Errorf("operation %d of the JSON Patch: %w", i+1, err)
		}
	}
	d.length += len(description)
	return d.write()
}

// member returns a member of an operation.
func (c *container) member(name string) *value {
	if i := c.find(name); i >= 0 {
		return &c.items[i]
	}
	return &value{}
}

func (d *document) operation(o *container) error {
	if o == nil || o.array {
		return errors.New("it is not an object")
	}
	op, _ := stringOf(o.member("op"))
	path, ok := stringOf(o.member("path"))
	if !ok {
		return errors.New("it has no path")
	}
	v := *o.member("value")
	switch op {
	case "remove":
		v = value{}
	case "add", "replace":
		if !v.isThere() {
			return errors.New("it has no value")
		}
	default:
		return fmt.Errorf("%.20q: %w", op, errors.ErrUnsupported)
	}
	if path == "" {
		return d.replaceRoot(op, v)
	}
	in, last, err := d.find(path)
	if err != nil {
		return err
	}
	if in.array {
		return d.changeElement(in, op, last, v)
	}
	return in.changeMember(op, last, nameIn(o.member("path").text, last), v)
}

// nameIn returns how the name that ends a path is written there, without quotes, so that
// its escapes are kept; or if it cannot be cut out, how it is usually written.
func nameIn(path, name string) string {
	written := path[strings.LastIndexByte(path, '/')+1 : len(path)-1]
	if unquote(written) == name {
		return written
	}
	return quote(name)
}

func stringOf(v *value) (string, bool) {
	if !strings.HasPrefix(v.text, `"`) {
		return "", false
	}
	return unquote(v.text[1 : len(v.text)-1]), true
}

func (d *document) replaceRoot(op string, v value) error {
	if op == "remove" {
		return errors.New("it leaves nothing")
	}
	d.root = v
	return nil
}

var errNotThere = fmt.Errorf("there is nothing at its path: %w", errMismatch)

// find returns what the value is in that a JSON Pointer leads to, and the last part of
// the pointer. See RFC 6901 §4.
func (d *document) find(pointer string) (in *container, last string, err error) {
	if pointer[0] != '/' {
		return nil, "", errors.New("its path does not begin with a slash")
	}
	at := &d.root
	for depth := 0; ; depth++ {
		if in = at.in; in == nil {
			return nil, "", errNotThere
		}
		if depth == maxDepth {
			return nil, "", errLarge
		}
		part, rest, more := strings.Cut(pointer[1:], "/")
		if strings.Count(part, "~") != strings.Count(part, "~0")+strings.Count(part, "~1") {
			return nil, "", errors.New("its path has a ~ with neither 0 nor 1")
		}
		part = unescaper.Replace(part)
		if !more {
			return in, part, nil
		}
		i := in.find(part)
		if in.array {
			i = elementAt(part, len(in.items))
		}
		if i < 0 {
			return nil, "", errNotThere
		}
		at, pointer = &in.items[i], "/"+rest
	}
}

// elementAt returns the index of an element of which there are n, or -1.
func elementAt(part string, n int) int {
	i, err := strconv.ParseUint(part, 10, 31)
	if err != nil || int(i) >= n || len(part) > 1 && part[0] == '0' {
		return -1
	}
	return int(i)
}

func (d *document) changeElement(in *container, op, last string, v value) error {
	n := len(in.items)
	if op == "add" {
		if last == "-" {
			last = strconv.Itoa(n)
		}
		n++
	}
	i := elementAt(last, n)
	if i < 0 {
		return errNotThere
	}
	if op == "replace" {
		in.items[i] = v
		return nil
	}
	if d.work += len(in.items) - i; d.work > maxWork {
		return errors.New("it takes too long to make room for so many values")
	}
	if op == "add" {
		in.items = slices.Insert(in.items, i, v)
	} else {
		in.items = slices.Delete(in.items, i, i+1)
	}
	return nil
}

func (c *container) changeMember(op, name, written string, v value) error {
	i := c.find(name)
	switch {
	case i >= 0 && op == "remove":
		c.removeMember(i)
	case i >= 0:
		c.items[i] = v // also what is added: see RFC 6902 §4.1
	case op == "add":
		c.addMember(written, v)
	default:
		return errNotThere
	}
	return nil
}
