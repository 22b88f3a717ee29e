package policy_test

import (
	"fmt"
	"time"

	"github.com/wellspring-sync/wellspring/generator/policy"
)

// What options say has the same form as in flags and settings.
func ExampleParseKeep() {
	keep, err := policy.ParseKeep("12w")
	if err != nil {
		fmt.Println(err)
		return
	}
	ended := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	fmt.Println(keep, keep.IsPast(ended, ended.AddDate(0, 1, 0)), keep.IsPast(ended, ended.AddDate(0, 3, 0)))
	// Output: 12w false true
}

// Of snapshots that are archived, some are kept: here the last one of each day and month.
func ExampleArchiveKeep_Thin() {
	keep, err := policy.ParseArchiveKeep("daily=2,monthly=all")
	if err != nil {
		fmt.Println(err)
		return
	}
	start := time.Date(2026, 1, 30, 12, 0, 0, 0, time.UTC)
	fmt.Println(keep.Thin([]time.Time{start, start.AddDate(0, 0, 1), start.AddDate(0, 0, 2), start.AddDate(0, 0, 3)}))
	// Output: [false true true true]
}
