package slotsql_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/sqlite"
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
	for name, table := range config.Tables {
		fmt.Println(name, "has", len(table.Counters), "counters")
	}
	// Output: posts has 2 counters
}

// A configuration may be built in code instead of a file.
func ExampleConfig() {
	config := &slotsql.Config{
		AutoMigrate: true,
		Tables: map[string]slotsql.TableConfig{
			"posts": {Counters: map[string]slotsql.CounterConfig{"views": {}, "likes": {}}},
			"shows": {Counters: map[string]slotsql.CounterConfig{"seats": {Min: 0, Max: "capacity"}}},
		},
	}
	db, err := slotsql.Open(sqlite.DriverName, "file:app?mode=memory", slotsql.WithConfig(config))
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	config.Tables["shows"].Counters["seats"] = slotsql.CounterConfig{Min: 10, Max: 1} // not of db, which has a copy
	_, err = slotsql.Open(sqlite.DriverName, "file:app?mode=memory", slotsql.WithConfig(config))
	fmt.Println(err)
	// Output: table "shows": counter "seats": min 10 is more than max 1
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
