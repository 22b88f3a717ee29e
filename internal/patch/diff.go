package patch

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// diff returns a JSON Patch that leads from the document to now, but for the style of
// it and where it is not possible for the order of members, or nil. It has one operation
// a line. The JSON Patches of github.com/wI2L/jsondiff would not do: its options are to
// describe an array by one operation for each element that has moved, or to take time
// and memory that grow with the square of its length; and values come out of it with
// their members sorted.
func (d *document) diff(now []byte) []byte {
	root, _, err := parse(now)
	if err != nil {
		return nil
	}
	df := differ{writer: writer{style: compact, max: math.MaxInt}}
	df.value(&d.root, &root)
	if len(df.b) == 0 {
		return nil
	}
	return slices.Concat([]byte("["), df.b[len(separator):], []byte("]\n"))
}

const separator = ",\n"

// differ writes operations that lead from one value to another, each behind a separator.
type differ struct {
	writer
	path []byte // a JSON Pointer to where it is, as it is written in a string
}

// value describes a change to a value: by a new one, unless operations on what is in it
// are shorter.
func (d *differ) value(a, b *value) {
	if a.hash == b.hash {
		return
	}
	start := len(d.b)
	// That what is written is given up as soon as it is longer than this also bounds it,
	// where a long path would be repeated for each of many values.
	most := start + len(separator+`{"op":"replace","path":"","value":}`) + len(d.path) + b.size
	isDone := a.in != nil && b.in != nil && a.in.array == b.in.array
	if isDone && a.in.array {
		isDone = d.array(a.in.items, b.in.items, most)
	} else if isDone {
		isDone = d.object(a.in, b.in, most)
	}
	if !isDone {
		d.b = d.b[:start]
		d.operation("replace", b)
	}
}

// operation appends an operation; one that removes has no value.
func (d *differ) operation(op string, v *value) {
	d.b = append(append(append(d.b, separator+`{"op":"`...), op...), `","path":"`...)
	d.b = append(append(d.b, d.path...), '"')
	if v != nil {
		d.b = append(d.b, `,"value":`...)
		d.writer.value(v, 0)
	}
	d.b = append(d.b, '}')
}

// under calls a function with the path of something inside.
func (d *differ) under(part string, describe func()) {
	length := len(d.path)
	d.path = append(append(d.path, '/'), part...)
	describe()
	d.path = d.path[:length]
}

// object describes a change to an object, and reports whether that is short enough. What
// is added comes last, so that all that comes behind it has to be added again.
func (d *differ) object(a, b *container, most int) bool {
	kept := keep(a, b)
	for i, at := range kept.inOrder(len(a.items)) {
		if at >= 0 {
			d.under(pointerTo(a.names[i]), func() { d.value(&a.items[i], &b.items[at]) })
		} else {
			d.under(pointerTo(a.names[i]), func() { d.operation("remove", nil) })
		}
		if len(d.b) > most {
			return false
		}
	}
	for i := len(kept); i < len(b.items) && len(d.b) <= most; i++ {
		d.under(pointerTo(b.names[i]), func() { d.operation("add", &b.items[i]) })
	}
	return len(d.b) <= most
}

// places says for the first members of an object where they are in another.
type places []int

// keep returns where the first members of b are in a, as long as they are in the same
// order there.
func keep(a, b *container) places {
	var kept places
	last := -1
	for _, name := range b.names {
		i := a.find(unquote(name))
		if i <= last {
			break
		}
		kept = append(kept, i)
		last = i
	}
	return kept
}

// inOrder returns where each of n members is, or -1.
func (p places) inOrder(n int) []int {
	at := slices.Repeat([]int{-1}, n)
	for j, i := range p {
		at[i] = j
	}
	return at
}

// pointerTo returns the name of a member, as it is written, in the form in which it is
// part of a pointer. See RFC 6901 §3.
func pointerTo(name string) string {
	if s := unquote(name); strings.ContainsAny(s, "~/") {
		return quote(escaper.Replace(s))
	}
	return name
}

var (
	escaper   = strings.NewReplacer("~", "~0", "/", "~1")
	unescaper = strings.NewReplacer("~0", "~", "~1", "/")
)

// array describes a change to an array, and reports whether that is short enough. It
// goes from left to right, so that up to where it is, the array is as it is to be.
func (d *differ) array(a, b []value, most int) bool {
	i, j := 0, 0
	for _, r := range append(align(a, b), run{len(a), len(b), 0}) {
		for i < r.a || j < r.b {
			if len(d.b) > most {
				return false
			}
			d.under(strconv.Itoa(j), func() {
				switch {
				case j == r.b:
					d.operation("remove", nil)
					i++
				case i == r.a:
					d.operation("add", &b[j])
					j++
				default:
					d.value(&a[i], &b[j])
					i, j = i+1, j+1
				}
			})
		}
		i, j = r.a+r.n, r.b+r.n
	}
	return len(d.b) <= most
}

// run is how many elements are the same from here on, in two arrays.
type run struct{ a, b, n int }

// align returns what two arrays have in common, in order. What is in the middle of them
// is found by those elements that are in each of them once, as in what is known as a
// patience diff, which takes no more time than sorting them does.
func align(a, b []value) []run {
	head := 0
	for head < min(len(a), len(b)) && a[head].hash == b[head].hash {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail].hash == b[len(b)-1-tail].hash {
		tail++
	}
	runs := []run{{0, 0, head}}
	end := run{len(a) - tail, len(b) - tail, tail}
	i, j := head, head
	for _, at := range increasing(once(a[head:end.a], b[head:end.b])) {
		r := run{at.a + head, at.b + head, 0}
		if r.a < i {
			continue // it is part of a run
		}
		for r.a > i && r.b > j && a[r.a-1].hash == b[r.b-1].hash {
			r.a, r.b = r.a-1, r.b-1
		}
		for r.a+r.n < end.a && r.b+r.n < end.b && a[r.a+r.n].hash == b[r.b+r.n].hash {
			r.n++
		}
		runs = append(runs, r)
		i, j = r.a+r.n, r.b+r.n
	}
	return append(runs, end)
}

// once returns where the values are that are in each of two arrays once, in the order of
// the first.
func once(a, b []value) []run {
	type count struct{ a, b, at int32 }
	seen := make(map[uint64]count, min(len(a), len(b)))
	for j := range b {
		n := seen[b[j].hash]
		seen[b[j].hash] = count{b: n.b + 1, at: int32(j)}
	}
	for i := range a {
		if n, ok := seen[a[i].hash]; ok {
			n.a++
			seen[a[i].hash] = n
		}
	}
	var all []run
	for i := range a {
		if n := seen[a[i].hash]; n.a == 1 && n.b == 1 {
			all = append(all, run{a: i, b: int(n.at)})
		}
	}
	return all
}

// increasing returns the longest sequence of those that are in the order of both arrays.
func increasing(all []run) []run {
	var ends []int // the sequence of each length that ends earliest: with which of all
	before := make([]int, len(all))
	for i, r := range all {
		n, _ := slices.BinarySearchFunc(ends, r.b, func(end, b int) int { return cmp.Compare(all[end].b, b) })
		if n == len(ends) {
			ends = append(ends, i)
		}
		ends[n] = i
		if n > 0 {
			before[i] = ends[n-1]
		}
	}
	if len(ends) == 0 {
		return nil
	}
	longest := make([]run, len(ends))
	for n, i := len(ends)-1, ends[len(ends)-1]; n >= 0; n, i = n-1, before[i] {
		longest[n] = all[i]
	}
	return longest
}
