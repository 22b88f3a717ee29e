package prepare

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// LargeRobots is the reason for leaving a robots.txt alone that crawlers do not read
// to its end. See RFC 9309 §2.5.
const LargeRobots LeftAlone = "larger than the 500 KiB that crawlers read"

const maxRobots = 500 << 10

// RobotsFile is where crawlers look, at the root of a host.
const RobotsFile = "robots.txt"

// Robots returns a robots.txt that names Resource Lists as Sitemaps, in lines of our
// own between two marks. Those that other lines name already are not named again.
// The error is a LeftAlone. See Z39.99-2017 §6.3.4.
func Robots(text []byte, uris []string) ([]byte, error) {
	if len(text) > maxRobots {
		return nil, LargeRobots
	}
	f, err := parseLines(text)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, uri := range uris {
		if !slices.ContainsFunc(f.before, names(uri)) && !slices.ContainsFunc(f.after, names(uri)) {
			lines = append(lines, "Sitemap: "+uri)
		}
	}
	result := f.with(lines)
	if len(result) > maxRobots {
		return nil, LargeRobots
	}
	return result, nil
}

// names returns a function that reports whether a line names a Sitemap.
func names(uri string) func(line string) bool {
	return func(line string) bool {
		line, _, _ = strings.Cut(strings.TrimPrefix(line, "\ufeff"), "#")
		key, value, ok := strings.Cut(line, ":")
		return ok && strings.EqualFold(strings.TrimSpace(key), "sitemap") && strings.TrimSpace(value) == uri
	}
}

// WriteRobots brings the robots.txt at the top of a site up to date, or writes one.
// The error may be a LeftAlone.
func WriteRobots(root *os.Root, uris []string, dryRun bool) (Action, error) {
	s := site{root: root, dryRun: dryRun}
	return s.merge(RobotsFile, maxRobots, LargeRobots, func(text []byte) ([]byte, error) { return Robots(text, uris) })
}

// merge brings a file at the top of a site up to date, or writes it. What is not a
// regular file, or larger than most, is left alone.
func (s *site) merge(name string, most int64, large LeftAlone, change func([]byte) ([]byte, error)) (Action, error) {
	info, err := s.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		content, err := change(nil)
		if err != nil {
			return "", err
		}
		return Created, errors.Join(s.replace(name, content, nil), s.finish())
	}
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", NotRegular
	case info.Size() > most:
		return "", large
	}
	text, was, err := s.read(name, most)
	if err != nil {
		return "", err
	}
	content, err := change(text)
	if err != nil {
		return "", err
	}
	if string(content) == string(text) {
		return Unchanged, nil
	}
	return Updated, errors.Join(s.replace(name, content, was), s.finish())
}
