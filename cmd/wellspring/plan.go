package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/wellspring-sync/wellspring/internal/plan"
	"github.com/wellspring-sync/wellspring/templates"
)

// uploaders are the tools for which a plan can be turned into lists and a script, each
// with an example of where it uploads to.
var uploaders = map[plan.Tool]string{
	plan.Rclone: "s3:bucket",
	plan.AWS:    "s3://bucket",
	plan.GSUtil: "gs://bucket",
	plan.SFTP:   "user@host:public",
}

type planFlags struct{ format, out string }

func (c *cli) planCommand() *cobra.Command {
	f := &planFlags{}
	cmd := &cobra.Command{
		Use:   "plan FILE",
		Short: "Turn an upload plan into the input of a tool that uploads",
		Long: `Plan reads what build --plan FILE wrote: the files that are new, changed or gone, in
the order in which they can be uploaded while Destinations go on reading. For the
tools rclone, aws, gsutil and sftp it writes a directory with lists of names and
a script, upload.sh, that uploads them phase by phase: resources, what documents
lead to, documents, the record last of all, and then deletes what is gone. The
script stops with exit code 5 if somebody else has published meanwhile.

purge.txt in that directory has the URIs of documents that changed in place, for
caches that have to be told, and purge-resources.txt those of resources.

With --format json, the plan goes to the standard output as one JSON value.`,
		Example: `  wellspring build public --base-url https://example.org/ --plan site.plan
  wellspring plan --format rclone -o upload site.plan
  sh upload/upload.sh s3:bucket public && rm site.plan`,
		Args: onePlan,
		RunE: func(cmd *cobra.Command, args []string) error {
			err := c.plan(cmd, f, args[0])
			if err == nil || isUsage(err) {
				return err
			}
			return apart(err)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.format, "format", "json", "what to write: `json|rclone|aws|gsutil|sftp`")
	flags.StringVarP(&f.out, "out", "o", "upload", "`directory` for the lists and the script")
	return cmd
}

func (c *cli) plan(cmd *cobra.Command, f *planFlags, name string) error {
	tool := plan.Tool(f.format)
	example, known := uploaders[tool]
	if !known && f.format != "json" {
		return usageErrorf(cmd, "--format is %q, not one of json, rclone, aws, gsutil and sftp", f.format)
	}
	r, err := plan.Open(name)
	if err != nil {
		return err
	}
	defer r.Close()
	if !known {
		return plan.WriteJSON(c.escaped(c.stdout), r)
	}
	lists, err := plan.WriteLists(r, f.out, tool)
	if err == nil {
		err = writeUpload(f, example, lists)
	}
	if err != nil {
		return fmt.Errorf("turning the plan into input of %s: %w", f.format, err)
	}
	return c.printPlan(f, lists)
}

// onePlan allows one argument.
func onePlan(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usageErrorf(cmd, "one argument is needed: the file that build --plan wrote")
	}
	return nil
}

// upload is what the template of a script gets.
type upload struct {
	plan.Header
	Files      []plan.List
	Example    string
	Before     []string // digests of the records that may be there
	Revalidate string
}

// writeUpload writes the script.
func writeUpload(f *planFlags, example string, lists *plan.Lists) error {
	h := lists.Header
	u := upload{Header: h, Files: lists.Files, Example: example, Revalidate: plan.Revalidate}
	if h.From != nil {
		u.Before = append(u.Before, h.From.SHA256)
	} else { // as which scripts see a record that is not there
		u.Before = append(u.Before, fmt.Sprintf("%x", sha256.Sum256(nil)))
	}
	for _, s := range h.Through {
		u.Before = append(u.Before, s.SHA256)
	}
	script, err := templates.Render("upload-"+f.format, u)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(f.out, "upload.sh"), []byte(script), 0o755)
}

// plannedJSON is what plan writes with --json for tools.
type plannedJSON struct {
	Directory string   `json:"directory"`
	Script    string   `json:"script"`
	Lists     []string `json:"lists"`
	Puts      int      `json:"puts"`
	PutBytes  int64    `json:"put_bytes"`
	Deletes   int      `json:"deletes"`
}

func (c *cli) printPlan(f *planFlags, lists *plan.Lists) error {
	h, script := lists.Header, filepath.Join(f.out, "upload.sh")
	names := make([]string, len(lists.Files))
	for i, l := range lists.Files {
		names[i] = l.Name
	}
	return c.result(plannedJSON{f.out, script, names, h.Puts, h.PutBytes, h.Deletes}, func() string {
		if h.IsEmpty() {
			return "Nothing to upload.\n"
		}
		arguments := uploaders[plan.Tool(f.format)] + " SITE"
		if h.Apart {
			arguments += " PUBLICATION"
		}
		return fmt.Sprintf("To upload %s (%s) and to delete %s:\n  sh %s %s\n",
			plural(h.Puts, "file"), humanize.Bytes(uint64(h.PutBytes)), plural(h.Deletes, "file"), script, arguments)
	})
}
