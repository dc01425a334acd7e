package slotsql_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/slotsql/slotsql"
)

func ExampleLoad() {
	dir, err := os.MkdirTemp("", "slotsql")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "slotsql.yaml")
	const file = `version: 1
auto_migrate: true
tables:
  posts:
    counters:
      views:
      likes:
`
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		log.Fatal(err)
	}

	config, err := slotsql.Load(path)
	if err != nil {
		log.Fatal(err)
	}
	for _, table := range config.Tables() {
		fmt.Println(table.Name, "has", len(table.Counters), "counters and up to", table.Slots, "slots")
	}
	// Output: posts has 2 counters and up to 64 slots
}

func ExampleConfigError() {
	_, err := slotsql.Parse([]byte(`version: 1
tables:
  posts:
    key: id
    counters: {views: }
    slots: 5000
`), "slotsql.yaml")
	var ce *slotsql.ConfigError
	if errors.As(err, &ce) {
		fmt.Println(len(ce.Problems), "problems")
	}
	fmt.Println(err)
	// Output:
	// 2 problems
	// slotsql.yaml:4: table "posts": key must be a list of columns, such as [id], got "id"
	// slotsql.yaml:6: table "posts": slots must be between 0 and 4096, got 5000
}
