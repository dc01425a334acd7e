package link_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/fake"
	"github.com/slotsql/slotsql/internal/link"
)

// settingEngine has no other way to wait briefly than a setting of the session.
type settingEngine struct{ fake.Engine }

func (settingEngine) Briefly(ddl []string, _ time.Duration) (brief, restore []string) {
	return append([]string{"SET brief"}, ddl...), []string{"RESTORE", "FORGET"}
}

// A setting of the session for a migration is restored whatever has happened, and where it cannot be, the connection
// is not used again.
func TestMigrateRestoresSettings(t *testing.T) {
	t.Parallel()
	fail := func(sql string, f fake.Misfortune) func(int, string) *fake.Misfortune {
		return func(_ int, q string) *fake.Misfortune {
			if q != sql {
				return nil
			}
			return &f
		}
	}
	begun, restored := []string{"run START TRANSACTION", "run SET brief"}, []string{"run RESTORE", "run FORGET"}
	for _, c := range []struct {
		name   string
		fault  func(int, string) *fake.Misfortune
		want   []string
		failed bool
		broken bool
	}{
		{"done", nil, slices.Concat(begun, []string{"run CREATE", "run COMMIT"}, restored), false, false},
		{
			"refused", fail("CREATE", fake.Misfortune{Err: errors.New("refused")}),
			slices.Concat(begun, []string{"run CREATE", "run ROLLBACK"}, restored), true, false,
		},
		{
			"not begun", fail("START TRANSACTION", fake.Misfortune{Err: errors.New("refused")}),
			slices.Concat([]string{"run START TRANSACTION", "run ROLLBACK"}, restored), true, false,
		},
		{
			"not restored", fail("RESTORE", fake.Misfortune{Err: errors.New("refused")}),
			slices.Concat(begun, []string{"run CREATE", "run COMMIT", "run RESTORE"}), false, true,
		},
		{
			"its context ends", fail("CREATE", fake.Misfortune{Hang: true}),
			slices.Concat(begun, []string{"run CREATE", "run ROLLBACK"}, restored), true, false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var server fake.Server
			parent, err := fake.Connector{Server: &server}.Connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			db := link.NewDatabase(settingEngine{fake.Probing})
			conn := link.New(&db, parent)
			conn.Tx.Answer(false)
			server.Arm(c.fault)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if err := conn.MigrateBriefly(ctx, []string{"CREATE"}); (err != nil) != c.failed {
				t.Errorf("error %v", err)
			}
			if !slices.Equal(server.Log, c.want) || conn.Rare.Any(link.Broken) != c.broken {
				t.Errorf("ran %q, broken %v, want %q, %v", server.Log, conn.Rare.Any(link.Broken), c.want, c.broken)
			}
		})
	}
}
