package generator

// nowLeftOut counts resources that are deleted although their files are there: a
// rule leaves them out that did not before. Packages and archives still hold what
// was perhaps never meant to be published.
type nowLeftOut struct {
	looked, found int
	first         string
}

// maxLooked keeps a run that deletes very much from looking at very much.
const maxLooked = 1000

func (n *nowLeftOut) look(r *resourceSet, uri string) {
	s := r.prev.snapshot
	if n.looked == maxLooked || s.ResourceDump == nil && s.ChangeDump == nil && len(s.Archives) == 0 {
		return
	}
	n.looked++
	for _, path := range r.layout.Paths(uri) {
		if st, err := r.tree.Lstat(path); err == nil && !st.Mode.IsDir() {
			if n.found++; n.found == 1 {
				n.first = path
			}
			return
		}
	}
}

func (n *nowLeftOut) warn(r *resourceSet) {
	switch {
	case n.found == 1:
		r.warn("%q is left out now and was published before: packages and archives hold it until they are removed", n.first)
	case n.found > 1:
		r.warn("%q and %d more are left out now and were published before: packages and archives hold them until they are removed",
			n.first, n.found-1)
	}
}
