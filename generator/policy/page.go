package policy

import "github.com/wellspring-sync/wellspring/templates"

// Page says how people see a publication. The zero value stands for the page that is
// embedded.
type Page struct {
	// None says that there is no page.
	None bool
	// Title is what people call the Source; by default where it is served.
	Title string
	// Template makes the page. File is where it is from, or empty; it is never
	// published.
	Template templates.PageTemplate
	File     string
}
