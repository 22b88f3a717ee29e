// Package publish puts files into place all at once, as far as readers and
// crashes can tell. A transaction locks the directory, gathers the new files in
// a staging folder on the same file system, writes a journal, and only then
// moves them, in the order in which they may appear. A run that was killed
// after its journal is completed by the next one; one that was killed before is
// forgotten. The package knows nothing of what the files hold.
package publish

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Folder holds lock, journal and staged files while a transaction is open.
const Folder = ".wellspring"

const (
	lockName    = Folder + "/lock"
	stagingName = Folder + "/staging"
	journalName = Folder + "/journal"
	journalTemp = Folder + "/journal.tmp"
)

// IncompleteError says that a commit was decided and begun, and could not be
// ended. What is missing stays ready for the next transaction, which ends it.
type IncompleteError struct{ Err error }

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("the commit was begun and could not be completed: %v", e.Err)
}

func (e *IncompleteError) Unwrap() error { return e.Err }

// Options of a transaction.
type Options struct {
	// LockTimeout is how long to wait for another transaction to end.
	LockTimeout time.Duration
	// Owns reports whether a file, by its slash path relative to the directory,
	// may be put in place or removed. A journal that names any other is not
	// carried out, whoever wrote it. Which other files the journal names, it can
	// ask. Nil stands for all files.
	Owns func(path string, named func(path string) bool) bool
	// Log may be nil.
	Log *slog.Logger
}

// Tx is a transaction on one directory. It is not safe for concurrent use.
type Tx struct {
	root      *os.Root
	lock      *lock
	made      []string // directories that are this transaction's own, innermost first
	committed bool
	journal   journal
	owns      func(path string, named func(path string) bool) bool // may be nil
	staging   volume                                               // where the staging folder is
	log       *slog.Logger
	// Recovered is true if the transaction before was completed first.
	Recovered bool
	// Unlocked is true if the file system has no locks, so that runs on other
	// machines may not be kept out.
	Unlocked bool

	// step, if not nil, is told of each change of the file system before it
	// happens. Tests stop there.
	step func(op, path string) error
}

// journal is what a commit does, written down before it begins.
type journal struct {
	Format  int      `json:"format"`
	Puts    []Put    `json:"puts"`
	Removes []string `json:"removes,omitempty"`
}

const journalFormat = 1

// Put says where a staged file goes.
type Put struct {
	Staged string `json:"staged"` // its name, as given to Create
	Path   string `json:"path"`   // slash path, relative to the directory
	Length int64  `json:"length"`
	SHA256 string `json:"sha256"`
	// Body is true for a file that nothing refers to before a later one is in
	// place. Bodies that follow each other may become durable in any order.
	Body bool `json:"body,omitempty"`
}

// Begin locks the directory, which is made if need be, and completes or forgets
// what an earlier transaction left. It returns an error that is ErrLocked if
// another transaction is open.
func Begin(ctx context.Context, dir string, o Options) (*Tx, error) {
	return begin(ctx, dir, o, nil)
}

func begin(ctx context.Context, dir string, o Options, step func(op, path string) error) (*Tx, error) {
	t := &Tx{log: o.Log, owns: o.Owns, step: step}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	if err := t.open(dir); err != nil {
		t.unmake()
		return nil, err
	}
	var err error
	if t.lock, err = acquire(ctx, t.root, o.LockTimeout); err != nil {
		t.root.Close()
		t.unmake()
		return nil, err
	}
	t.Unlocked = t.lock.alone
	if err := t.prepare(); err != nil {
		if !IsIncomplete(err) {
			err = errors.Join(err, t.Close())
		} else {
			t.release()
		}
		return nil, err
	}
	return t, nil
}

// IsIncomplete reports whether an error is an IncompleteError.
func IsIncomplete(err error) bool {
	_, ok := errors.AsType[*IncompleteError](err)
	return ok
}

