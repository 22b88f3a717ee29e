package verify

// What stands in packages.
var (
	packageMissing = rule("package-missing", Error, core+"11.1", "packages are there",
		`The Resource Dump or Change Dump names a package that could not be opened.`)
	packageDigest = rule("package-digest", Error, core+"11.1", "packages have the length and hash that are stated of them",
		`The package is not the one that the dump describes. It was replaced, cut off, or changed on its way.`)
	packageType = rule("package-type", Warning, core+"11.1", "packages are ZIP files",
		`All packages of a dump should have the same format. ZIP (application/zip) is what the standard specifies and
		Destinations can read. Packages of other types are not opened by this audit.`)
	packageStated = rule("package-stated", Note, core+"11.1", "type and length of packages are stated",
		`It is recommended to state media type and length of each package, so that a Destination knows what it is going to
		fetch.`)
	manifestType = rule("manifest-type", Note, core+"11.2", "manifests say the types of bitstreams",
		`A type is recommended in manifests, since a bitstream in a package has no Content-Type header.`)
	packageZip = rule("package-zip", Error, core+"11.1", "packages can be unpacked",
		`The package is not a ZIP file that can be read to its end: its directory is damaged, an entry overlaps another
		one or is encrypted, a checksum is wrong, or it uses a method that is not stored or deflated.`)
	packageUnsafe = rule("package-unsafe", Error, core+"11.2", "packages unpack safely",
		`The name of an entry leaves the directory into which the package is unpacked (through .., a leading slash, a drive
		letter or a backslash), has control characters, comes twice, or belongs to a link. Unpacking it can
		overwrite files that have nothing to do with it.`)
	manifestMissing = rule("manifest-missing", Error, core+"11.2", "packages have manifest.xml at their top level",
		`Each package must contain its manifest as manifest.xml at the top level. Without it the bitstreams have no
		URIs.`)
	manifestPath = rule("manifest-path", Error, core+"11.2", "bitstreams that a manifest lists are in the package",
		`The manifest lists a path at which the package has nothing.`)
	manifestUnlisted = rule("manifest-unlisted", Error, core+"11.2", "what is in a package is listed by its manifest",
		`The package has a file that its manifest does not list, so nothing says to which resource it belongs.`)
	manifestTime = rule("manifest-time", Warning, core+"13.2", "a manifest has the times that the dump states of its package",
		`The times of the manifest are not those that the dump gives for the package.`)
	bitstreamDigest = rule("bitstream-digest", Error, core+"11.2", "bitstreams have the length and hash that the manifest states",
		`A bitstream in the package is not the one that the manifest describes. A Destination that unpacks it gets
		wrong bytes.`)
	contentsMissing = rule("contents-missing", Error, core+"11.1", "copies of manifests are there",
		`The dump links to a copy of the manifest (rel="contents") that could not be opened.`)
	contentsDiffer = rule("contents-differ", Error, core+"13.1", "copies of manifests are equal to the manifest in the package",
		`A copy of a manifest must match the one inside the package, since Destinations decide by the copy whether
		to fetch the package.`)
)

// What resources are.
var (
	resourceMissing = rule("resource-missing", Error, core+"10.1", "resources that are listed are there",
		`The resource is listed but could not be had: a Destination gets an error for it. If it was removed on
		purpose, publish again, so that Destinations learn of it.`)
	resourceDigest = rule("resource-digest", Error, core+"7", "resources have the length and hash that are stated of them",
		`The resource is not what the list says that it is: it was changed after the publication was made, or on its
		way (by a server that compresses, adds to or rewrites it). A Destination that checks digests
		refuses it.`)
	resourceChanged = rule("resource-changed", Warning, core+"10.1", "a Resource List that nothing follows is up to date",
		`The resource is not what the Resource List says, or not there any more. That list says what was at its time, and
		there is no open Change List which would have to tell of later changes: the resource changed since, or it is
		damaged. Publish again, or publish changes, too.`)
	resourceEncoding = rule("resource-encoding", Warning, core+"7", "resources are served with the content coding that is stated of them",
		`encoding should be equal to the Content-Encoding header with which the resource is served. hash and length are
		those of the coded content.`)
	resourceType = rule("resource-type", Warning, core+"7", "resources are served with the type that is stated of them",
		`The server sends the resource with another media type than the list states.`)
	resourceElsewhere = rule("resource-elsewhere", Note, core+"10.1", "resources are where the audit can look for them",
		`No directory is known in which these resources lie, so their content was not compared. Give
		--resources PREFIX=DIR, with the beginning of their URIs and the directory that is served there.`)
)

