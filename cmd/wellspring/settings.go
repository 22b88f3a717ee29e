package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wellspring-sync/wellspring/internal/settings"
	"github.com/wellspring-sync/wellspring/verify"
)

// Where a value comes from. A flag wins over the environment, and that over the
// file.
const (
	fromDefault = "default"
	fromFlag    = "flag"
)

// variable returns the name of the variable of the environment for a setting.
func variable(key string) string { return "WELLSPRING_" + strings.ToUpper(key) }

// settingName returns the name of the setting for a flag.
func settingName(flag string) string { return strings.ReplaceAll(flag, "-", "_") }

// sourceKey is the setting that has no flag: it is the argument of build.
const sourceKey = "source"

// notSettings are flags of build that are about one call, or about settings.
var notSettings = []string{"help", "json", "quiet", "verbose", "config", "exit-code"}

// loaded are the settings of a command, and where each of them comes from.
type loaded struct {
	file    *settings.File // without a name if there is none
	origins map[string]string
	source  string
}

// settingKeys returns the settings that there are: those of build's flags.
func settingKeys() []settings.Key {
	keys := []settings.Key{{Name: sourceKey, Kind: settings.Text}}
	settingFlags().VisitAll(func(flag *pflag.Flag) {
		keys = append(keys, settings.Key{Name: settingName(flag.Name), Kind: kindOf(flag)})
	})
	return keys
}

func kindOf(flag *pflag.Flag) settings.Kind {
	switch flag.Value.Type() {
	case "bool":
		return settings.Bool
	case "int":
		return settings.Number
	case "stringArray", "stringSlice":
		return settings.List
	}
	return settings.Text
}

// load applies the environment and the file of settings to the flags of a command
// that were not given.
func (c *cli) load(cmd *cobra.Command, args []string) (*loaded, error) {
	l := &loaded{origins: map[string]string{}, source: "."}
	c.warnOfVariables()
	var err error
	if l.file, err = c.readSettings(); err != nil {
		if is[*settings.Error](err) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, settings.ErrNoFile) {
			err = usage(cmd, err)
		}
		return nil, err
	}
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if slices.Contains(notSettings, flag.Name) {
			return
		}
		err = errors.Join(err, l.apply(flag))
	})
	if err != nil {
		return nil, usage(cmd, err)
	}
	l.setSource(args)
	return l, l.setPackageSize(cmd)
}

