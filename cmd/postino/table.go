package main

import (
	"encoding/json"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

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
	if a.Colour {
		style.Color.Header = text.Colors{text.Bold}
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

// colour paints s where colours are allowed.
func (a *App) colour(c text.Color, s string) string {
	if !a.Colour {
		return s
	}
	return text.Colors{c}.Sprint(s)
}

// state writes a delivery's state as the command line names it.
func (a *App) state(s push.State) string {
	switch s {
	case push.Claimed:
		return a.colour(text.FgCyan, "attempting")
	case push.Finished:
		return a.colour(text.FgYellow, "waiting")
	case push.Delivered:
		return a.colour(text.FgGreen, "delivered")
	case push.Dead:
		return a.colour(text.FgRed, "dead")
	default:
		return string(s)
	}
}
