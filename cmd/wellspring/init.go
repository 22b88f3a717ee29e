package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wellspring-sync/wellspring/internal/settings"
)

func (c *cli) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a commented file of settings",
		Long: `Init writes wellspring.toml into the directory DIR (by default the current one),
or the file that --config names, with each setting that belongs into a file as a
comment that says what it is for and what it is by default. A file that is there is
left alone.

` + exitCodes,
		Example: `  wellspring init
  wellspring config`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := cmp.Or(c.config, filepath.Join(append(args, ".")[0], settings.Name))
			f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if errors.Is(err, fs.ErrExist) {
				return usageErrorf(cmd, "%s is there already, and was left as it is", name)
			}
			if err != nil {
				return usageErrorf(cmd, "writing %s: %w", name, reason(err))
			}
			_, err = f.WriteString(settingsTemplate())
			if err := errors.Join(err, f.Close()); err != nil {
				return fmt.Errorf("writing %s: %w", name, err)
			}
			if c.quiet {
				return nil
			}
			return c.print("Wrote %s. Say in it where the source is served (base_url); wellspring config shows what it comes to.\n", name)
		},
	}
}

// setting is one at the top of the file, as the reference has it.
type setting struct {
	name, usage, value string // the value is the default, as it is written in the file
	kind               settings.Kind
}

// allSettings returns the settings that have a flag, and the source.
func allSettings() []setting {
	all := []setting{{sourceKey, "directory that is published", `"."`, settings.Text}}
	settingFlags().VisitAll(func(flag *pflag.Flag) {
		_, usage := pflag.UnquoteUsage(flag)
		all = append(all, setting{settingName(flag.Name), usage, tomlDefault(flag), kindOf(flag)})
	})
	return all
}

// tomlDefault returns the default of a flag as it is written in TOML.
func tomlDefault(flag *pflag.Flag) string {
	switch kindOf(flag) {
	case settings.Bool, settings.Number:
		return flag.DefValue
	case settings.List:
		var quoted []string
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			for _, s := range list.GetSlice() {
				quoted = append(quoted, strconv.Quote(s))
			}
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	}
	return strconv.Quote(flag.DefValue)
}

// onlyForCalls are settings that make sense in the environment or as a flag, and are
// left out of the file that init writes.
var onlyForCalls = []string{"now", "dry_run", "rebase", "accept_clock", "allow_empty", "first_run", "checksum", "header"}

// settingsTemplate returns the file that init writes.
func settingsTemplate() string {
	var b strings.Builder
	b.WriteString("# Settings of wellspring. What is commented out is the default.\n# Flags win over variables such as WELLSPRING_BASE_URL, and these over this file.\n# Paths are relative to it. All of it is explained in docs/settings.md.\n")
	for _, s := range allSettings() {
		if slices.Contains(onlyForCalls, s.name) {
			continue
		}
		fmt.Fprintf(&b, "\n%s\n#%s = %s\n", comment(s.usage), s.name, s.value)
	}
	for _, f := range settings.Fields() {
		fmt.Fprintf(&b, "\n%s\n", comment(f.Doc))
		if f.Fields == nil {
			fmt.Fprintf(&b, "#%s = \"\"\n", f.Name)
			continue
		}
		fmt.Fprintf(&b, "#%s\n", f.Header())
		for _, field := range f.Fields {
			fmt.Fprintf(&b, "#%s = %s\n", field.Name, map[settings.Kind]string{settings.List: "[]", settings.Number: "0", settings.Bool: "false", settings.Text: `""`}[field.Type])
		}
	}
	return b.String()
}

// comment makes a comment of a text.
func comment(text string) string {
	return "# " + strings.ReplaceAll(wrap(text, 76), "\n", "\n# ")
}
