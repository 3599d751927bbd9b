package main

import "postino/shared/operator"

// DataDir is the flag of every command that needs the data directory.
type DataDir struct {
	Data string `help:"The server's data directory; ./data unless given." default:"./data" env:"POSTINO_DATA" placeholder:"DIR"`
}

// dial finds the server that runs on the directory.
func (d DataDir) dial() (*operator.Client, error) { return operator.Dial(d.Data) }

// JSONFlag is the flag of every command whose answer machines may want.
type JSONFlag struct {
	JSON bool `name:"json" help:"Print JSON."`
}
