package policy

import (
	"errors"
	"fmt"
	"io/fs"
)

// Refusal is the error of a guard: the run could go on, but would probably do
// harm.
type Refusal struct {
	Why string
	// Flag is the option that makes the run go on all the same, or empty.
	Flag string
	// Passes says that the same run may do no harm after some time.
	Passes bool
}

func (r *Refusal) Error() string { return r.Why }

// MissingError says that there is no publication to go on from.
type MissingError struct{ Place string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("there is no publication in %s to go on from", e.Place)
}

// LostChangesError says that a package of the Change Dump, or a part that names
// packages, is gone. It cannot be made anew.
type LostChangesError struct {
	Path string
	Err  error
}

func (e *LostChangesError) Error() string {
	err := e.Err
	if p, ok := errors.AsType[*fs.PathError](err); ok { // which repeats the path
		err = p.Err
	}
	return fmt.Sprintf("%s of the Change Dump is lost, and with it what resources were in the meantime: %v", e.Path, err)
}

func (e *LostChangesError) Unwrap() error { return e.Err }

// ErrChanged says that something else changed the publication during the run.
var ErrChanged = errors.New("the publication was changed by something else during this run")

// RetainedError says that a publication is complete, and the file is not that says what
// must stay where the last one is.
type RetainedError struct{ Err error }

func (e *RetainedError) Error() string {
	return fmt.Sprintf("the publication is complete, but %s could not be written: %v", RetainedFile, e.Err)
}

func (e *RetainedError) Unwrap() error { return e.Err }

// PlanError says that a publication is complete, and that its upload plan is not in
// place.
type PlanError struct{ Err error }

func (e *PlanError) Error() string { return "the publication is complete, but " + e.Err.Error() }
func (e *PlanError) Unwrap() error { return e.Err }
