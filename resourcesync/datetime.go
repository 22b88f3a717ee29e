package resourcesync

import (
	"fmt"
	"regexp"
	"time"
)

// AppendDateTime appends t as a W3C Datetime in UTC, such as
// 2013-01-03T09:00:00Z. If t has a fraction, that has 3, 6 or 9 digits, as many as it
// needs. Years before 0 and after 9999 cannot be written and give an error. See
// Z39.99-2017 §7.
func AppendDateTime(dst []byte, t time.Time) ([]byte, error) {
	t = t.UTC()
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return dst, fmt.Errorf("year %d has no W3C Datetime", year)
	}
	hour, minute, second := t.Clock()
	dst = append(dst, byte('0'+year/1000), byte('0'+year/100%10))
	dst = append(append2(dst, year%100), '-')
	dst = append(append2(dst, int(month)), '-')
	dst = append(append2(dst, day), 'T')
	dst = append(append2(dst, hour), ':')
	dst = append(append2(dst, minute), ':')
	dst = append2(dst, second)
	if ns := t.Nanosecond(); ns != 0 {
		dst = appendFraction(append(dst, '.'), int64(ns))
	}
	return append(dst, 'Z'), nil
}

// appendFraction appends the digits of so many nanoseconds, three at a time.
func appendFraction(dst []byte, ns int64) []byte {
	for digits := 0; ns > 0 || digits%3 > 0; digits++ {
		ns *= 10
		dst = append(dst, byte('0'+ns/1e9))
		ns %= 1e9
	}
	return dst
}

func append2(dst []byte, n int) []byte {
	return append(dst, byte('0'+n/10), byte('0'+n%10))
}

// FormatDateTime is [AppendDateTime] for one string. A time that cannot be
// written comes out as Go's own notation.
func FormatDateTime(t time.Time) string {
	b, err := AppendDateTime(make([]byte, 0, len("2006-01-02T15:04:05.000000Z")), t)
	if err != nil {
		return t.String()
	}
	return string(b)
}

// ParseDateTime reads a W3C Datetime in any of its forms: a year, a month, a
// day, or a time to the minute, the second or a fraction, with Z or an offset.
// What is left out counts as its beginning; a leap second counts as the second
// before it. The result is in UTC.
func ParseDateTime(s string) (time.Time, error) {
	if n := len(s) - len("Z"); (n == 19 || n == 23 || n == 26) && s[n] == 'Z' {
		t, ok := parseSecond(s)
		ns, ok2 := parseFraction(s[19:n])
		if ok && ok2 {
			return t.Add(ns), nil
		}
	}
	if w3cDateTime.MatchString(s) {
		for _, layout := range dateTimeLayouts {
			if t, err := time.Parse(layout, withoutLeapSecond(s)); err == nil {
				return t.UTC(), nil
			}
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a W3C Datetime such as 2013-01-03T09:00:00Z", clip(s))
}

// w3cDateTime is the shape, since time.Parse takes more than the layouts say.
var w3cDateTime = regexp.MustCompile(`^\d{4}(-\d\d(-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?)?)?$`)

var dateTimeLayouts = []string{
	"2006-01-02T15:04:05Z07:00", // takes a fraction, too
	"2006-01-02",
	"2006-01-02T15:04Z07:00",
	"2006-01",
	"2006",
}

// parseFraction reads a fraction of up to nine digits with its point, or nothing.
func parseFraction(s string) (ns time.Duration, ok bool) {
	if s == "" {
		return 0, true
	}
	unit := time.Second
	for i := 1; i < len(s); i++ {
		digit := s[i] - '0'
		if digit > 9 {
			return 0, false
		}
		unit /= 10
		ns += time.Duration(digit) * unit
	}
	return ns, s[0] == '.'
}

// parseSecond reads the beginning that times have in nearly every document, up to the
// second.
func parseSecond(s string) (time.Time, bool) {
	if s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' || s[16] != ':' {
		return time.Time{}, false
	}
	century, ok1 := digits2(s[0], s[1])
	year, ok2 := digits2(s[2], s[3])
	month, ok3 := digits2(s[5], s[6])
	day, ok4 := digits2(s[8], s[9])
	hour, ok5 := digits2(s[11], s[12])
	minute, ok6 := digits2(s[14], s[15])
	second, ok7 := digits2(s[17], s[18])
	if !(ok1 && ok2 && ok3 && ok4 && ok5 && ok6 && ok7) {
		return time.Time{}, false
	}
	year += century * 100
	if month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59 || second > 59 {
		return time.Time{}, false
	}
	days := daysBeforeYear(year) + daysBeforeMonth(year, month) + day - 1
	return time.Unix(int64(days)*86400+int64(hour*3600+minute*60+second), 0).UTC(), true
}

func digits2(a, b byte) (int, bool) {
	a, b = a-'0', b-'0'
	return int(a)*10 + int(b), a <= 9 && b <= 9
}

var monthStart = [...]int{0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365}

func leap(year int) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

func daysIn(year, month int) int {
	if month == 2 && leap(year) {
		return 29
	}
	return monthStart[month] - monthStart[month-1]
}

func daysBeforeMonth(year, month int) int {
	if month > 2 && leap(year) {
		return monthStart[month-1] + 1
	}
	return monthStart[month-1]
}

// daysBeforeYear counts the days from 1970-01-01 to the first day of a year
// from 0 to 9999, of the Gregorian calendar extended backwards.
func daysBeforeYear(year int) int {
	const daysTo1970 = 719528 // from 0000-01-01
	if year == 0 {
		return -daysTo1970
	}
	y := year - 1
	return year*365 + y/4 - y/100 + y/400 + 1 - daysTo1970
}

// withoutLeapSecond turns second 60, which is legal but unknown to package
// time, into 59.
func withoutLeapSecond(s string) string {
	if len(s) > 19 && s[16:19] == ":60" {
		return s[:17] + "59" + s[19:]
	}
	return s
}

// clip keeps messages about hostile input short.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