// Whether documents agree with each other over time.
var (
	eventPossible = rule("event-possible", Error, core+"12.1", "changes are possible",
		`A resource is said to be deleted or updated that did not exist at that time, or created that did exist.
		A Change List includes all changes of its interval, so at least one is missing or wrong.`)
	replayState = rule("replay-state", Error, core+"12.1", "the Change Lists lead from each Resource List to the next",
		`Applying all changes to an older Resource List does not give the newer one: a resource appeared, vanished or
		became another without a change that says so. A Destination that follows the Change Lists ends with other
		resources than one that begins with the Resource List.`)
	linkContent = rule("link-content", Warning, core+"7", "links say of resources what their own entries say",
		`hash, length and type of a link are those of the resource that it leads to. The same Resource List has that
		resource, with another hash or length: one of the two is old, and a Destination that checks what it fetched
		by the link throws it away.`)
	replayLag = rule("replay-lag", Warning, core+"12.1", "an open Change List keeps up with the Resource List",
		`The Resource List shows something that no Change List tells, and it is later than the last change of the open
		one, which may still be going to tell it. Until then, Destinations that follow the changes are behind.`)
	coverageDump = rule("coverage-dump", Error, core+"9", "Resource List and Resource Dump cover the same resources",
		`Capabilities in one Capability List apply uniformly to its set of resources: a resource in the Resource
		List must also be in the Resource Dump, with the same content, and the other way round, but for what
		changed between the two.`)
	coverageChanges = rule("coverage-changes", Error, core+"9", "Change Lists and Change Dump tell the same changes",
		`Capabilities in one Capability List apply uniformly: each change in a Change List must also be in the
		Change Dump, as far as both cover that time, and the other way round.`)
	closedAltered = rule("closed-altered", Error, core+"12.1", "what was closed does not change",
		`A document that had until, or whose content was stated by its hash, is not what it was in the older copy.
		Destinations that have read it will not read it again.`)
	eventLost = rule("event-lost", Error, core+"12.1", "changes that were published stay published",
		`The older copy tells a change that this one does not tell, though it says that it has all changes of that time;
		or this one begins later than the older copy ends, so that a Destination that followed the older one
		cannot go on.`)
	eventLate = rule("event-late", Error, core+"12.1", "new changes come after those that were published",
		`A change is told whose time lies before others that the older copy told. Destinations that have read the older
		copy go on behind the last change that they know, and never see it.`)
	olderCopy = rule("older-copy", Error, core+"12.1", "a publication goes on from its older copy",
		`The copy that was given with --against is not older than this publication, or belongs to another Source.`)
)

// What only a server shows.
var (
	wellKnown = rule("well-known", Warning, core+"6.3.2", "the Source Description is at /.well-known/resourcesync",
		`A Source Description should be published at the well-known URI, where Destinations look first. Many hosts and
		deployers leave out directories whose names begin with a dot.`)
	httpStatus = rule("http-status", Error, core+"6.2", "the server answers",
		`The server answered with an error that is not "not found", cut the answer off, redirected in a circle or too often,
		or did not answer in time.`)
	httpType = rule("http-type", Warning, practice, "documents are served as XML, and packages as ZIP",
		`Documents should be served as application/xml (or text/xml), packages as application/zip. Browsers and some
		Destinations decide by the type what to do.`)
	httpRedirect = rule("http-redirect", Note, practice, "documents are served at their own URI",
		`The URI redirects to another one. Links and digests are meant for the URI that is stated; each redirect costs a
		request, and some Destinations do not follow.`)
	httpCache = rule("http-cache", Warning, practice, "documents that change are not cached for long",
		`Caches may keep this document for more than an hour, though it changes in place. Destinations then see an old
		Index with new lists. Send Cache-Control: no-cache or a short max-age with it.`)
	httpLink = rule("http-link", Warning, core+"6.3.3", "Link headers lead to the Capability List",
		`A Link header with rel="resourcesync" must lead to a Capability List that covers the resource. This one leads
		to something else.`)
	topicStatus = rule("topic-status", Error, notification+"4.1", "the notification topic answers",
		`HEAD and GET of the topic URI must answer 200, with Content-Type application/xml.`)
	topicLink = rule("topic-link", Error, notification+"4.1", "the notification topic links to itself and to the hub",
		`The topic must be served with Link headers rel="self" (the topic URI) and rel="hub" (the hub that the Capability
		List names), from which subscribers know where to subscribe.`)
)

// Framework Notification.
var (
	hubLink = rule("hub-link", Error, notification+"5", "a notification channel names its hub",
		`The entry of a Capability List with capability="framework-notification" must have a link with rel="hub" to the
		http or https URL of the hub, at which Destinations subscribe.`)
	notificationIndex = rule("notification-index", Error, notification+"3", "notifications tell of no Index",
		`A notification never tells of an Index, but of a document that stands in it, with a link to the Index.`)
	notificationEntry = rule("notification-entry", Error, notification+"3", "notifications say which document changed, and how",
		`Each entry of a notification must have an rs:md element with change and with the capability of the changed
		document, in one of the combinations that are defined: a Resource Dump can only be created; a Resource List, Change
		List or Change Dump created or updated; a Capability List or the Source Description also deleted. It must agree with
		what is there, be about documents of the same set of resources or the Source Description, and have a link to the
		Index in which the document stands.`)
)
