package plan

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/wellspring-sync/wellspring/internal/notify"
)

// Notify adds what the subscribers of a topic are to be told of the run.
func (w *Writer) Notify(n notify.Notification) { w.notices = append(w.notices, n) }

// writeNotices writes what is to be told, also of an earlier plan as far as that was not
// told yet.
func (w *Writer) writeNotices(out io.Writer) error {
	notices := w.notices
	if w.earlier != nil {
		earlier, err := w.untold()
		if err != nil {
			return err
		}
		notices = w.mergeNotices(earlier, notices)
	}
	for i := range notices {
		b, err := json.Marshal(map[string]*notify.Notification{"notify": &notices[i]})
		if err == nil && len(b) >= longest {
			err = fmt.Errorf("the notification for %s is longer than a plan can have it", notices[i].Topic)
		}
		if err == nil {
			_, err = out.Write(append(b, '\n'))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// untold returns the notifications of the earlier plan that were not sent.
func (w *Writer) untold() ([]notify.Notification, error) {
	r, err := readThrough(w.name, func(*File) error { return nil })
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(r.Notifications(), func(n notify.Notification) bool { return r.IsNotified(n.Topic) }), nil
}

// mergeNotices makes one notification of those for the same topic.
func (w *Writer) mergeNotices(earlier, later []notify.Notification) (all []notify.Notification) {
	gone := func(uri string) bool { return w.gone[uri] }
	told := map[string]bool{}
	for i := range later {
		told[later[i].Topic] = true
		of := slices.IndexFunc(earlier, func(n notify.Notification) bool { return n.Topic == later[i].Topic })
		merged := &later[i]
		if of >= 0 {
			merged = notify.Merge(&earlier[of], merged, gone)
		}
		if merged != nil {
			all = append(all, *merged)
		}
	}
	for i := range earlier {
		if told[earlier[i].Topic] {
			continue
		}
		if n := notify.Merge(&earlier[i], nil, gone); n != nil {
			all = append(all, *n)
		}
	}
	return all
}

// Notifications returns those that are to be sent once the plan has been carried out, and
// all that have been sent. They are known when Files has ended.
func (r *Reader) Notifications() []notify.Notification { return r.notices }
