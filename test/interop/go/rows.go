package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
)

const client = "Go SDK"

// version is what go.mod brought.
func version() string {
	if built, ok := debug.ReadBuildInfo(); ok {
		for _, module := range built.Deps {
			if module.Path == "github.com/modelcontextprotocol/go-sdk" {
				return strings.TrimPrefix(module.Version, "v")
			}
		}
	}
	return "unknown"
}

// row is a line of the README's table; test/interop/row.ts says what is in it.
type row struct {
	Client  string `json:"client"`
	Version string `json:"version"`
	Era     string `json:"era"`
	Tried   string `json:"tried"`
	Result  string `json:"result"`
	Note    string `json:"note,omitempty"`
}

// clientFails says that what went wrong is the client's doing; its text is the evidence.
type clientFails string

func (e clientFails) Error() string { return string(e) }

// try says how one thing went. What it answers as an error is our failure, unless it is clientFails.
func try(era, tried string, do func() (note string, err error)) {
	note, err := do()
	said := row{client, version(), era, tried, "passed", note}
	var theirs clientFails
	if errors.As(err, &theirs) {
		said.Result, said.Note = "client fails", theirs.Error()
	} else if err != nil {
		said.Result, said.Note = "failed", strings.TrimSpace(err.Error())
	}
	line, err := json.Marshal(said)
	if err != nil {
		panic(err)
	}
	fmt.Printf("interop-row %s\n", line)
}
