package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

//go:embed overlay/sql.go.txt
var hooks string

//go:embed overlay/suite_test.go.txt
var setHooks string

// edits of database/sql call the hooks: each connector passes one, however an application opens a database, and so
// does the connection that it gets at with Raw.
var edits = map[string]string{
	"		connector: c,\n": "		connector: ForeignConnector(c),\n",
	"	err = f(dc.ci)\n": "	err = f(ForeignConn(dc.ci))\n",
}

// writeOverlay writes, into dir, files that stand in for some of database/sql's and are added to the tests of a
// package, and returns the file with which go build is told so.
func writeOverlay(dir, goroot, packageDir, packageName string) (string, error) {
	std := filepath.Join(goroot, "src", "database", "sql")
	text, err := os.ReadFile(filepath.Join(std, "sql.go"))
	if err != nil {
		return "", err
	}
	edited := string(text)
	for from, to := range edits {
		if strings.Count(edited, from) != 1 {
			return "", fmt.Errorf("database/sql of this version of Go has no single %q", from)
		}
		edited = strings.Replace(edited, from, to, 1)
	}
	replace := map[string]string{}
	for place, text := range map[string]string{
		filepath.Join(std, "sql.go"):                        edited,
		filepath.Join(std, "foreign.go"):                    hooks,
		filepath.Join(packageDir, "slotsqlforeign_test.go"): strings.Replace(setHooks, "PACKAGE", packageName, 1),
	} {
		file := filepath.Join(dir, filepath.Base(place))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[place] = file
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, list, 0o600)
}
