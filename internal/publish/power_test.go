package publish

import (
	"fmt"
	"log/slog"
	"maps"
	"path"
	"strings"
	"testing"
)

// A loss of power takes away changes of names that were not synced, and not
// always the last ones. The model keeps a log of what a transaction did, and
// replays it without some of them.

// change is one step of a transaction, as the model understands it.
type change struct {
	op, path string
	from     string // what is renamed
	content  string // of what is created
	emptied  bool   // what is pruned was empty
}

// dir is the directory that has to be synced to make the change durable.
func (c *change) dir() string {
	if c.op == "create" || c.op == "discard" {
		return stagingName
	}
	return path.Dir(c.path)
}

// changesOf returns what the sample transaction does until it crashes at a step.
func changesOf(t *testing.T, n int) []change {
	t.Helper()
	dir := sampleBefore.build(t)
	var list []change
	tx := &Tx{log: slog.New(slog.DiscardHandler)}
	tx.step = func(op, name string) error {
		if n--; n < 0 {
			return errCrash
		}
		c := change{op: op, path: name}
		if op == "rename" && name == journalName { // what was written the step before
			list[len(list)-1].content = treeOf(t, dir)[journalTemp]
		}
		if op == "rename" {
			c.from = journalTemp
			for i, f := range sample.puts {
				if f.path == name {
					c.from = fmt.Sprintf("%s/%06d", stagingName, i)
				}
			}
		}
		list = append(list, c)
		return nil
	}
	err := tx.open(dir)
	if err == nil {
		tx.lock, err = acquire(t.Context(), tx.root, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer tx.release()
	if tx.prepare() == nil && sample.stage(tx) == nil {
		tx.Commit(t.Context())
	}
	for i := range list {
		for j, f := range sample.puts {
			if list[i].op == "create" && list[i].path == fmt.Sprintf("%06d", j) {
				list[i].content = f.content
			}
		}
	}
	for i := range list {
		if c := &list[i]; c.op == "prune" {
			before := replay(list[:i], func(int) bool { return false })
			c.emptied = !before.hasBelow(c.path + "/")
		}
	}
	return list
}

// lasting reports which changes a sync made durable.
func lasting(list []change) []bool {
	durable := make([]bool, len(list))
	for i, c := range list {
		if c.op != "sync" {
			continue
		}
		for j := range i {
			durable[j] = durable[j] || list[j].dir() == c.path
		}
	}
	return durable
}

// replay does what a log says, but for what is lost and for what can then not
// be done.
func replay(list []change, lost func(int) bool) tree {
	tr := maps.Clone(sampleBefore)
	tr[Folder+"/"] = ""
	for i, c := range list {
		if lost(i) {
			continue
		}
		_, parent := tr[path.Dir(c.path)+"/"]
		parent = parent || path.Dir(c.path) == "."
		switch c.op {
		case "mkdir":
			if parent {
				tr[c.path+"/"] = ""
			}
		case "create":
			tr[stagingName+"/"+c.path] = c.content
		case "write":
			tr[c.path] = c.content
		case "rename":
			if content, ok := tr[c.from]; ok && parent {
				delete(tr, c.from)
				tr[c.path] = content
			}
		case "discard":
			delete(tr, stagingName+"/"+c.path)
		case "remove":
			delete(tr, c.path)
		case "prune":
			// Without its name, nothing that is in a directory can be reached.
			if c.emptied {
				maps.DeleteFunc(tr, func(name, _ string) bool { return strings.HasPrefix(name, c.path+"/") })
			}
		case "clear":
			maps.DeleteFunc(tr, func(name, _ string) bool { return strings.HasPrefix(name, c.path+"/") })
		}
	}
	return tr
}

func (tr tree) hasBelow(dir string) bool {
	for name := range tr {
		if name != dir && strings.HasPrefix(name, dir) {
			return true
		}
	}
	return false
}

// checkReader fails if a head is new before everything that was put earlier.
func checkReader(t *testing.T, what string, tr tree) {
	t.Helper()
	for i, head := range sample.puts {
		if head.body || tr[head.path] != head.content {
			continue
		}
		for _, earlier := range sample.puts[:i] {
			if tr[earlier.path] != earlier.content {
				t.Errorf("%s: %s is new, and %s is not there yet", what, head.path, earlier.path)
			}
		}
	}
}

// TestPowerLoss loses, at each step, all changes that are not durable, each of
// them alone, and all but each of them.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	total := len(steps(t))
	for n := range total + 1 {
		list := changesOf(t, n)
		durable := lasting(list)
		var open []int
		for i := range list {
			if !durable[i] && list[i].op != "sync" {
				open = append(open, i)
			}
		}
		losses := map[string]func(int) bool{"all": func(i int) bool { return !durable[i] }}
		for _, one := range open {
			losses[fmt.Sprintf("just %d", one)] = func(i int) bool { return i == one }
			losses[fmt.Sprintf("all but %d", one)] = func(i int) bool { return i != one && !durable[i] }
		}
		for name, lost := range losses {
			what := fmt.Sprintf("step %d, %s lost", n, name)
			tr := replay(list, lost)
			checkReader(t, what, tr)
			checkRecovery(t, what, tr)
			if t.Failed() {
				t.Fatalf("the changes: %+v", list)
			}
		}
	}
}

// checkRecovery has the next transaction end in the old or in the new state.
func checkRecovery(t *testing.T, what string, tr tree) {
	t.Helper()
	dir := tr.build(t)
	tx, err := Begin(t.Context(), dir, Options{})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if err := tx.Close(); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	want := sampleBefore
	if _, decided := tr[journalName]; decided || tr[sample.puts[0].path] != "" {
		want = sampleAfter
	}
	checkTree(t, what, treeOf(t, dir), want)
}
