package verify

import (
	"strings"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

const notificationCapability = resourcesync.FrameworkNotification

// span is what the times of a document are about.
type span int

const (
	timeless span = iota
	snapshot      // at, completed
	interval      // from, until
)

// form is what a document of one capability looks like.
type form struct {
	span span
	// entrySpan is that of the entries, if they name documents or packages.
	entrySpan span
	// entry and index are the attributes of rs:md in the entries of a document,
	// and of an Index.
	entry, index attrs
	// indexed is true if there can be an Index.
	indexed bool
	// leaf is true if the entries are resources, changes or bitstreams, and not
	// documents or packages.
	leaf bool
	// changes is true if the entries are changes.
	changes bool
	// manifest is true if the entries are bitstreams of a package.
	manifest bool
}

// Attributes that go together.
const (
	representation = attrHash | attrLength | attrType | attrEncoding
	snapshotTimes  = attrAt | attrCompleted
	intervalTimes  = attrFrom | attrUntil
	allTimes       = snapshotTimes | intervalTimes | attrDateTime
)

// forms are all that are defined. See Z39.99-2017 §8 to §13 and Appendix A,
// Archives 0.9.1 §3 and Framework Notification 1.0 §3.
var forms = map[resourcesync.Capability]form{
	resourcesync.Description:    {entry: attrCapability | representation, index: attrCapability | representation, indexed: true},
	resourcesync.CapabilityList: {entry: attrCapability | representation, index: attrCapability | representation},
	resourcesync.ResourceList: {
		span: snapshot, entrySpan: snapshot, entry: representation, index: attrCapability | snapshotTimes | representation, indexed: true, leaf: true,
	},
	resourcesync.ResourceDump: {
		span: snapshot, entrySpan: snapshot, entry: snapshotTimes | representation, index: attrCapability | snapshotTimes | representation, indexed: true,
	},
	resourcesync.ChangeList: {
		span: interval, entrySpan: interval, entry: attrChange | attrDateTime | representation, index: attrCapability | intervalTimes | representation,
		indexed: true, leaf: true, changes: true,
	},
	resourcesync.ChangeDump: {
		span: interval, entrySpan: interval, entry: intervalTimes | representation, index: attrCapability | intervalTimes | representation, indexed: true,
	},
	resourcesync.ResourceDumpManifest: {span: snapshot, entry: attrPath | representation, leaf: true, manifest: true},
	resourcesync.ChangeDumpManifest: {
		span: interval, entry: attrChange | attrDateTime | attrPath | representation, leaf: true, changes: true, manifest: true,
	},
	resourcesync.ResourceList.Archive(): archiveForm(snapshot),
	resourcesync.ResourceDump.Archive(): archiveForm(snapshot),
	resourcesync.ChangeList.Archive():   archiveForm(interval),
	resourcesync.ChangeDump.Archive():   archiveForm(interval),
	notificationCapability: {
		span: interval, entry: attrChange | attrCapability | attrDateTime | representation,
	},
}

func archiveForm(s span) form {
	allowed := attrCapability | timesOf[s] | representation
	return form{entrySpan: s, entry: allowed, index: allowed, indexed: true}
}

// archived returns the capability of the documents that an archive names, or
// nothing if it is no archive.
func archived(c resourcesync.Capability) resourcesync.Capability {
	if kind, ok := strings.CutSuffix(string(c), "-archive"); ok {
		return resourcesync.Capability(kind)
	}
	return ""
}

// manifestOf returns the capability of the manifests in the packages of a dump.
func manifestOf(dump resourcesync.Capability) resourcesync.Capability { return dump + "-manifest" }

func isDump(c resourcesync.Capability) bool {
	return c == resourcesync.ResourceDump || c == resourcesync.ChangeDump
}

// titleOf names a document of a capability as the standard does.
func titleOf(c resourcesync.Capability, index bool) string {
	title, ok := titles[c]
	if !ok {
		return "document of capability " + clip(string(c))
	}
	if index {
		title += " Index"
	}
	return title
}

var titles = map[resourcesync.Capability]string{
	resourcesync.Description: "Source Description", resourcesync.CapabilityList: "Capability List",
	resourcesync.ResourceList: "Resource List", resourcesync.ResourceDump: "Resource Dump",
	resourcesync.ChangeList: "Change List", resourcesync.ChangeDump: "Change Dump",
	resourcesync.ResourceDumpManifest: "Resource Dump Manifest", resourcesync.ChangeDumpManifest: "Change Dump Manifest",
	resourcesync.ResourceList.Archive(): "Resource List Archive", resourcesync.ResourceDump.Archive(): "Resource Dump Archive",
	resourcesync.ChangeList.Archive(): "Change List Archive", resourcesync.ChangeDump.Archive(): "Change Dump Archive",
	notificationCapability: "Framework Notification",
}
