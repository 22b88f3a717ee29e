package settings

import (
	"fmt"
	"slices"
	"strings"
)

// Resource is a rule about what is said of resources.
type Resource struct {
	Match      []string `toml:"match" doc:"globs, as those of include; the rule is for resources that match one of them, and the first rule that matches counts"`
	ChangeFreq string   `toml:"changefreq" doc:"how often they change, as a hint: always, hourly, daily, weekly, monthly, yearly or never"`
	Encoding   string   `toml:"encoding" doc:"content coding in which they are stored and served, such as gzip; their media type is then that of the name without its last extension"`
	Strip      string   `toml:"strip" doc:"ending of the name, such as .gz, without which the host serves them: x.html.gz is published as x.html, unless that file is there, too. It needs encoding, and patterns without a slash"`

	Line int `toml:"-"`
}

// Set is a set of resources with documents of its own.
type Set struct {
	Name           string   `toml:"name" doc:"what the set is called, which is also its folder if none is given"`
	Folder         string   `toml:"folder" doc:"folder of its documents, relative to the publication; by default the name, in the folder of the publication"`
	Include        []string `toml:"include" doc:"globs, as those of include for all: take only files of the source that match one of them"`
	Exclude        []string `toml:"exclude" doc:"globs: leave out files that match one of them"`
	Types          []string `toml:"types" doc:"media types, such as text/html or image/*: take only files of one of them"`
	MinSize        string   `toml:"min_size" doc:"take only files of this size, such as 10kB, or larger"`
	MaxSize        string   `toml:"max_size" doc:"take only files of this size, such as 1GB, or smaller"`
	ModifiedAfter  string   `toml:"modified_after" doc:"take only files that were modified after this time: a date such as 2026-01-31, a time, or an age such as 30d"`
	ModifiedBefore string   `toml:"modified_before" doc:"take only files that were modified before this time, or before so long"`
	Paths          string   `toml:"paths" doc:"file with a path of a file of the source on each line: take only these"`
	DescribedBy    string   `toml:"described_by" doc:"URI, or path of a file of the source, of what describes the set"`
	Hub            string   `toml:"hub" doc:"as for all, or none"`
	Dumps          string   `toml:"dumps" doc:"as for all: packages of the set"`
	PackageSize    string   `toml:"package_size" doc:"as for all"`
	Rotate         string   `toml:"rotate" doc:"as for all"`
	KeepChanges    string   `toml:"keep_changes" doc:"as for all"`
	Archive        *bool    `toml:"archive" doc:"as for all"`
	ArchiveKeep    string   `toml:"archive_keep" doc:"as for all"`

	Line int `toml:"-"`
}

// Versions is the table about what resources were. See Z39.99-2017 §14.6.
type Versions struct {
	Match    []string `toml:"match" doc:"globs: keep versions of files that match one of them; by default of all"`
	Keep     string   `toml:"keep" doc:"which versions to keep when another one is added: all (the default), or as archive_keep has it"`
	TimeGate string   `toml:"timegate" doc:"template of the URI of a TimeGate that finds the version of a time, if there is a server for that"`

	Line int `toml:"-"`
}

// Patches is the table about descriptions of changes. See Z39.99-2017 §14.4.
type Patches struct {
	Match []string `toml:"match" doc:"globs: describe changes of files that match one of them; by default of all"`

	Line int `toml:"-"`
}

