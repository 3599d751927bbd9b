package main

import (
	"encoding/json"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"postino/shared/operator"
	"postino/shared/push"
)

// table prints rows under a header, in columns parted by spaces alone: what
// people read and what cut and awk take apart.
func (a *App) table(header table.Row, rows []table.Row) {
	t := table.NewWriter()
	t.SetOutputMirror(a.Out)
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatDefault
	for i := range header {
		header[i] = a.colour(bold, fmt.Sprint(header[i]))
	}
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	t.AppendHeader(header)
	t.AppendRows(rows)
	t.Render()
}

// json prints v for machines.
func (a *App) json(v any) error {
	e := json.NewEncoder(a.Out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Graphic renditions (ECMA-48, SGR).
const (
	bold, red, green, yellow, cyan = "1", "31", "32", "33", "36"
)

// colour paints s where colours are allowed.
func (a *App) colour(rendition, s string) string {
	if !a.Colour {
		return s
	}
	return "\x1b[" + rendition + "m" + s + "\x1b[0m"
}

// state writes a delivery's state as the command line names it.
func (a *App) state(s push.State) string {
	switch s {
	case operator.Attempting:
		return a.colour(cyan, "attempting")
	case operator.Waiting:
		return a.colour(yellow, "waiting")
	case push.Delivered:
		return a.colour(green, "delivered")
	case push.Dead:
		return a.colour(red, "dead")
	default:
		return string(s)
	}
}
