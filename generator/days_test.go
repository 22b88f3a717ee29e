package generator

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wellspring-sync/wellspring/hashing"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/scanner"
)

// BenchmarkDay publishes a large source and then one day's changes of it, as
// two archives have them. Run it with -benchtime 1x; the figures are of the run
// with the changes. The files are synthetic, so that the time is that of
// everything but the reading of directories and files.
func BenchmarkDay(b *testing.B) {
	for _, bb := range []struct {
		name             string
		folders, changed int // of 1,000 resources each
		changes          int
	}{
		{"resources=2400000/changes=2000", 2400, 24, 2000},
		{"resources=3770000/changes=172800", 3770, 3770, 172_800},
		{"resources=3770000/changes=172000-in-one-place", 3770, 172, 172_000},
		{"resources=1000000", 1000, 0, 0},
		{"resources=10000000", 10_000, 0, 0},
	} {
		b.Run(bb.name, func(b *testing.B) {
			for b.Loop() {
				day(b, bb.folders, bb.changed, bb.changes)
			}
		})
	}
}

func day(b *testing.B, folders, changed, changes int) {
	b.StopTimer()
	tree := &archive{folders: folders, every: 1}
	now := testStart
	o := Options{
		Source: "archive", Out: b.TempDir(), synthetic: tree, Release: "wellspring test",
		Identity: layout.Identity{BaseURL: "https://archive.example/"},
		Now:      func() time.Time { return now }, FixedClock: true,
	}
	first, err := Run(context.Background(), o)
	if err != nil {
		b.Fatal(err)
	}
	if changes > 0 {
		tree.changed, tree.every = changed, changed*filesInFolder/changes
	}
	now = now.Add(24 * time.Hour)
	resetPeak()
	b.StartTimer()
	report, err := Run(context.Background(), o)
	if err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	if changes > 0 && (report.Updated < changes || report.Updated > changes*11/10) {
		b.Fatalf("%d updates, want about %d", report.Updated, changes)
	}
	b.ReportMetric(report.Took.Seconds(), "s/run")
	b.ReportMetric(first.Took.Seconds(), "s/first")
	b.ReportMetric(float64(report.WrittenBytes)/float64(first.WrittenBytes), "written/full")
	b.ReportMetric(peakMB(), "MB-resident")
	b.StartTimer()
}

const filesInFolder = 1000

// archive is a source of folders with 1,000 files each. Of the first changed
// folders, every so many files have another time and content.
type archive struct {
	folders, changed, every int
	// versions, if there are any, count how often each folder has changed.
	versions []int
}

func (a *archive) OpenDir(path string) (scanner.Dir, error) {
	if path == "." {
		return archiveDir{a, -1}, nil
	}
	return archiveDir{a, number(path)}, nil
}
func (a *archive) Lstat(string) (scanner.Stat, error) { return scanner.Stat{}, fs.ErrNotExist }
func (a *archive) Resolve(string) (string, error)     { return "", errors.ErrUnsupported }
func (a *archive) IsMoved() bool                      { return false }
func (a *archive) isChanged(folder, file int) bool    { return folder < a.changed && file%a.every == 0 }
func number(s string) int                             { n, _ := strconv.Atoi(s[1:]); return n }
func (a *archive) content(folder, file int) (s string) {
	s = fmt.Sprintf("<record>%d/%d</record>", folder, file)
	if a.isChanged(folder, file) {
		s += "<changed/>"
	}
	if a.versions != nil {
		s += fmt.Sprintf("<version>%06d</version>", a.versions[folder])
	}
	return s
}

func (a *archive) OpenFile(path string) (hashing.File, error) {
	dir, name, _ := strings.Cut(path, "/")
	folder, file := number(dir), number(strings.TrimSuffix(name, ".xml"))
	content := a.content(folder, file)
	return &archiveFile{Reader: strings.NewReader(content), stat: a.stat(folder, file)}, nil
}

func (a *archive) stat(folder, file int) scanner.Stat {
	st := scanner.Stat{Size: int64(len("<record></record>/") + digits(folder) + digits(file)), ModTime: longAgo}
	if a.isChanged(folder, file) {
		st.Size += int64(len("<changed/>"))
		st.ModTime = testStart.Add(time.Hour)
	}
	if a.versions != nil {
		st.Size += int64(len("<version>000000</version>"))
		st.ModTime = longAgo.Add(time.Duration(a.versions[folder]) * time.Second)
	}
	return st
}

func digits(n int) int {
	count := 1
	for ; n >= 10; n /= 10 {
		count++
	}
	return count
}

type archiveDir struct {
	a      *archive
	folder int // or -1 for the top
}

func (d archiveDir) Entries(fn func(string, fs.FileMode) error) error {
	n, format, mode := filesInFolder, "f%03d.xml", fs.FileMode(0)
	if d.folder < 0 {
		n, format, mode = d.a.folders, "d%05d", fs.ModeDir
	}
	for i := range n {
		if err := fn(fmt.Sprintf(format, i), mode); err != nil {
			return err
		}
	}
	return nil
}

func (d archiveDir) Lstat(name string) (scanner.Stat, error) {
	if d.folder < 0 {
		return scanner.Stat{Mode: fs.ModeDir}, nil
	}
	return d.a.stat(d.folder, number(strings.TrimSuffix(name, ".xml"))), nil
}
func (d archiveDir) OpenDir(name string) (scanner.Dir, error) { return d.a.OpenDir(name) }
func (d archiveDir) Info() (fs.FileInfo, error)               { return nil, nil }
func (d archiveDir) Close() error                             { return nil }

type archiveFile struct {
	*strings.Reader
	stat scanner.Stat
}

func (f *archiveFile) Close() error               { return nil }
func (f *archiveFile) Stat() (fs.FileInfo, error) { return archiveInfo{f.stat}, nil }

type archiveInfo struct{ stat scanner.Stat }

func (i archiveInfo) Name() string       { return "" }
func (i archiveInfo) Size() int64        { return i.stat.Size }
func (i archiveInfo) Mode() fs.FileMode  { return 0 }
func (i archiveInfo) ModTime() time.Time { return i.stat.ModTime }
func (i archiveInfo) IsDir() bool        { return false }
func (i archiveInfo) Sys() any           { return nil }

// resetPeak makes the kernel forget how much memory the process had.
func resetPeak() { os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// peakMB is the most memory that was resident since then, or 0 where the system
// does not say.
func peakMB() float64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	lines := bufio.NewScanner(bytes.NewReader(b))
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			kb, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1024
		}
	}
	return 0
}

var _ io.Reader = (*archiveFile)(nil)