// Link is a rule for links from resources. See Z39.99-2017 §14.
type Link struct {
	Match   []string `toml:"match" doc:"globs over paths of files; a slash at the end stands for all that is in a directory. The rule is for resources that match one of them. What * and ** stood for is {1}, {2} and so on"`
	Rel     string   `toml:"rel" doc:"relation: a registered name, or a URI"`
	Href    string   `toml:"href" doc:"template of the URI that is linked to"`
	File    string   `toml:"file" doc:"template of the path of a file of the source that is linked to, instead of href. Without that file there is no link; with it, its hash, length, type and time of modification are in the link"`
	List    string   `toml:"list" doc:"URL or file of the Resource List of the Source that a link with rel=via leads to: there is a link only to what it lists, with its time, hash, length and type; what that Source has from elsewhere is linked to there"`
	Pri     *int     `toml:"pri" doc:"priority among links of the same relation, from 1 (the first) to 999999"`
	Type    string   `toml:"type" doc:"media type of what is linked to"`
	Profile string   `toml:"profile" doc:"template of a URI that says in which form something is described; it makes a link with rel=profile beside this one"`

	Line int `toml:"-"`
}

// check finds contradictions that need no knowledge of what is published, and notes the
// lines of tables.
func (f *File) check(lines map[string]int) (err error) {
	for _, name := range []string{"set", "link", "resource"} {
		if line := lines[name]; line > 0 {
			return &Error{f.Name, line, 1, fmt.Sprintf("%s has to be written as [[%s]], as there can be several", name, name)}
		}
	}
	place := func(line *int, key, what, problem string) {
		*line = lines[key]
		if err == nil && problem != "" {
			err = &Error{f.Name, *line, 1, what + ": " + problem}
		}
	}
	for i := range f.Resources {
		r := &f.Resources[i]
		place(&r.Line, fmt.Sprint("resource.", i), "the resource rule", r.problem())
	}
	if f.Versions != nil {
		f.Versions.Line = lines["versions"]
	}
	if f.Patches != nil {
		f.Patches.Line = lines["patches"]
	}
	for i := range f.Sets {
		s := &f.Sets[i]
		place(&s.Line, fmt.Sprint("set.", i), "the set", s.problem())
	}
	for i := range f.Links {
		l := &f.Links[i]
		place(&l.Line, fmt.Sprint("link.", i), "the link", l.problem())
	}
	return err
}

// problem says what is wrong with a rule, or nothing.
func (r *Resource) problem() string {
	switch {
	case len(r.Match) == 0:
		return "it has no match"
	case r.ChangeFreq == "" && r.Encoding == "":
		return "it has neither changefreq nor encoding"
	case r.Strip != "" && r.Encoding == "":
		return "strip needs encoding"
	case r.Encoding != "" && !isToken(r.Encoding):
		return fmt.Sprintf("encoding is %q, which is not a content coding such as gzip", r.Encoding)
	case r.Strip != "" && (!strings.HasPrefix(r.Strip, ".") || strings.Contains(r.Strip, "/") || len(r.Strip) < 2):
		return fmt.Sprintf("strip is %q, which is not an ending such as .gz", r.Strip)
	case r.Strip != "" && slices.ContainsFunc(r.Match, func(p string) bool { return strings.Contains(strings.TrimSuffix(p, "/"), "/") }):
		return "strip needs patterns without a slash, which are about names alone"
	case r.ChangeFreq != "" && !slices.Contains(frequencies, r.ChangeFreq):
		return fmt.Sprintf("changefreq is %q, none of %s", r.ChangeFreq, strings.Join(frequencies, ", "))
	}
	return ""
}

// isToken reports whether a text can be the name of a content coding.
func isToken(s string) bool {
	return s != "" && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
}

func (s *Set) problem() string {
	if s.Name == "" {
		return "it has no name"
	}
	return ""
}

func (l *Link) problem() string {
	switch {
	case len(l.Match) == 0:
		return "it has no match"
	case l.Rel == "":
		return "it has no rel"
	case l.Href == "" && l.File == "":
		return "it has neither href nor file"
	case l.Href != "" && l.File != "":
		return "it has both href and file"
	case l.Pri != nil && (*l.Pri < 1 || *l.Pri > 999_999):
		return fmt.Sprintf("pri is %d, not from 1 to 999999", *l.Pri)
	}
	return ""
}

// frequencies are the words of Sitemaps. See Z39.99-2017 §7.
var frequencies = []string{"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"}
