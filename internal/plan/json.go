package plan

import (
	"bufio"
	"encoding/json"
	"io"
)

// WriteJSON writes a plan as one value: the header, phases with their files, and
// notifications if there are any.
func WriteJSON(out io.Writer, r *Reader) error {
	w := &jsonWriter{w: bufio.NewWriter(out)}
	header, err := json.Marshal(&r.Header)
	if err != nil {
		return err
	}
	w.text(string(header[:len(header)-1]) + `,"phases":[`)
	var phase Phase
	for f, err := range r.Files() {
		if err != nil {
			return err
		}
		if f.Phase != phase {
			w.begin(f.Phase, phase == "")
			phase = f.Phase
		} else {
			w.text(",")
		}
		w.text("\n    ")
		w.file(f)
	}
	if phase != "" {
		w.text("]}")
	}
	w.text("]")
	if notices := r.Notifications(); len(notices) > 0 {
		b, err := json.Marshal(notices)
		if err != nil {
			return err
		}
		w.text(",\n  \"notifications\":" + string(b))
	}
	w.text("}\n")
	if w.err != nil {
		return w.err
	}
	return w.w.Flush()
}

type jsonWriter struct {
	w   *bufio.Writer
	err error
}

func (w *jsonWriter) text(s string) {
	if w.err == nil {
		_, w.err = w.w.WriteString(s)
	}
}

// begin begins a phase, behind the one before.
func (w *jsonWriter) begin(phase Phase, first bool) {
	if !first {
		w.text("]},")
	}
	action := "put"
	if phase == Delete {
		action = "delete"
	}
	w.text("\n" + `  {"phase":"` + string(phase) + `","action":"` + action + `","files":[`)
}

func (w *jsonWriter) file(f *File) {
	b, err := f.marshal()
	if w.err == nil {
		w.err = err
	}
	w.text(string(b))
}
