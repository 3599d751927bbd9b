package main

import (
	_ "embed"
	"encoding/json"
)

//go:embed counts.json
var countsJSON []byte

func counts() (c []Counted, err error) { return c, json.Unmarshal(countsJSON, &c) }
