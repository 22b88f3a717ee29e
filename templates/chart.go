package templates

import (
	"slices"
	"time"
)

// Chart is a picture of changes over time, a bar for each publication that had any:
// what was created and updated goes up from a line, what was deleted down. Its
// coordinates are those of a view box with the Width and the Height.
type Chart struct {
	From, Until   time.Time
	Width, Height int
	Line          int // where the line is, from the top
	Bars          []Bar
	// Most is the largest number of resources in a bar above the line, and Least that of
	// one below it.
	Most, Least int
}

// Bar is a part of a bar of one kind: created, updated or deleted.
type Bar struct {
	Kind                string
	X, Y, Width, Height int
}

const (
	slot, gap   = 10, 2 // of a bar
	chartHeight = 1000
	// leastSlots keeps a few bars from becoming broad.
	leastSlots = 30
	// leastHeight is that of a bar that stands for very little.
	leastHeight = 10
)

// NewChart returns the picture of changes, which come the latest first, or nil if there
// are too few of them for a picture.
func NewChart(changes []Change) *Chart {
	if len(changes) < 2 {
		return nil
	}
	c := &Chart{
		From: changes[len(changes)-1].At, Until: changes[0].At,
		Width: max(len(changes), leastSlots) * slot, Height: chartHeight,
	}
	for _, x := range changes {
		c.Most, c.Least = max(c.Most, x.Created+x.Updated), max(c.Least, x.Deleted)
	}
	height := func(n int) int { return int(int64(n) * chartHeight / int64(max(1, c.Most+c.Least))) }
	c.Line = height(c.Most)
	left := c.Width - len(changes)*slot // the latest is at the right
	for i, x := range slices.Backward(changes) {
		at := left + (len(changes)-1-i)*slot + gap/2
		top := c.add("updated", at, c.Line, -height(x.Updated), x.Updated)
		c.add("created", at, top, -height(x.Created), x.Created)
		c.add("deleted", at, c.Line, height(x.Deleted), x.Deleted)
	}
	return c
}

// add adds a bar for n resources that goes from a height up or down, and returns where
// it ends.
func (c *Chart) add(kind string, x, from, height, n int) (end int) {
	switch {
	case n == 0:
		return from
	case kind == "deleted":
		height = max(height, leastHeight)
	default:
		height = min(height, -leastHeight)
	}
	end = from + height
	c.Bars = append(c.Bars, Bar{Kind: kind, X: x, Y: min(from, end), Width: slot - gap, Height: max(height, -height)})
	return end
}
