// Package resourcesync is the document model of the ResourceSync Framework
// (ANSI/NISO Z39.99-2017) and its XML form.
//
// It writes documents with [AppendHead], [AppendEntry] and [AppendFoot] (or
// [Marshal], all at once) and reads them back, one entry at a time, with a
// [Decoder]. What is written here is read back to the same values. The Decoder
// also reads what other programs wrote.
//
// The package knows elements, attributes and their syntax. It knows nothing of
// files, and does not judge whether documents belong together.
package resourcesync

// Namespaces of the elements that ResourceSync documents are made of. See
// Z39.99-2017 §4.
const (
	NamespaceSitemap = "http://www.sitemaps.org/schemas/sitemap/0.9"
	NamespaceRS      = "http://www.openarchives.org/rs/terms/"
)

// Limits of one document. See Z39.99-2017 §7.
const (
	MaxEntries = 50_000
	MaxBytes   = 50 << 20 // of UTF-8, uncompressed
)