func (t *Tx) open(dir string) error {
	dir, err := resolve(dir)
	if err != nil {
		return fmt.Errorf("opening the output directory: %w", err)
	}
	for d := dir; isMissing(d) && d != filepath.Dir(d); d = filepath.Dir(d) {
		t.made = append(t.made, d)
	}
	if len(t.made) > 0 {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("making the output directory: %w", err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("opening the output directory: %w", err)
	}
	t.root = root
	return nil
}

// resolve returns the path of a directory without links and "..", as far as it is
// there. Files are found by that path as well as below the open directory, and
// both ways have to lead to the same ones.
func resolve(dir string) (string, error) {
	if runtime.GOOS == "windows" { // which takes ".." away before it looks at links
		return filepath.Clean(dir), nil
	}
	real, err := filepath.EvalSymlinks(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	above, name := filepath.Split(strings.TrimRight(dir, "/"))
	if name == "" {
		return "", err
	}
	if above, err = resolve(cmp.Or(above, ".")); err != nil {
		return "", err
	}
	return filepath.Join(above, name), nil
}

func isMissing(name string) bool {
	_, err := os.Lstat(name)
	return errors.Is(err, fs.ErrNotExist)
}

// unmake removes the directories that were made, as far as they are empty.
func (t *Tx) unmake() {
	for _, d := range t.made {
		os.Remove(d)
	}
}

// prepare completes a commit that was begun, throws away what never came to
// one, and makes a new staging folder.
func (t *Tx) prepare() error {
	if err := t.recover(); err != nil {
		return err
	}
	return t.Clear()
}

// Clear removes all staged files, which must be closed, and none of which is planned to be
// put in place.
func (t *Tx) Clear() error {
	if err := t.clear(); err != nil {
		return fmt.Errorf("clearing the staging folder: %w", err)
	}
	if err := t.mkdir(stagingName); err != nil {
		return fmt.Errorf("making the staging folder: %w", err)
	}
	return nil
}

// clear removes what was staged.
func (t *Tx) clear() error {
	return t.do("clear", stagingName, func() error { return t.root.RemoveAll(stagingName) })
}

// Pending reports whether a directory has a commit in it that was begun and not
// completed.
func Pending(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(journalName)))
	return err == nil
}

// Root returns the directory, for reading what was published.
func (t *Tx) Root() *os.Root { return t.root }

// Create makes a staged file, open for reading and writing. Whoever has written
// it calls Sync and Close. Create and Discard may be called concurrently, with
// different names.
func (t *Tx) Create(name string) (*os.File, error) {
	if !isName(name) {
		return nil, fmt.Errorf("%q cannot be the name of a staged file", name)
	}
	if err := t.tell("create", name); err != nil {
		return nil, err
	}
	f, err := t.root.OpenFile(stagingName+"/"+name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, fmt.Errorf("making a staged file: %w", err)
	}
	return f, nil
}

// OpenStaged opens a staged file for reading and writing.
func (t *Tx) OpenStaged(name string) (*os.File, error) {
	return t.root.OpenFile(stagingName+"/"+name, os.O_RDWR, 0)
}

// Discard removes a staged file that is not needed.
func (t *Tx) Discard(name string) error {
	return t.do("discard", name, func() error { return t.root.Remove(stagingName + "/" + name) })
}

// Put plans to move a staged file into place. The order of calls is the order
// of the commit.
func (t *Tx) Put(p Put) { t.journal.Puts = append(t.journal.Puts, p) }

// Remove plans to remove a file, after everything was put in place. A file that
// is not there is fine.
func (t *Tx) Remove(path string) { t.journal.Removes = append(t.journal.Removes, path) }

// Removes returns the files that are planned to be removed, each by its path.
func (t *Tx) Removes() []string { return t.journal.Removes }