// withOrigin adds to an error about a flag where its value is from, if it is not
// from there.
func (l *loaded) withOrigin(err error) error {
	rest, ok := strings.CutPrefix(err.Error(), "--")
	if !ok {
		return err
	}
	name := rest[:len(rest)-len(strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyz-"))]
	switch origin := l.origins[settingName(name)]; origin {
	case "", fromDefault, fromFlag:
		return err
	default:
		return fmt.Errorf("%s: %w", origin, err)
	}
}

// warnOfVariables names variables that were probably meant to be settings.
func (c *cli) warnOfVariables() {
	known := map[string]bool{variable("config"): true, variable("described_by"): true, variable("hub"): true, headerVariable: true}
	var names []string
	for _, key := range settingKeys() {
		known[variable(key.Name)] = true
		names = append(names, variable(key.Name))
	}
	for _, text := range os.Environ() {
		name, _, _ := strings.Cut(text, "=")
		if !strings.HasPrefix(name, variable("")) || known[name] {
			continue
		}
		if near := settings.Nearest(name, names); near != "" {
			c.warn("%s is no setting; did you mean %s?", name, near)
		}
	}
}

// publicationDir returns the directory of the publication: the argument, or what the
// settings say, or the current one.
func (l *loaded) publicationDir(args []string) string {
	out, _ := l.text("out")
	source, _ := l.text(sourceKey)
	return append(args, cmp.Or(out, source, "."))[0]
}

// resources says where resources lie, if the settings do.
func (l *loaded) resources() []verify.Mapping {
	base, _ := l.text("base_url")
	source, _ := l.text(sourceKey)
	if base == "" || source == "" {
		return nil
	}
	return []verify.Mapping{{Prefix: strings.TrimSuffix(base, "/") + "/", Dir: source}}
}

// said returns what the environment or else the file says of a setting, and which of them
// does. The header is left to those who send it.
func (l *loaded) said(key string) (values []string, origin string) {
	if text := os.Getenv(variable(key)); text != "" && variable(key) != headerVariable {
		return []string{text}, variable(key)
	}
	if v, ok := l.file.Values[key]; ok {
		return l.relative(key, v.Text), l.at(v.Line)
	}
	return []string{""}, fromDefault
}

// text is said for a setting of one value.
func (l *loaded) text(key string) (text, origin string) {
	values, origin := l.said(key)
	return values[0], origin
}

// readSettings reads the file that was named, or the one in the working directory.
func (c *cli) readSettings() (*settings.File, error) {
	name := cmp.Or(c.config, os.Getenv(variable("config")))
	if name == "" {
		switch _, err := os.Stat(settings.Name); {
		case errors.Is(err, fs.ErrNotExist):
			return &settings.File{}, nil
		case err != nil:
			return nil, fmt.Errorf("looking for settings: %w", err)
		}
		name = settings.Name
	}
	c.settingsFile = name
	return settings.Read(name, settingKeys())
}

// apply sets a flag that was not given.
func (l *loaded) apply(flag *pflag.Flag) error {
	key := settingName(flag.Name)
	if flag.Changed {
		l.origins[key] = fromFlag
		return nil
	}
	values, origin := l.said(key)
	l.origins[key] = origin
	switch {
	case origin == fromDefault:
		return nil
	case origin == variable(key) && kindOf(flag) == settings.List:
		values = linesOf(values[0])
	}
	return setFlag(flag, values, origin)
}

func setFlag(flag *pflag.Flag, values []string, origin string) error {
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		flag.Changed = true
		return list.Replace(values)
	}
	if err := flag.Value.Set(values[0]); err != nil {
		return fmt.Errorf("%s: %s is %q, which is not %s", origin, settingName(flag.Name), values[0], kinds[flag.Value.Type()])
	}
	flag.Changed = true
	return nil
}

// relative makes a path in a file of settings relative to that file.
func (l *loaded) relative(key string, values []string) []string {
	switch key {
	case "cache", "page":
		if values[0] == "none" {
			return values
		}
		fallthrough
	case "out", "previous", sourceKey:
		return []string{l.relativeTo(values[0])}
	}
	return values
}

// setSource finds the source: the argument, or what the settings say.
func (l *loaded) setSource(args []string) {
	l.origins[sourceKey] = fromDefault
	if len(args) > 0 {
		l.source, l.origins[sourceKey] = args[0], fromFlag
	} else if dir, origin := l.text(sourceKey); origin != fromDefault {
		l.source, l.origins[sourceKey] = dir, origin
	}
}

// configCommand shows what the settings come to.
func (c *cli) configCommand() *cobra.Command {
	f := &sourceFlags{}
	cmd := &cobra.Command{
		Use:   "config [SOURCE]",
		Short: "Show the settings, and where each of them comes from",
		Long: `Config takes the flags of build, the environment (WELLSPRING_ and the name of a
setting in capitals, such as WELLSPRING_BASE_URL) and the file of settings
(wellspring.toml in the working directory, or --config FILE), in this order, and
shows what a build would use, and what is wrong with it. Paths in the file are
relative to it. All settings are in docs/settings.md.

With --json, the result is an object with file (or null), settings, each with
name, value (a list for those that can have several) and from, and the tables of the
file, in words, each with from: sets, links and resources are lists, versions and
patches null where there is no such table.

` + exitCodes,
		Example: `  wellspring config
  WELLSPRING_JOBS=2 wellspring config --config ../site.toml`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := c.load(cmd, args)
			if err != nil {
				return err
			}
			if err := c.printSettings(cmd, l); err != nil || f.Identity.BaseURL == "" {
				return err
			}
			_, err = f.options(cmd, l)
			return err
		},
	}
	f.addFlags(cmd.Flags())
	f.addDryRun(cmd.Flags())
	return cmd
}

// settingJSON is a setting as programs get it.
type settingJSON struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
	From  string `json:"from"`
}

