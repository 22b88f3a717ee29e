package watch

import (
	"context"
	"encoding/binary"
	"hash/maphash"
	"io/fs"
	"path/filepath"
)

// poll gives a hint, and then one whenever the tree looks different.
func (w *observer) poll(ctx context.Context) {
	seed := maphash.MakeSeed()
	last := w.look(ctx, seed)
	w.hint() // now, since what changes from here on will be seen
	for sleep(ctx, w.o.Poll) {
		now := w.look(ctx, seed)
		if now != last {
			w.hint()
		}
		last = now
	}
}

// look sums up what the tree looks like: names, kinds, permissions, lengths and times,
// but no times of directories, which change with what is ignored.
func (w *observer) look(ctx context.Context, seed maphash.Seed) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	root, err := filepath.EvalSymlinks(w.o.Root)
	if err != nil {
		h.WriteString(err.Error())
		return h.Sum64()
	}
	filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return fs.SkipAll
		}
		path, _ := filepath.Rel(root, name)
		if path = filepath.ToSlash(path); path != "." && w.o.Ignore(path, d.IsDir()) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		h.WriteString(path)
		h.WriteByte(0)
		if err != nil {
			h.WriteString(err.Error())
			return nil
		}
		if info, err := d.Info(); err == nil {
			writeInfo(&h, info)
		}
		return nil
	})
	return h.Sum64()
}

func writeInfo(h *maphash.Hash, info fs.FileInfo) {
	numbers := [3]uint64{uint64(info.Mode())}
	if !info.IsDir() {
		numbers[1], numbers[2] = uint64(info.Size()), uint64(info.ModTime().UnixNano())
	}
	var b []byte
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	h.Write(b)
}
