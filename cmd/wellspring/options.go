package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/wellspring-sync/wellspring/generator"
	"github.com/wellspring-sync/wellspring/hashing"
	"github.com/wellspring-sync/wellspring/layout"
	"github.com/wellspring-sync/wellspring/templates"
)

// options takes the settings, and turns them into options.
func (c *cli) options(cmd *cobra.Command, f *sourceFlags, args []string) (generator.Options, error) {
	l, err := c.load(cmd, args)
	if err != nil {
		return generator.Options{}, err
	}
	return f.options(cmd, l)
}

// options checks the flags and turns them into options.
func (f *sourceFlags) options(cmd *cobra.Command, l *loaded) (generator.Options, error) {
	o := f.Options
	o.Source, o.Release, o.MaxDelete = l.source, release(), &f.maxDelete
	if cmd.Flags().Changed("archive") {
		o.Archive = &f.archive
	}
	o.DumpsByDefault = !cmd.Flags().Changed("dumps")
	return o, l.complete(cmd, &o, f.setIdentity, f.check, f.setRules, f.setReading, f.setClock, f.setKeep, f.setPrevious, f.setHosts, f.setPage, f.checkSource, f.setPlan, l.setTables)
}

// complete completes options in some steps, and checks them.
func (l *loaded) complete(cmd *cobra.Command, o *generator.Options, steps ...func(*generator.Options) error) error {
	err := checkValues(cmd.Flags())
	for i := 0; err == nil && i < len(steps); i++ {
		err = steps[i](o)
	}
	if err != nil {
		return usage(cmd, l.withOrigin(err))
	}
	return nil
}

func (f *sourceFlags) setIdentity(o *generator.Options) error {
	if f.Identity.BaseURL == "" {
		return errors.New("--base-url is missing: the URL at which the source is served, such as https://example.org/")
	}
	switch {
	case f.cleanURLs:
		o.Identity.Form = layout.CleanURIs
	case f.indexURLs:
		o.Identity.Form = layout.IndexURIs
	}
	l, err := layout.New(o.Identity)
	o.Identity = l.Identity
	return err
}

// check looks for numbers that cannot be, and for flags that contradict each other.
func (f *sourceFlags) check(*generator.Options) error {
	switch {
	case f.Jobs < 0:
		return fmt.Errorf("--jobs is %d, less than one", f.Jobs)
	case f.Compression < 0 || f.Compression > 9:
		return fmt.Errorf("--compression is %d, not from 0 to 9", f.Compression)
	case f.Previous.First && f.Previous.Place == "":
		return errors.New("--first-run needs --previous: without it, a publication that is not in --out begins anew")
	case f.Previous.First && f.Previous.Required:
		return errors.New("--first-run and --require-previous contradict each other")
	}
	return nil
}

func (f *sourceFlags) setRules(o *generator.Options) (err error) {
	if o.Rules.Include, err = globs("--include", f.include); err != nil {
		return err
	}
	o.Rules.Exclude, err = globs("--exclude", f.exclude)
	return err
}

func (f *sourceFlags) setReading(o *generator.Options) (err error) {
	if o.Hash, err = hashing.NewSet(f.hash...); err == nil && len(o.Hash) == 0 {
		err = errors.New("at least one algorithm is needed")
	}
	if err != nil {
		return about("--hash", err)
	}
	switch f.Cache {
	case "none":
		o.Cache = ""
	case "":
		// A machine without a cache directory does without.
		o.Cache, _ = generator.CacheFile(o.Source, o.Identity.BaseURL)
	default:
		if err := o.CheckCache(); err != nil {
			return about("--cache", err)
		}
	}
	return nil
}

func (f *sourceFlags) setPrevious(o *generator.Options) (err error) {
	o.Previous.Header, err = parseHeader(f.header)
	return err
}

func (f *sourceFlags) setKeep(o *generator.Options) error {
	if f.Grace < 0 || f.LockTimeout < 0 {
		return errors.New("--grace and --lock-timeout cannot be negative")
	}
	if f.Grace == 0 {
		o.Grace = -1
	}
	return nil
}

// setPlan checks where the upload plan is written.
func (f *sourceFlags) setPlan(o *generator.Options) error {
	if f.Plan == "" {
		return nil
	}
	if f.DryRun {
		return errors.New("--plan and --dry-run contradict each other: nothing is written in a dry run")
	}
	if err := o.CheckPlan(); err != nil {
		return about("--plan", err)
	}
	return nil
}

func (f *sourceFlags) setClock(o *generator.Options) error {
	now, fixed, err := fixedTime(f.now)
	if fixed {
		o.FixedClock, o.Now = true, func() time.Time { return now }
	}
	return err
}

func (f *sourceFlags) checkSource(o *generator.Options) error {
	info, err := os.Stat(o.Source)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the source: %s: %w", o.Source, reason(err))
	}
	if err == nil && !info.IsDir() { // other errors are for whoever opens it
		return fmt.Errorf("the source: %s is not a directory", o.Source)
	}
	if o.Out == "" {
		return nil
	}
	if info, err := os.Stat(o.Out); err == nil && !info.IsDir() {
		return fmt.Errorf("--out: %s is not a directory", o.Out)
	}
	return nil
}

// setPage takes how the page for people is made. A template that cannot work is found
// before anything is read.
func (f *sourceFlags) setPage(o *generator.Options) error {
	title, file := f.Page.Title, f.Page.File
	if !utf8.ValidString(title) || strings.ContainsFunc(title, unicode.IsControl) {
		return fmt.Errorf("--page-title is %q, which has characters in it that no page can show", title)
	}
	o.Page.Title = strings.TrimSpace(title)
	if o.Page.None = file == "none"; o.Page.None || file == "" {
		o.Page.File = ""
		return nil
	}
	info, err := os.Stat(file)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > templates.MaxPage) {
		return fmt.Errorf("--page: %s is not a file, or longer than 1 MiB", file)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return fmt.Errorf("--page: %s: %w", file, reason(err))
	}
	if o.Page.Template, err = templates.ParsePage(file, string(text)); err != nil {
		return fmt.Errorf("--page: %w", err)
	}
	return nil
}

// checkPublication makes sure that a directory is there.
func checkPublication(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("the publication: %s: %w", dir, reason(err))
	}
	if !info.IsDir() {
		return fmt.Errorf("the publication: %s is not a directory", dir)
	}
	return nil
}

// reason takes the operation and the name off an error.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
