package main

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/pflag"

	"github.com/wellspring-sync/wellspring/generator/policy"
	"github.com/wellspring-sync/wellspring/internal/notify"
	"github.com/wellspring-sync/wellspring/resourcesync"
	"github.com/wellspring-sync/wellspring/scanner"
)

// value is a flag, or a setting of a table, of any type that can be read from a text. It
// is shown as it was written. What is wrong with it is kept until all settings are known:
// some commands have no use for it.
type value struct {
	text  string
	parse func(text string) error
	err   error
}

func (v *value) String() string { return v.text }
func (v *value) Type() string   { return "string" }

func (v *value) Set(text string) error {
	v.text, v.err = text, v.parse(text)
	return nil
}

func valueOf[T any](into *T, parse func(string) (T, error)) *value {
	return &value{parse: func(text string) (err error) {
		*into, err = parse(text)
		return err
	}}
}

// add adds it as a flag with a default.
func (v *value) add(flags *pflag.FlagSet, name, preset, usage string) {
	v.Set(preset)
	flags.Var(v, name, usage)
}

// checkValues returns what is wrong with the first flag that is wrong.
func checkValues(flags *pflag.FlagSet) (err error) {
	flags.VisitAll(func(flag *pflag.Flag) {
		if v, ok := flag.Value.(*value); ok && v.err != nil && err == nil {
			err = about("--"+flag.Name, v.err)
		}
	})
	return err
}

// about puts a name before what is wrong with its value.
func about(name string, err error) error {
	if strings.HasPrefix(err.Error(), "is ") {
		return fmt.Errorf("%s %w", name, err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// either reads one of two words, and reports whether it is the second one.
func either(first, second string) func(string) (bool, error) {
	return func(text string) (bool, error) {
		if text != first && text != second {
			return false, fmt.Errorf("is %q, neither %s nor %s", text, first, second)
		}
		return text == second, nil
	}
}

// leastPackage keeps a slip of the pen from making a package of each file.
const leastPackage = 16 << 10

func parsePackageSize(text string) (int64, error) {
	size, err := humanize.ParseBytes(text)
	if err != nil {
		return 0, fmt.Errorf("is %q, which is not a size such as 128MiB or 1GB", text)
	}
	if size < leastPackage || size > math.MaxInt64 {
		return 0, fmt.Errorf("is %s, less than 16 KiB or more than there can be", text)
	}
	return int64(size), nil
}

func parseSize(text string) (int64, error) {
	size, err := humanize.ParseBytes(text)
	if err != nil || size > math.MaxInt64 {
		return 0, fmt.Errorf("is %q, which is not a size such as 10kB or 1GB", text)
	}
	return int64(size), nil
}

// timeOrAge reads a time, or how long it was before now.
func timeOrAge(text string, now time.Time) (time.Time, error) {
	if t, err := resourcesync.ParseDateTime(text); err == nil {
		return t, nil
	}
	age, err := policy.ParseKeep(text)
	return age.Before(now), err
}

func parseHub(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	return text, notify.CheckHub(text)
}

func globs(name string, patterns []string) (list []scanner.Glob, err error) {
	for _, p := range patterns {
		g, err := scanner.NewGlob(p)
		if err != nil {
			return nil, about(name, err)
		}
		list = append(list, g)
	}
	return list, nil
}

// headerVariable has the headers for servers, one on each line, so that they need
// not stand among the arguments, where other users could see them.
const headerVariable = "WELLSPRING_HEADER"

func addHeaderFlag(flags *pflag.FlagSet, lines *[]string) {
	flags.StringArrayVar(lines, "header", nil, "`header` to send to the server, such as 'Authorization: Bearer …'; may be repeated (default: the lines of "+headerVariable+")")
}

// parseHeader reads headers, by default those of the environment.
func parseHeader(lines []string) (http.Header, error) {
	if len(lines) == 0 {
		lines = linesOf(os.Getenv(headerVariable))
	}
	header := http.Header{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, errors.New("--header: one of them is not like 'Name: value'") // it may be secret
		}
		header.Add(name, strings.TrimSpace(value))
	}
	return header, nil
}

// linesOf returns the lines of a variable that are not empty.
func linesOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
}

// latest leaves room for later publications within the years that documents can
// say.
var latest = time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC)

// fixedTime returns the time that the value of --now says, or else the environment, as
// builds that can be reproduced want it, and false if there is none.
func fixedTime(flag string) (now time.Time, fixed bool, err error) {
	switch epoch := os.Getenv("SOURCE_DATE_EPOCH"); {
	case flag != "":
		if now, err = resourcesync.ParseDateTime(flag); err != nil {
			return now, false, fmt.Errorf("--now: %w", err)
		}
	case epoch != "":
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return now, false, fmt.Errorf("SOURCE_DATE_EPOCH is %q, not a number of seconds", epoch)
		}
		if seconds < 0 || seconds > latest.Unix() {
			return now, false, fmt.Errorf("SOURCE_DATE_EPOCH is %s, which is not between 1970 and 9000", epoch)
		}
		now = time.Unix(seconds, 0).UTC()
	default:
		return now, false, nil
	}
	if now.Year() < 1 || now.After(latest) {
		return now, false, fmt.Errorf("--now is %s, which is not between the years 1 and 9000", flag)
	}
	return now, true, nil
}
