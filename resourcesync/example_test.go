package resourcesync_test

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"time"

	"github.com/wellspring-sync/wellspring/resourcesync"
)

// A Resource List with one resource, as in Z39.99-2017 §10.1.
func ExampleMarshal() {
	list := &resourcesync.Document{
		Metadata: resourcesync.Metadata{
			Capability: resourcesync.ResourceList,
			At:         time.Date(2013, 1, 3, 9, 0, 0, 0, time.UTC),
		},
		Links: []resourcesync.Link{{Rel: resourcesync.RelUp, Href: "https://example.com/capabilitylist.xml"}},
	}
	resource := resourcesync.Entry{
		Loc:          "https://example.com/a.html",
		LastModified: time.Date(2013, 1, 2, 13, 0, 0, 0, time.UTC),
		Metadata:     resourcesync.Metadata{Type: "text/html"},
	}
	resource.Metadata.SetLength(8876)
	text, err := resourcesync.Marshal(list, []resourcesync.Entry{resource})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", text)
	// Output:
	// <?xml version="1.0" encoding="UTF-8"?>
	// <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
	// <rs:md capability="resourcelist" at="2013-01-03T09:00:00Z"/>
	// <rs:ln rel="up" href="https://example.com/capabilitylist.xml"/>
	// <url><loc>https://example.com/a.html</loc><lastmod>2013-01-02T13:00:00Z</lastmod><rs:md length="8876" type="text/html"/></url>
	// </urlset>
}

// A Destination reads which resources have changed, one by one.
func ExampleDecoder() {
	const list = `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
  <rs:md capability="changelist" from="2013-01-03T00:00:00Z"/>
  <url>
    <loc>https://example.com/b.pdf</loc>
    <rs:md change="updated" datetime="2013-01-03T11:00:00Z" hash="md5:1584abdf8ebdc9802ac0c6a7402c03b6"/>
  </url>
  <url>
    <loc>https://example.com/c.tiff</loc>
    <rs:md change="deleted" datetime="2013-01-03T13:00:00Z"/>
  </url>
</urlset>`
	d := resourcesync.NewDecoder(bytes.NewReader([]byte(list)), resourcesync.Limits{})
	head, err := d.Document()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(head.Metadata.Capability, "from", resourcesync.FormatDateTime(head.Metadata.From))
	for {
		entry, err := d.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(entry.Metadata.Change, entry.Loc, entry.Metadata.Hash.Get("md5"))
	}
	// Output:
	// changelist from 2013-01-03T00:00:00Z
	// updated https://example.com/b.pdf 1584abdf8ebdc9802ac0c6a7402c03b6
	// deleted https://example.com/c.tiff
}
