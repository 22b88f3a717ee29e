package patch_test

import (
	"fmt"
	"strings"

	"github.com/wellspring-sync/wellspring/internal/patch"
)

func ExampleMake() {
	before := `{"state":"draft","text":"` + strings.Repeat("a long text ", 100) + `"}`
	now := strings.Replace(before, "draft", "final", 1)
	p, err := patch.Make("application/json", []byte(before), []byte(now))
	if err != nil || p == nil {
		fmt.Println("there is no description", err)
		return
	}
	fmt.Println(p.Type)
	fmt.Printf("%s", p.Content)
	// Output:
	// application/json-patch+json
	// [{"op":"replace","path":"/state","value":"final"}]
}
