package verify

import "strings"

// Rule is one thing that is demanded of a publication.
type Rule struct {
	// Name is stable: scripts may depend on it.
	Name     string
	Severity Severity
	// Section names the text that demands it.
	Section string
	// Title says in a few words what is demanded.
	Title string
	// Explanation is a paragraph: why, and what to do.
	Explanation string
}

var rules []*Rule

// Rules returns all rules, in the order in which they are documented.
func Rules() []*Rule { return rules }

// FindRule returns the rule of a name, or nil.
func FindRule(name string) *Rule {
	for _, r := range rules {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// SimilarRules returns the names of rules that have a part of a name in common
// with it, for somebody who did not find what he looked for.
func SimilarRules(name string) []string {
	var names []string
	for _, r := range rules {
		for part := range strings.SplitSeq(strings.ToLower(name), "-") {
			if len(part) > 2 && strings.Contains(r.Name, part) {
				names = append(names, r.Name)
				break
			}
		}
	}
	return names
}

// rule adds a rule to the table.
func rule(name string, s Severity, section, title, explanation string) *Rule {
	r := &Rule{name, s, section, title, strings.Join(strings.Fields(explanation), " ")}
	rules = append(rules, r)
	return r
}

// The texts that rules follow.
const (
	core         = "Z39.99-2017 §"
	archivesText = "Archives 0.9.1 §"
	notification = "Framework Notification 1.0 §"
	memento      = "RFC 7089 §"
	sitemaps     = "Sitemaps 0.9"
	practice     = "practice" // what hosts and Destinations do
)

// Whether documents can be had and read.
var (
	documentMissing = rule("document-missing", Error, core+"6.2", "documents that are named are there",
		`A document that another one names could not be opened: it is not there, or the server
		refused it. A Destination that follows the link stops here. An upload that is not complete,
		or one that deletes old files before the new ones are in place, is the usual reason.`)
	documentElsewhere = rule("document-elsewhere", Note, core+"6.2", "documents and packages are where the audit can look for them",
		`A document, a package or a notification channel that is named belongs to another host or place than the directory
		that is audited, so nothing can be said of it. Audit the Source at its URL, or give --resources PREFIX=DIR for
		the directory that is served there.`)
	documentDigest = rule("document-digest", Error, core+"7", "documents have the length and hash that are stated of them",
		`The hash or length that an Index or an archive states of a document is not that of the
		document. Either of the two is old, or the document was altered after it was closed. A
		Destination that checks what it fetched throws it away.`)
	auditLimit = rule("audit-limit", Error, core+"7", "what is published keeps within the limits of this audit",
		`Something is larger, deeper or more than this audit takes in, which protects it against
		input that was made to exhaust it. The message names the limit. What lies beyond was not
		looked at, so nothing can be said of it.`)
	xmlWellFormed = rule("xml-well-formed", Error, core+"7", "documents are well-formed XML",
		`The document is not XML: a tag that is not closed, an ampersand that is not escaped, a
		character that XML does not allow, an attribute that comes twice, or text around the root
		element. Most parsers give up at this point, and so does this audit, but for attributes
		that come twice.`)
	xmlEncoding = rule("xml-encoding", Error, sitemaps, "documents are in UTF-8",
		`Sitemaps, and with them all documents of a Source, must be encoded in UTF-8. Declare it in the
		XML declaration, so that the type a server sends cannot lead a parser astray.`)
	xmlDoctype = rule("xml-doctype", Error, core+"7", "documents declare no entities",
		`A document type declaration with declarations in it can define entities that expand without
		end, or that read other files. Careful parsers refuse it, and no document of the standard needs
		one. The rest of the document was not read.`)
	xmlNamespace = rule("xml-namespace", Error, core+"4", "elements are in the namespaces of the standard",
		`An element has the right name in the wrong namespace, or a prefix that is not declared. The
		elements of Sitemaps belong to http://www.sitemaps.org/schemas/sitemap/0.9, md and ln to
		http://www.openarchives.org/rs/terms/ (with the slash at its end), usually with the prefix rs.
		The audit goes on as if the namespace were right.`)
	rootElement = rule("root-element", Error, core+"6.1", "the root element is urlset, or sitemapindex where an Index may be",
		`A document is a urlset; only an Index, which groups documents of one capability, is a
		sitemapindex. Destinations tell them apart by the root element alone. Manifests, Capability Lists,
		notifications and documents below an Index cannot be an Index themselves.`)
	contentUnknown = rule("content-unknown", Warning, core+"7", "there are no unknown elements, and no text where none belongs",
		`An element in one of the two namespaces is not defined there, or stands in a place where it has
		no meaning; or there is text between elements. Destinations pass it over, so what it was meant to
		say is lost. Elements in namespaces of other communities are fine.`)
	elementOrder = rule("element-order", Note, sitemaps, "the document's own elements stand before its entries",
		`The schema of Sitemaps has the document's own elements before the entries, and in an entry loc,
		lastmod, changefreq and priority in this order before all others. A Destination that reads a
		stream, or checks documents against the schema, can have trouble with another order.`)
	elementOnce = rule("element-once", Error, core+"7", "elements that may come once come once",
		`rs:md, loc, lastmod and changefreq cannot be repeated. A Destination takes the first or the last
		of them; which one cannot be known.`)
	attributeUnknown = rule("attribute-unknown", Error, core+"7", "attributes without a prefix are those of the standard",
		`Attributes that the standard does not define must be in another namespace, with a prefix; and
		urlset, sitemapindex, url, sitemap, loc and lastmod have none of their own. A misspelt attribute
		is the usual reason.`)
	attributePrefix = rule("attribute-prefix", Error, core+"7", "attributes of the standard have no prefix",
		`The attributes of rs:md and rs:ln must not have a namespace prefix: write capability="…", not
		rs:capability="…". To a parser that knows namespaces it is another attribute.`)
	attributePlace = rule("attribute-place", Warning, core+"7", "attributes stand where they have a meaning",
		`The attribute is one of the standard's, but not one that this kind of document uses at this place,
		such as path outside of manifests, change outside of Change Lists, or hash of the document itself.
		Destinations pass it over.`)
)

// What documents say of themselves.
var (
	limitEntries = rule("limit-entries", Error, core+"7", "a document has 50,000 entries at most",
		`A document of more than 50,000 entries has to be split and grouped by an Index. Destinations, and
		search engines for Resource Lists, stop reading there or refuse the document.`)
	limitBytes = rule("limit-bytes", Error, core+"7", "a document has 50 MB at most",
		`A document of more than 50 MB (52,428,800 bytes, not compressed) has to be split and grouped by an
		Index.`)
	capabilityMissing = rule("capability-missing", Error, core+"7", "documents say which capability they have",
		`Each document must have an rs:md element with a capability attribute as a child of its root element:
		it is how a Destination knows what it reads.`)
	capabilityValue = rule("capability-value", Error, core+"7", "capabilities are spelt as the standard defines them",
		`The defined values are description, capabilitylist, resourcelist, resourcedump, changelist,
		changedump, resourcedump-manifest and changedump-manifest, the four kinds of archives
		(resourcelist-archive and so on) and framework-notification, all in lower case. Other
		specifications may define more.`)
	capabilityMismatch = rule("capability-mismatch", Error, core+"9", "documents are of the capability under which they are listed",
		`What a link, a Capability List or an Index announces, and what the document says of itself, are not the
		same. A Destination that follows the link reads a document of another kind than it needs.`)
	capabilityEntry = rule("capability-entry", Error, core+"9", "entries of Capability Lists say which capability they have",
		`Each entry of a Capability List must have an rs:md element with the capability of the document that it
		names; in a Source Description, an rs:md element must have capability="capabilitylist".`)
	capabilityIndex = rule("capability-index", Warning, core+"9", "there is no Capability List Index",
		`The few capabilities that there are never reach the limits of one Capability List, so that no sitemapindex is
		necessary, and Sources should not generate one. Destinations do not look for it.`)
	sourceLists = rule("source-lists", Warning, core+"8", "the Source Description lists each Capability List",
		`One entry should be included in the Source Description for each Capability List. This one, or what leads to it, is
		not found from there, so Destinations that begin with the Source Description do not know of it.`)
	sourceIndex = rule("source-index", Error, core+"8", "several Source Descriptions are grouped by an Index",
		`A Source that publishes several Source Descriptions must group them by an Index. Here a Capability List leads
		up to another Source Description than the one that it was found by, and that one lists what this one does
		not: a Destination that begins with one of the two never learns of all there is. Copies of one Source
		Description are fine.`)
	lastmodStale = rule("lastmod-stale", Warning, core+"9", "lastmod of documents is kept up to date, or left out",
		`In Source Descriptions and Capability Lists, lastmod should be omitted unless it is updated whenever the document
		that it is about is. This one is older than that document says it is itself.`)
	timeFuture = rule("time-future", Warning, core+"7", "times are not in the future",
		`The time is more than a day later than the clock of this audit. A list that is closed until then leaves out
		what happens in between, and Destinations that keep the latest time pass over all changes before it.`)
	capabilityOnce = rule("capability-once", Error, core+"9", "a Capability List has one entry for each capability",
		`A Capability List must only contain one entry per capability: a Destination cannot know which of two
		Resource Lists to use. Several documents of one capability are grouped by an Index, several sets
		of resources by several Capability Lists.`)
	timeRequired = rule("time-required", Error, core+"A", "documents have at, or from, as Appendix A demands",
		`Resource Lists, Resource Dumps, their Indexes and manifests must have at; Change Lists, Change Dumps, their
		Indexes and manifests must have from. Without it, a Destination cannot know from where to go on.`)
	timeRecommended = rule("time-recommended", Note, core+"A", "entries that lead to changes say from when",
		`from is recommended for the entries of Change List Indexes, Change Dumps and Change Dump Indexes, so
		that a Destination can pick out what it has not seen without fetching all of it.`)
	timeAttribute = rule("time-attribute", Error, core+"A", "times stand only where Appendix A has them",
		`at and completed belong to snapshots (Resource Lists, Resource Dumps, their Indexes and manifests), from and
		until to intervals (Change Lists, Change Dumps, their Indexes and manifests), datetime to
		changes, and none of them to other documents or entries.`)
	datetimeForm = rule("datetime-form", Error, core+"7", "times are W3C Datetimes",
		`Times, lastmod among them, must have a form of the W3C's note on date and time formats, such as
		2026-01-02T03:04:05Z. Others cannot be compared with anything.`)
	datetimeUTC = rule("datetime-utc", Warning, core+"7", "times are complete and in UTC",
		`A complete date and time in UTC, as YYYY-MM-DDThh:mm:ssZ, is recommended for all times of the
		standard. A widely used harvester reads offsets such as +01:00 in the wrong direction, and dates
		without a time are hard to put in order with others.`)
	timeOrder = rule("time-order", Error, core+"7", "times do not end before they begin",
		`completed is before at, or until before from: an interval that ends before it begins.`)
	timeAgree = rule("time-agree", Warning, core+"7", "an entry and the document that it names have the same times",
		`What an Index or an archive says of at, completed, from or until of a document is not what the document
		says. A Destination decides by the one what to fetch, and by the other where to go on.`)
	linkUpMissing = rule("link-up-missing", Error, core+"6.2", "documents have an up link",
		`Each document but the Source Description must have an rs:ln element with rel="up": a Capability
		List to the Source Description, all others to their Capability List. It is how a Destination that
		found one document finds all others.`)
	linkUpTarget = rule("link-up-target", Error, core+"6.2", "up links lead to the document above",
		`The up link does not lead to the document that names this one (for a document in an Index: to its
		Capability List). Navigation upwards must lead to the Source Description in the end. A document that several
		Capability Lists lead to may lead up to any of these, but not to that of another set of resources.`)
	linkIndexMissing = rule("link-index-missing", Note, core+"10.2", "documents in an Index link to it",
		`For a document that is grouped by an Index, an rs:ln element with rel="index" is recommended, so that a
		Destination that has read it finds the others.`)
	linkIndexTarget = rule("link-index-target", Error, core+"6.2", "index links lead to the Index",
		`The index link leads to a document that is no Index over this one.`)
	linkDescribedBy = rule("link-describedby", Note, core+"8", "Source Description and Capability Lists link to a description",
		`A link with rel="describedby" to a document for people or machines that says what the Source, or the set of
		resources, is about is recommended. Nothing breaks without it.`)
	linkArchives = rule("link-archives", Warning, archivesText+"2", "archives links lead to the archives of the Capability List",
		`The archives link of a live document does not lead to the archive document that the Capability
		List names for this capability.`)
	linkHref = rule("link-href", Error, core+"7", "links have a target that is a URI",
		`Each rs:ln element must have an href attribute with an absolute URI. Relative references are not
		resolved by Destinations, since nothing says against what.`)
	linkRel = rule("link-rel", Error, core+"7", "links have a relation that is registered, or a URI",
		`Each rs:ln element must have a rel attribute. Relation types must be registered with IANA (in lower
		case) or be URIs; anything else means nothing to others.`)
	priRange = rule("pri-range", Error, core+"7", "pri is a number from 1 to 999,999",
		`pri is an integer between 1 (the first choice) and 999,999.`)
	hashForm = rule("hash-form", Error, core+"7", "hashes are lists of algorithm, colon and hexadecimal digest",
		`A hash attribute is a list, separated by white space, of an algorithm (such as md5 or sha-256), a colon and
		the digest in hexadecimal digits, each algorithm once and with as many digits as it has. Base64 and
		bare digests are not understood.`)
	hashAlgorithm = rule("hash-algorithm", Note, core+"7", "hash algorithms are known",
		`The audit does not know this algorithm, and so cannot compare digests; most Destinations will not
		know it either. md5, sha-1 and sha-256 are understood widely.`)
	lengthForm = rule("length-form", Error, core+"7", "lengths are numbers of bytes",
		`length is a number of bytes, in decimal digits, as in the Content-Length header.`)
	typeForm = rule("type-form", Error, core+"7", "media types have the form of media types",
		`type is a media type such as text/html or application/ld+json, perhaps with parameters.`)
	changefreqValue = rule("changefreq-value", Error, core+"7", "changefreq is one of the defined words",
		`changefreq is always, hourly, daily, weekly, monthly, yearly or never.`)
)

// What entries say.
var (
	locMissing = rule("loc-missing", Error, core+"7", "entries have a URI",
		`Each entry must have a loc element with a URI. Without it the rest of the entry says nothing of anything.`)
	locURI = rule("loc-uri", Error, core+"7", "URIs are absolute and valid",
		`loc is an absolute URI with a scheme: no white space, nothing outside of ASCII, no % without two
		hexadecimal digits behind it. Other characters are percent-encoded (RFC 3986), and & < > are escaped as
		XML demands.`)
	locLength = rule("loc-length", Warning, sitemaps, "URIs are shorter than 2,048 characters",
		`Sitemaps ask for URIs of less than 2,048 characters. Longer ones are refused by some parsers, caches and
		schemas.`)
	locDuplicate = rule("loc-duplicate", Warning, core+"10.1", "a resource is listed once",
		`One entry should be included for each resource; this one is listed more than once in one snapshot. Which
		of the entries holds cannot be known.`)
	authority = rule("authority", Note, core+"10.1", "resources are on the host of the document that lists them",
		`The resource is on another host than the document that lists it. That is allowed, but
		careful Destinations ask whether a Source may speak for other hosts: a widely used one refuses such
		lists unless it is told otherwise.`)
	changeMissing = rule("change-missing", Error, core+"12.1", "changes say what happened",
		`Each entry of a Change List or a Change Dump Manifest must have an rs:md element with a change attribute.
		Without it, a Destination does not know what to do. An Index that is written as a urlset
		instead of a sitemapindex looks like this, too.`)
	changeValue = rule("change-value", Error, core+"12.1", "changes are created, updated or deleted",
		`change is created, updated or deleted, in lower case. A Destination cannot apply anything else.`)
	datetimeMissing = rule("datetime-missing", Note, core+"12.1", "changes say when they happened",
		`Without datetime, a Destination cannot know which of the changes in a list it has already processed, and
		has to process all of them again. In documents of the standard's first version lastmod has
		this role.`)
	datetimeInterval = rule("datetime-interval", Error, core+"7", "changes lie in the interval of their list",
		`datetime must be equal to or after from, and before or equal to until if there is one. A Destination that
		has processed a list up to its until never looks for such a change.`)
	orderChanges = rule("order-changes", Error, core+"12.1", "changes are in chronological order",
		`The entries of Change Lists and Change Dump Manifests must be in forward chronological order. A
		Destination goes on behind the last change that it knows, and never sees what stands before it.`)
	orderLists = rule("order-lists", Error, core+"12.2", "Indexes of changes are in chronological order",
		`A Change List Index must enumerate Change Lists, and a Change Dump Index Change Dumps, in forward
		chronological order.`)
	orderPackages = rule("order-packages", Warning, core+"13.1", "packages and archived lists are in chronological order",
		`The entries of a Change Dump, and those of the archives of Change Lists and Change Dumps, should be in
		forward chronological order, so that a Destination sees at once where to begin.`)
	untilClosed = rule("until-closed", Error, core+"12.2", "an Index says until of closed lists, and only of these",
		`Where a list is closed (it has until), its entry in the Index must have until; where it is open, the entry
		must not have one. A Destination polls open lists and forgets closed ones.`)
	intervalJoin = rule("interval-join", Warning, core+"12.1", "intervals join without a gap",
		`A list of changes begins later than the one before it ends. A Destination that has processed a closed list
		looks for the one that tells what came after its until: it does not find it, and cannot know whether it
		misses anything.`)
	intervalOverlap = rule("interval-overlap", Warning, core+"12.1", "intervals do not overlap",
		`A list of changes begins before the one before it ends. A Destination applies the changes in between twice,
		and in an order that is not that of the events.`)
	archiveGap = rule("archive-gap", Note, archivesText+"5", "archives reach back without gaps",
		`Between two archived documents, or the last archived one and the live ones, there is a time whose changes
		are nowhere. A Destination that begins with an archived Resource List of before cannot follow
		from there.`)
	intervalOpen = rule("interval-open", Error, core+"12.2", "only the last list is open",
		`A list of changes that is not the last one has no until. A Destination that follows the lists waits at this
		one for ever.`)
	intervalCover = rule("interval-cover", Warning, core+"12.2", "an Index covers the interval of its lists",
		`The Index, or the Change Dump, says that it has all changes since from (and up to until), but its lists or
		packages begin later or end otherwise.`)
	pathMissing = rule("path-missing", Error, core+"11.2", "manifests say where bitstreams are",
		`Each entry of a manifest must have an rs:md element with a path attribute, unless its change is
		deleted.`)
	pathForm = rule("path-form", Error, core+"11.2", "paths begin with a slash",
		`path is relative to the root of the package and begins with a slash: path="/resources/a.txt".`)
	pathDeleted = rule("path-deleted", Warning, core+"13.2", "what was deleted has no path",
		`The entry says that the resource was deleted, and yet where its bitstream is. One of the two is wrong.`)
	indexNesting = rule("index-nesting", Error, core+"6.1", "an Index lists documents, not other Indexes",
		`An Index groups documents that are a urlset. Destinations, and the Sitemap protocol, do not look for a second
		level. What lies below was not read. Archives may name an Index.`)
)
