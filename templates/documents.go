package templates

// documents are the titles of documents, and what each is for.
var documents = map[string][2]string{
	"description":          {"Source Description", "Where everything begins: it leads to all that is offered here."},
	"capabilitylist":       {"Capability List", "Names the documents of this set of resources."},
	"resourcelist":         {"Resource List", "Every resource there is, with its time, length and digest: to copy all, or to compare a copy."},
	"changelist":           {"Change List", "What was created, updated and deleted, and when: to keep a copy up to date."},
	"resourcedump":         {"Resource Dump", "All resources in ZIP packages: a copy with a few requests."},
	"changedump":           {"Change Dump", "What has changed, with the new content, in ZIP packages."},
	"resourcelist-archive": {"Resource List Archive", "Resource Lists of former times."},
	"changelist-archive":   {"Change List Archive", "Changes of former times."},
	"resourcedump-archive": {"Resource Dump Archive", "Resource Dumps of former times."},
	"changedump-archive":   {"Change Dump Archive", "Packages with changes of former times."},
}

// NewDocument returns what there is to say of a document, by its capability.
func NewDocument(capability, href, uri string) Document {
	d := documents[capability]
	return Document{Capability: capability, Title: d[0], Text: d[1], Href: href, URI: uri}
}
