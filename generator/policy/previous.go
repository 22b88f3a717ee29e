package policy

import "net/http"

// Previous says where the last publication is, if not in the output directory.
type Previous struct {
	// Place is a directory, or an http or https URL: where the publication was
	// uploaded to. It is empty for the output directory itself.
	Place string
	// Header is sent to a server, for credentials.
	Header http.Header
	// First begins a new history, and is refused where there is one.
	First bool
	// LeaveBodies takes over the heads alone, for places to which one only
	// adds. What must not be removed there is named in RetainedFile.
	LeaveBodies bool
	// Required makes it an error if there is no publication to go on from.
	Required bool

	// Retries is how often a request is sent again that failed; by default as often as
	// helps against servers that are busy.
	Retries int
}
