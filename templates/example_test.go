package templates_test

import (
	"fmt"
	"log"

	"github.com/wellspring-sync/wellspring/templates"
)

// A page of one's own; what it inserts is escaped as HTML needs it.
func ExampleParsePage() {
	page, err := templates.ParsePage("page.html", `<h1>{{.Title}}</h1>
<p><a href="{{.Description.Href}}">{{.Description.Title}}</a>: {{.Resources}} resources
`)
	if err != nil {
		log.Fatal(err)
	}
	html, err := page.Render(&templates.Page{
		Title:       "Maps & plans",
		Description: templates.NewDocument("description", ".well-known/resourcesync", "https://example.com/.well-known/resourcesync"),
		Resources:   12,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", html)
	// Output:
	// <h1>Maps &amp; plans</h1>
	// <p><a href=".well-known/resourcesync">Source Description</a>: 12 resources
}

func ExampleShellQuote() {
	fmt.Println("rclone copy", templates.ShellQuote("my site"), templates.ShellQuote("remote:site"))
	// Output:
	// rclone copy 'my site' remote:site
}
