package shoptest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/slotsql/slotsql/examples/internal/crowd"
	"github.com/slotsql/slotsql/integration/server"
)

// Crowd runs an example for a crowd on each engine. What it prints contains want, apart from columns, and fits 80 columns.
func Crowd(t *testing.T, example crowd.Example, want string) {
	for engine, dsn := range map[string]string{"sqlite": "", "mysql": server.MariaDB(t), "postgres": server.Postgres(t)} {
		t.Run(engine, func(t *testing.T) {
			clients := 32
			if engine == "sqlite" {
				clients = 4 // one writes at a time
			}
			var out bytes.Buffer
			if err := example.Run(t.Context(), engine, dsn, clients, &out); err != nil {
				t.Fatalf("%v\n%s", err, &out)
			}
			s := out.String()
			if !strings.Contains(strings.Join(strings.Fields(s), " "), want) {
				t.Error(s)
			}
			for line := range strings.Lines(s) {
				if len(line) > 81 {
					t.Errorf("wider than 80 columns: %s", line)
				}
			}
		})
	}
}
