package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wellspring-sync/wellspring/internal/notify"
	"github.com/wellspring-sync/wellspring/internal/plan"
	"github.com/wellspring-sync/wellspring/resourcesync"
)

type notifyFlags struct {
	hub    string
	mode   notify.Mode
	wait   time.Duration
	dryRun bool
}

func (c *cli) notifyCommand() *cobra.Command {
	f := &notifyFlags{}
	cmd := &cobra.Command{
		Use:   "notify FILE",
		Short: "Tell hubs what an upload changed",
		Long: `Notify reads the upload plan that build --plan FILE wrote for sets with a hub, and
tells each hub which documents have changed (Framework Notification 1.0), once they
are live. It asks for the record first: if another publication than that of the
plan is there, nothing is sent, as subscribers would fetch what is old. With --wait,
it asks again until record and documents are the new ones, for up to 5 minutes or
the time that is given (--wait=20m).

--mode resourcesync sends the notification itself. Most hubs in use do not take
that: --mode websub sends a ping, on which they fetch the notification from the
Source. --mode auto tries the one and then the other. What was delivered is noted
in the plan: to run it again sends the rest.

With --json, the result is an object with dry_run, later (whether a later publication
is live already) and topics, each with set, topic, hub, changes (how many), status
(sent, before, failed, gone or pending), mode and error.

` + strings.Replace(exitCodes, "failed; nothing was committed, unless the message says so", "failed; for notify: published, not notified", 1),
		Example: `  wellspring notify site.plan --wait
  wellspring notify site.plan --mode websub --hub https://hub.example/
  wellspring notify site.plan --dry-run`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 && f.wait > 0 {
				if _, err := time.ParseDuration(args[1]); err == nil {
					return usageErrorf(cmd, "write --wait=%s: %q is taken for another file", args[1], args[1])
				}
			}
			return onePlan(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return c.notify(cmd, f, args[0]) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	valueOf(&f.hub, parseHub).add(flags, "hub", "", "`URL` of another hub than that of the settings")
	valueOf(&f.mode, notify.ParseMode).add(flags, "mode", string(notify.Auto), "how to tell it: `resourcesync|websub|auto`")
	flags.DurationVar(&f.wait, "wait", 0, "wait for up to this `duration` until the live documents are the new ones")
	flags.Lookup("wait").NoOptDefVal = "5m"
	flags.BoolVarP(&f.dryRun, "dry-run", "n", false, "say what would be sent, and send nothing")
	return cmd
}

func (c *cli) notify(cmd *cobra.Command, f *notifyFlags, name string) error {
	if err := checkValues(cmd.Flags()); err != nil {
		return usage(cmd, err)
	}
	n := &notifying{c: c, f: f, name: name, modes: map[string]notify.Mode{}}
	n.o = notify.Options{Mode: f.mode, Release: release(), Log: c.log(), OnWait: func(err error) {
		if !c.quiet {
			c.tell("waiting: %v\n", err)
		}
	}}
	if err := n.read(); err != nil {
		return apart(err)
	}
	err := n.run(cmd.Context())
	if err != nil && c.json {
		return err
	}
	return errors.Join(err, n.print())
}

// notifying is what notify knows and does.
type notifying struct {
	c     *cli
	f     *notifyFlags
	o     notify.Options
	name  string
	live  notify.Live
	todo  []notify.Notification  // not sent yet
	modes map[string]notify.Mode // by hubs, as these took them
	found notifiedJSON
}

// notifiedJSON is what notify writes with --json.
type notifiedJSON struct {
	DryRun bool        `json:"dry_run"`
	Later  bool        `json:"later"`
	Topics []topicJSON `json:"topics"`
}

type topicJSON struct {
	Set     string      `json:"set,omitempty"`
	Topic   string      `json:"topic"`
	Hub     string      `json:"hub"`
	Changes int         `json:"changes"`
	Status  string      `json:"status"`
	Mode    notify.Mode `json:"mode,omitempty"`
	Error   string      `json:"error,omitempty"`
}

// What became of a notification.
const (
	wasSent    = "sent"
	sentBefore = "before" // as far as it could be
	notSent    = "failed"
	topicGone  = "gone" // with its set, so that nobody can be told
	toBeSent   = "pending"
)

// read takes from the plan what is to be told, and what has to be live.
func (n *notifying) read() error {
	r, err := plan.Open(n.name)
	if err != nil {
		return err
	}
	defer r.Close()
	n.live.At = r.Header.To.At
	for f, err := range r.Files() {
		switch {
		case err != nil:
			return err
		case f.Phase == plan.Record:
			n.live.Record = notify.Document{URI: f.URI, Length: f.Length, SHA256: f.SHA256}
		case !f.Source && f.Phase != plan.Bodies && f.Phase != plan.Delete:
			n.live.Documents = append(n.live.Documents, notify.Document{URI: f.URI, Length: f.Length, SHA256: f.SHA256})
		}
	}
	for _, told := range r.Notifications() {
		told.Hub = cmp.Or(n.f.hub, told.Hub)
		topic := topicJSON{Set: told.Set, Topic: told.Topic, Hub: told.Hub, Changes: len(told.Changes), Status: toBeSent}
		if r.IsNotified(told.Topic) {
			topic.Status = sentBefore
		} else {
			n.todo = append(n.todo, told)
		}
		n.found.Topics = append(n.found.Topics, topic)
	}
	if len(n.todo) > 0 && n.live.Record.URI == "" {
		return fmt.Errorf("the upload plan %s has no record, by which to know that it was carried out", n.name)
	}
	return nil
}

// run sends what was not sent yet, once it is live.
func (n *notifying) run(ctx context.Context) error {
	n.found.DryRun = n.f.dryRun
	if len(n.todo) == 0 || n.f.dryRun {
		return nil
	}
	if err := n.checkNotes(); err != nil {
		return apart(err)
	}
	if err := n.await(ctx); err != nil {
		return err
	}
	failed := 0
	var first error
	for i := range n.todo {
		err := n.send(ctx, &n.todo[i])
		if ctx.Err() != nil {
			return apart(context.Cause(ctx))
		}
		if err != nil {
			failed++
			first = cmp.Or(first, err)
		}
	}
	if failed > 1 {
		first = fmt.Errorf("%w (and %s more)", first, plural(failed-1, "topic"))
	}
	if failed > 0 {
		return n.failed(first, "Run it again to send what is missing: what was delivered is not sent twice.")
	}
	return nil
}

// checkNotes makes sure that it can be noted what was sent, before anything is.
func (n *notifying) checkNotes() error {
	f, err := os.OpenFile(n.name, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("what is sent could not be noted: %w", err)
	}
	return f.Close()
}

// await makes sure that the publication is live, or waits for it. Subscribers who are told
// too early would find what is old, and not be told again.
func (n *notifying) await(ctx context.Context) (err error) {
	if n.f.wait > 0 {
		n.found.Later, err = notify.Wait(ctx, &n.live, n.f.wait, n.o)
	} else {
		record := notify.Live{Record: n.live.Record, At: n.live.At}
		n.found.Later, err = notify.IsLive(ctx, &record, n.o)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return apart(err)
	case n.f.wait > 0:
		return n.failed(err, "Nothing was sent. Upload the publication, or wait for longer.")
	}
	return n.failed(err, "Nothing was sent. Upload the publication first, or give --wait to wait until it is live.")
}

func (n *notifying) failed(err error, hint string) error {
	return &failure{fmt.Errorf("published, not notified: %w", err), exitFailed, hint, n.found.Topics}
}

// send sends one notification, and notes that.
func (n *notifying) send(ctx context.Context, told *notify.Notification) error {
	topic := n.topic(told.Topic)
	o := n.o
	o.Mode = cmp.Or(n.modes[told.Hub], o.Mode)
	mode, err := notify.Send(ctx, told, o)
	topic.Mode = mode
	switch {
	case err == notify.ErrNoTopic:
		topic.Status = topicGone
	case err != nil:
		topic.Status, topic.Error = notSent, err.Error()
		return err
	default:
		topic.Status, n.modes[told.Hub] = wasSent, mode
	}
	if err := plan.AddMark(n.name, plan.Mark{Notified: told.Topic}); err != nil {
		topic.Error = err.Error()
		return fmt.Errorf("%s was sent: %w", told.Topic, err)
	}
	return nil
}

func (n *notifying) topic(uri string) *topicJSON {
	for i := range n.found.Topics {
		if n.found.Topics[i].Topic == uri {
			return &n.found.Topics[i]
		}
	}
	return &topicJSON{}
}

func (n *notifying) print() error {
	n.found.Topics = append([]topicJSON{}, n.found.Topics...)
	return n.c.result(n.found, func() string {
		var b strings.Builder
		if n.found.Later {
			b.WriteString("A later publication than that of the plan is live.\n")
		}
		for i := range n.found.Topics {
			n.writeTopic(&b, &n.found.Topics[i])
		}
		if len(n.found.Topics) == 0 {
			b.WriteString("Nothing to tell: the plan changes no document of a set with a hub.\n")
		}
		return b.String()
	})
}

func (n *notifying) writeTopic(b *strings.Builder, t *topicJSON) {
	what := plural(t.Changes, "change")
	switch {
	case t.Status == wasSent:
		fmt.Fprintf(b, "%s: %s sent to %s (%s)\n", t.Topic, what, t.Hub, t.Mode)
	case t.Status == sentBefore:
		fmt.Fprintf(b, "%s: nothing left to send\n", t.Topic)
	case t.Status == topicGone:
		fmt.Fprintf(b, "%s: not sent: %v\n", t.Topic, notify.ErrNoTopic)
	case t.Status == notSent:
		fmt.Fprintf(b, "%s: not sent\n", t.Topic)
	case n.f.dryRun:
		fmt.Fprintf(b, "%s: %s would be sent to %s\n", t.Topic, what, t.Hub)
		told := slices.IndexFunc(n.todo, func(told notify.Notification) bool { return told.Topic == t.Topic })
		for _, change := range n.todo[told].Changes {
			fmt.Fprintf(b, "  %-8s %-16s %s  (%s)\n", change.Change, change.Capability, change.URI, resourcesync.FormatDateTime(change.DateTime))
		}
	}
}