// Commit does what was planned. Up to the moment when the journal is in place,
// an error leaves everything as it was. From then on there is no way back: an
// error is an *[IncompleteError], and the context is no longer asked.
func (t *Tx) Commit(ctx context.Context) error {
	if err := t.check(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := t.writeJournal(); err != nil {
		return fmt.Errorf("writing the journal: %w", err)
	}
	t.committed = true
	return t.apply(&t.journal)
}

// check makes sure that the plan can be carried out, now and by a later
// transaction that finds it in the journal.
func (t *Tx) check() error {
	err := t.journal.check()
	if err == nil {
		err = t.checkOwned(&t.journal)
	}
	if err != nil {
		return fmt.Errorf("planning the commit: %w", err)
	}
	t.staging = volumeOf(t.root, stagingName)
	for i := range t.journal.Puts {
		p := &t.journal.Puts[i]
		if err := t.checkStaged(p); err != nil {
			return err
		}
		if err := t.checkTarget(p.Path, fs.FileMode.IsRegular, "no regular file"); err != nil {
			return err
		}
		if err := t.checkVolume(path.Dir(p.Path)); err != nil {
			return err
		}
	}
	isFile := func(m fs.FileMode) bool { return !m.IsDir() }
	for _, name := range t.journal.Removes {
		if err := t.checkTarget(name, isFile, "a directory"); err != nil {
			return err
		}
	}
	return nil
}

// checkStaged makes sure that a staged file is there, as far as that shows
// without reading it.
func (t *Tx) checkStaged(p *Put) error {
	info, err := t.root.Lstat(stagingName + "/" + p.Staged)
	if err == nil && info.Size() != p.Length {
		err = errOther
	}
	if err != nil {
		return fmt.Errorf("looking at what was staged for %s: %w", p.Path, err)
	}
	return nil
}

// checkTarget makes sure that a target, if there is something, is fine, and
// that its directory can be changed.
func (t *Tx) checkTarget(name string, fine func(fs.FileMode) bool, otherwise string) error {
	info, err := t.root.Lstat(name)
	if err == nil && !fine(info.Mode()) {
		return fmt.Errorf("%s is in the way: it is %s", name, otherwise)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("looking at %s: %w", name, err)
	}
	return t.checkDir(path.Dir(name))
}

// checkDir makes sure that a directory, or where it would be made, is one in
// which names can be changed.
func (t *Tx) checkDir(dir string) error {
	_, err := t.root.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) && dir != "." {
		return t.checkDir(path.Dir(dir))
	}
	if err != nil {
		return fmt.Errorf("looking at %s: %w", dir, err)
	}
	info, err := t.root.Stat(dir)
	if err == nil && !info.IsDir() {
		return fmt.Errorf("%s is in the way: it is no directory", dir)
	}
	if err == nil {
		err = checkWritable(t.root, dir)
	}
	if err != nil {
		return fmt.Errorf("looking at %s: %w", dir, err)
	}
	return nil
}

// checkVolume makes sure that files can be moved from the staging folder to a
// directory, or to where it would be made.
func (t *Tx) checkVolume(dir string) error {
	for ; dir != "."; dir = path.Dir(dir) {
		if _, err := t.root.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if v := volumeOf(t.root, dir); v.isKnown() && t.staging.isKnown() && v != t.staging {
		return fmt.Errorf("another file system is mounted at or above %s, so that files cannot be moved there: "+
			"remove the mount, or write the publication elsewhere with --out or --folder", dir)
	}
	return nil
}

// writeJournal ends with the rename after which the commit is decided.
func (t *Tx) writeJournal() error {
	t.journal.Format = journalFormat
	b, err := json.Marshal(&t.journal)
	if err != nil {
		return err
	}
	if err := t.syncDir(stagingName); err != nil {
		return err
	}
	if err := t.remove(journalTemp); err != nil { // a killed run's
		return err
	}
	if err := t.write(journalTemp, b); err != nil {
		return err
	}
	return t.rename(journalTemp, journalName)
}

func (t *Tx) write(name string, b []byte) error {
	if err := t.tell("write", name); err != nil {
		return err
	}
	f, err := t.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Sync(), f.Close())
}

// apply does what a journal says, as often as it takes. Nothing moves before
// the journal is durable.
func (t *Tx) apply(j *journal) error {
	err := t.syncDir(Folder)
	if err == nil {
		err = t.syncDir(".")
	}
	if err == nil {
		err = t.applyAll(j)
	}
	if err == nil {
		err = t.remove(journalName)
	}
	if err != nil {
		return &IncompleteError{err}
	}
	return nil
}

