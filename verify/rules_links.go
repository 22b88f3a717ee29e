package verify

// What links from resources to others say.
var (
	linkDuplicate = rule("link-duplicate", Warning, core+"14.2", "links to mirrors do not repeat what holds for the resource",
		`A duplicate has the hash, length, type and encoding of the resource itself, so these should be left out of its
		link. If they differ, it is no duplicate.`)
	linkAlternate = rule("link-alternate", Note, core+"14.3", "alternate representations have a type",
		`A type is recommended for links with rel="alternate", so that a Destination can choose without
		fetching.`)
	linkCanonical = rule("link-canonical", Warning, core+"14.3", "a representation links to one generic URI",
		`A link with rel="canonical" leads from the URI of one representation to the generic URI of the resource, of
		which there is at most one. Of several, nobody knows which one that is.`)
	linkPatch = rule("link-patch", Error, core+"14.4", "patches have a type, and stand with changes",
		`A link with the relation http://www.openarchives.org/rs/terms/patch must have a type that tells how
		to apply it (application/octet-stream or text/plain does not), belongs to a change (in a Change List or a Change
		Dump Manifest), and must have a path in a manifest.`)
	linkPatchChange = rule("link-patch-change", Warning, core+"14.4", "patches stand with updates",
		`A patch leads from the previous version of a resource to the current one. What was created has no previous
		version, and what was deleted no current one, so a Destination can do nothing with the patch.`)
	linkDescribes = rule("link-describes", Note, core+"14.5", "resource and metadata link to each other",
		`The link between a resource and its metadata is added to the entries of both: rel="describedby" from
		the resource, rel="describes" from the metadata. Where one Resource List has both, one of the two links is not
		there. A Destination that begins at the other end does not see that they belong together. Metadata
		that more than 1,000 resources name is left in peace.`)
	linkMemento = rule("link-memento", Warning, core+"14.6", "a resource links to one memento",
		`A single link with rel="memento" leads to the version that belongs to lastmod. Other versions are found by
		the TimeGate or the TimeMap.`)
	linkMementoContent = rule("link-memento-content", Warning, core+"14.6", "a memento is the version that the entry tells of",
		`The link with rel="memento" leads to the version of the resource of which the entry tells, so that a
		Destination can have it even if the resource has changed again. hash, length and type are then the same in the
		link and in rs:md. Where they differ, the link leads to another version.`)
	linkMementoModified = rule("link-memento-modified", Note, core+"14.6", "links to mementos say when that version was modified",
		`The attribute modified of a link with rel="memento" conveys when that version was last modified. Without it, a
		Destination cannot put the versions that it gathers into order without fetching them.`)
	linkTimegate = rule("link-timegate", Warning, core+"14.6", "links to TimeGates have no other attributes",
		`encoding, hash, length, modified, path, pri and type should not be used with rel="timegate": a TimeGate has no
		content of its own.`)
	linkTimemap = rule("link-timemap", Note, memento+"2.2.3", "links to TimeMaps have a type",
		`TimeMaps can be written in several ways, so RFC 7089 has links to them say in which, usually
		type="application/link-format". Z39.99-2017 leaves that open.`)
	linkVia = rule("link-via", Warning, core+"14.8", "a resource links to one original",
		`In a chain of aggregators, each should keep only the link with rel="via" that leads to the original
		Source. Of several, nobody knows which one that is; and one that leads to a resource of the same list which is
		itself from elsewhere does not lead to the original.`)
	linkSelf = rule("link-self", Warning, core+"14", "links lead to another resource",
		`A resource is not its own mirror, patch, metadata, profile or original: §14.5 says that resource and metadata
		have distinct URIs. A template of links that puts the URI of the resource in the wrong place is the usual
		reason.`)
)

// What the files are to which these links lead.
var (
	linkedMissing = rule("linked-missing", Error, core+"14.1", "mementos, patches and TimeMaps of the publication are there",
		`The entry links to a memento or a patch on the host of the publication and states its hash or length, or to a
		TimeMap there, but there is nothing. This is asked of what the current Resource List and the open Change List
		name (or the last one, if all are closed), but for the mementos of changes that a later one in that list
		supersedes: old versions may be thinned out. What closed lists and archives name may have been removed by now,
		too: that is fine, since a Destination can always fall back on the resource itself. In a directory, a TimeMap
		is only missed beside a memento of the same entry, since servers make TimeMaps by themselves.`)
	linkedDigest = rule("linked-digest", Error, core+"7", "mementos and patches have the length and hash that are stated of them",
		`The memento or patch to which the entry links is not what the link says that it is. A Destination that checks
		what it fetched refuses it; one that does not has a wrong version. Where several entries name the same file, the
		last one says what it is. What closed lists name may be gone, but is compared where it is there.`)
	timemapForm = rule("timemap-form", Error, memento+"5", "TimeMaps are link-format about their resource",
		`A TimeMap of type application/link-format is a list of links as in a Link header. It must list the resource
		that it is about with rel="original", and each version with rel="memento" and a datetime such as
		"Tue, 20 Jun 2000 18:02:59 GMT". This one cannot be read, is about another resource, or lacks one of these.`)
	timemapMemento = rule("timemap-memento", Error, memento+"5", "the mementos that a TimeMap lists are there",
		`A TimeMap lists the versions that there are. This one, which an entry of the publication links to, lists a
		memento on the host of the publication that is not there. Remove it from the TimeMap when the version is
		removed.`)
	timemapComplete = rule("timemap-complete", Error, memento+"5", "TimeMaps list all mementos",
		`A TimeMap must list each memento that the server knows (or lead to other TimeMaps that do). The entry
		links to a memento which its TimeMap does not list, so that a Destination that looks there does not find
		the version.`)
)
