package main

import "path/filepath"

// DataDir is the flag of the server itself; what asks one has a Target.
type DataDir struct {
	Data string `help:"The server's data directory; ./data unless given." default:"./data" env:"POSTINO_DATA" placeholder:"DIR"`
}

// AfterApply takes an empty POSTINO_DATA for an unset one.
func (d *DataDir) AfterApply() error {
	if d.Data == "" {
		d.Data = "./data"
	}
	return nil
}

// flag is what a command of another shell needs to find the directory, with a
// space before it; "" where it finds it by itself.
func (d DataDir) flag() string {
	if filepath.Clean(d.Data) == "data" {
		return ""
	}
	return " --data " + shellWord(d.Data)
}

// JSONFlag is the flag of every command whose answer machines may want.
type JSONFlag struct {
	JSON bool `name:"json" help:"Print JSON."`
}