func (t *Tx) applyAll(j *journal) error {
	for i := range j.Puts {
		p := &j.Puts[i]
		if err := t.putInPlace(p); err != nil {
			return err
		}
		if i+1 < len(j.Puts) && p.Body && j.Puts[i+1].Body && path.Dir(p.Path) == path.Dir(j.Puts[i+1].Path) {
			continue
		}
		if err := t.syncDir(path.Dir(p.Path)); err != nil {
			return err
		}
	}
	return t.removeAll(j.Removes)
}

// removeAll removes files and the directories that become empty, and makes that
// durable, as the journal is not there to do it again.
func (t *Tx) removeAll(names []string) error {
	var dirs []string
	for _, name := range names {
		if err := t.remove(name); err != nil {
			return err
		}
		dir := path.Dir(name)
		if err := t.prune(dir); err != nil {
			return err
		}
		dirs = append(dirs, dir, path.Dir(dir))
	}
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		if info, err := t.root.Lstat(dir); err != nil || !info.IsDir() {
			continue
		}
		if err := t.syncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// prune removes a directory if it is empty. A link to one is left alone.
func (t *Tx) prune(dir string) error {
	if info, err := t.root.Lstat(dir); err != nil || !info.IsDir() || dir == "." {
		return nil
	}
	return t.do("prune", dir, func() error {
		t.root.Remove(dir) // fails, as it should, if there is something in it
		return nil
	})
}

func (t *Tx) putInPlace(p *Put) error {
	staged := stagingName + "/" + p.Staged
	if _, err := t.root.Lstat(staged); errors.Is(err, fs.ErrNotExist) {
		return t.isInPlace(p)
	} else if err != nil {
		return fmt.Errorf("looking at what was staged for %s: %w", p.Path, err)
	}
	if dir := path.Dir(p.Path); dir != "." {
		if err := t.mkdirAll(dir); err != nil {
			return err
		}
	}
	t.log.Debug("put in place", "path", p.Path, "bytes", p.Length)
	return t.rename(staged, p.Path)
}

// isInPlace checks that a file which is no longer staged has arrived.
func (t *Tx) isInPlace(p *Put) error {
	err := p.isAt(t.root, p.Path)
	if err == errOther {
		return fmt.Errorf("%s is not staged, and another file is in its place", p.Path)
	}
	if err != nil {
		return fmt.Errorf("%s is neither staged nor in place: %w", p.Path, err)
	}
	return nil
}

// mkdirAll makes a directory and those above it, and makes their names durable.
func (t *Tx) mkdirAll(dir string) error {
	if _, err := t.root.Stat(dir); err == nil {
		return nil
	}
	if parent := path.Dir(dir); parent != "." {
		if err := t.mkdirAll(parent); err != nil {
			return err
		}
	}
	if err := t.mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return t.syncDir(path.Dir(dir))
}

func (t *Tx) mkdir(dir string) error {
	return t.do("mkdir", dir, func() error { return t.root.Mkdir(dir, 0o755) })
}

func (t *Tx) rename(from, to string) error {
	return t.do("rename", to, func() error { return t.root.Rename(from, to) })
}

func (t *Tx) remove(name string) error {
	return t.do("remove", name, func() error {
		if err := t.root.Remove(name); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

func (t *Tx) syncDir(dir string) error {
	return t.do("sync", dir, func() error { return syncDir(t.root, dir) })
}

// do changes the file system once the change was told of.
func (t *Tx) do(op, path string, change func() error) error {
	if err := t.tell(op, path); err != nil {
		return err
	}
	return change()
}

func (t *Tx) tell(op, path string) error {
	if t.step == nil {
		return nil
	}
	return t.step(op, path)
}

// Close ends the transaction. Without a commit, nothing is left of it; after
// one that could not be completed, what is needed to complete it is.
func (t *Tx) Close() error {
	var err error
	if _, pending := t.root.Lstat(journalName); errors.Is(pending, fs.ErrNotExist) {
		err = errors.Join(t.clear(), t.remove(journalTemp))
	}
	t.release()
	if !t.committed {
		t.unmake()
	}
	return err
}

func (t *Tx) release() {
	t.lock.release(t.root)
	t.root.Close()
}