func (c *cli) printSettings(cmd *cobra.Command, l *loaded) error {
	all := []settingJSON{{sourceKey, l.source, l.origins[sourceKey]}}
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		if slices.Contains(notSettings, flag.Name) {
			return
		}
		key := settingName(flag.Name)
		var value any = flag.Value.String()
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			value = append([]string{}, list.GetSlice()...)
		}
		if key == "header" {
			value = shownHeaders(value)
		}
		all = append(all, settingJSON{key, value, l.origins[key]})
	})
	for _, key := range [...]string{"described_by", "hub"} {
		text, origin := l.text(key)
		all = append(all, settingJSON{key, text, origin})
	}
	tables := l.tables()
	if c.json {
		var file *string
		if l.file.Name != "" {
			file = &l.file.Name
		}
		return c.writeJSON(struct {
			File     *string       `json:"file"`
			Settings []settingJSON `json:"settings"`
			tablesJSON
		}{file, all, tables})
	}
	if l.file.Name == "" {
		c.print("There is no %s here: wellspring init writes one.\n", settings.Name)
	}
	for _, s := range all {
		c.print("%-17s %-40v (%s)\n", s.Name, shownValue(s.Value), s.From)
	}
	for _, s := range slices.Concat(tables.Sets, tables.Links, tables.Resources) {
		c.print("[[%s]] %s (%s)\n", s.Name, s.Value, s.From)
	}
	for _, s := range []*settingJSON{tables.Versions, tables.Patches} {
		if s != nil {
			c.print("[%s] %s (%s)\n", s.Name, s.Value, s.From)
		}
	}
	return nil
}

// tablesJSON are the tables of the file, each in words for people to recognize.
type tablesJSON struct {
	Sets      []settingJSON `json:"sets"`
	Links     []settingJSON `json:"links"`
	Resources []settingJSON `json:"resources"`
	Versions  *settingJSON  `json:"versions"`
	Patches   *settingJSON  `json:"patches"`
}

func (l *loaded) tables() tablesJSON {
	t := tablesJSON{Sets: []settingJSON{}, Links: []settingJSON{}, Resources: []settingJSON{}}
	for _, s := range l.file.Sets {
		rules := inWords("; ", "", strings.Join(s.Include, ", "), "not ", strings.Join(s.Exclude, ", "), "", strings.Join(s.Types, ", "),
			"from ", s.MinSize, "up to ", s.MaxSize, "after ", s.ModifiedAfter, "before ", s.ModifiedBefore, "listed in ", s.Paths)
		t.Sets = append(t.Sets, settingJSON{"set", s.Name + ": " + cmp.Or(rules, "all files"), l.at(s.Line)})
	}
	for _, r := range l.file.Links {
		text := fmt.Sprintf("%s: %s %s", strings.Join(r.Match, ", "), r.Rel, cmp.Or(r.Href, r.File))
		t.Links = append(t.Links, settingJSON{"link", text, l.at(r.Line)})
	}
	for _, r := range l.file.Resources {
		text := strings.Join(r.Match, ", ") + ": " + inWords(" ", "changefreq ", r.ChangeFreq, "encoding ", r.Encoding, "strip ", r.Strip)
		t.Resources = append(t.Resources, settingJSON{"resource", text, l.at(r.Line)})
	}
	if v := l.file.Versions; v != nil {
		text := inWords("; ", "", matched(v.Match), "keep ", cmp.Or(v.Keep, "all"), "timegate ", v.TimeGate)
		t.Versions = &settingJSON{"versions", text, l.at(v.Line)}
	}
	if p := l.file.Patches; p != nil {
		t.Patches = &settingJSON{"patches", matched(p.Match), l.at(p.Line)}
	}
	return t
}

// matched names the files that a rule is about.
func matched(patterns []string) string { return cmp.Or(strings.Join(patterns, ", "), "all files") }

// inWords joins what is said, out of pairs of a name and a value.
func inWords(separator string, pairs ...string) string {
	var parts []string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			parts = append(parts, pairs[i]+pairs[i+1])
		}
	}
	return strings.Join(parts, separator)
}

// shownHeaders hides what headers say, which may be secret.
func shownHeaders(value any) any {
	lines, _ := value.([]string)
	shown := []string{}
	for _, line := range lines {
		name, _, _ := strings.Cut(line, ":")
		shown = append(shown, name+": …")
	}
	return shown
}

func shownValue(v any) string {
	if list, ok := v.([]string); ok {
		return strings.Join(list, ", ")
	}
	return fmt.Sprint(v)
}
