package plan

import (
	"bufio"
	"encoding/json"
	"io"
)

// WriteJSON writes a plan as one value: the header, phases with their files, and
// notifications if there are any.
func WriteJSON(out io.Writer, r *Reader) error {
	w := bufio.NewWriter(out) // which keeps its first error for Flush
	header, err := json.Marshal(&r.Header)
	if err != nil {
		return err
	}
	w.WriteString(string(header[:len(header)-1]) + `,"phases":[`)
	var phase Phase
	for f, err := range r.Files() {
		if err != nil {
			return err
		}
		if f.Phase != phase {
			begin(w, f.Phase, phase == "")
			phase = f.Phase
		} else {
			w.WriteString(",")
		}
		b, err := json.Marshal(f.line())
		if err != nil {
			return err
		}
		w.WriteString("\n    " + string(b))
	}
	if phase != "" {
		w.WriteString("]}")
	}
	w.WriteString("]")
	if notices := r.Notifications(); len(notices) > 0 {
		b, err := json.Marshal(notices)
		if err != nil {
			return err
		}
		w.WriteString(",\n  \"notifications\":" + string(b))
	}
	w.WriteString("}\n")
	return w.Flush()
}

// begin begins a phase, behind the one before.
func begin(w *bufio.Writer, phase Phase, first bool) {
	if !first {
		w.WriteString("]},")
	}
	action := "put"
	if phase == Delete {
		action = "delete"
	}
	w.WriteString("\n" + `  {"phase":"` + string(phase) + `","action":"` + action + `","files":[`)
}
