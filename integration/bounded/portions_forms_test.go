package bounded

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/integration/twin"
)

// market is a table of counters with bounds of every kind: a number or a column, below and
// above.
func market(t *testing.T, dialect string, units int, params string) *twin.Pair {
	t.Helper()
	return twin.New(t, twin.Options{
		Dialect: dialect, Params: params,
		Schema: []string{
			"CREATE TABLE items (id INT PRIMARY KEY, stock BIGINT NOT NULL, sold BIGINT NOT NULL, attendees INT NOT NULL, capacity INT NOT NULL, " +
				"credit BIGINT NOT NULL, overdraft BIGINT NOT NULL, open INT NOT NULL, name VARCHAR(20) NOT NULL)",
			fmt.Sprintf("INSERT INTO items VALUES (1, %d, 0, 0, %d, 0, %d, 1, 'one')", units, units, -units),
			"CREATE TABLE orders (id INT NOT NULL, client INT NOT NULL)",
		},
		Config: "version: 1\nauto_migrate: true\ndefaults: {slots: 16, placement: connection}\n" +
			"tables: {items: {counters: {stock: {min: 0}, sold: {}, attendees: {min: 0, max: capacity}, credit: {min: {column: overdraft}}}}}\n",
	})
}

// takeForms are statements that take n of something, and may find that there is not as much.
// Those with the first counter in them are of one slot column, and so on; those without a column take from the base row.
var takeForms = []struct{ name, sql, column string }{
	{"literal", "UPDATE items SET stock = stock - {n} WHERE id = 1 AND stock >= {n}", "stock"},
	{"difference", "UPDATE items SET stock = stock - {n} WHERE id = 1 AND stock - {n} >= 0", "stock"},
	{"turned", "UPDATE items SET stock = stock - {n} WHERE id = 1 AND {n} <= stock", "stock"},
	{"between", "UPDATE items SET stock = stock - {n} WHERE stock > {n} - 1 AND id = 1", "stock"},
	{"ordinary", "UPDATE items SET stock = stock - {n} WHERE id = 1 AND open = 1 AND name = 'one' AND stock >= {n}", "stock"},
	{"two", "UPDATE items SET stock = stock - {n}, sold = sold + {n} WHERE id = 1 AND stock >= {n}", "stock"},
	{"leaves", "UPDATE items SET stock = stock - {n} WHERE id = 1 AND stock >= 100 + {n}", "stock"},
	{"either", "UPDATE items SET stock = stock - {n} WHERE id = 1 AND (stock > 100 OR stock >= {n} AND open = 1)", "stock"},
	{"seats", "UPDATE items SET attendees = attendees + {n} WHERE id = 1 AND attendees + {n} <= capacity", "attendees"},
	{"seat", "UPDATE items SET attendees = attendees + 1 WHERE id = 1 AND attendees < capacity AND open = 1", "attendees"},
	{"credit", "UPDATE items SET credit = credit - {n} WHERE id = 1 AND credit - {n} >= overdraft", "credit"},
	{"rest", "UPDATE items SET stock = stock - {n} WHERE id = 1 AND stock - open >= {n}", ""},
	{"left over", "UPDATE items SET attendees = attendees + {n} WHERE id = 1 AND capacity - attendees >= {n}", ""},
	{"both", "UPDATE items SET stock = stock - {n}, attendees = attendees + 1 WHERE id = 1 AND stock >= {n} AND attendees < capacity", "stock"},
	{"clamp", "UPDATE items SET stock = CASE WHEN stock >= {n} THEN stock - {n} ELSE 0 END WHERE id = 1", "stock"},
	{"clamp turned", "UPDATE items SET stock = CASE WHEN stock < {n} THEN 0 ELSE stock - {n} END WHERE id = 1 AND open = 1", "stock"},
}

func form(i, n int) string { return strings.ReplaceAll(takeForms[i].sql, "{n}", strconv.Itoa(n)) }

// Transactions with each form of a guard take side by side.
func TestPortionForms(t *testing.T) {
	params := map[string]string{"mysql": "innodb_lock_wait_timeout=1", "postgres": "lock_timeout=1s"}
	twin.Servers(t, func(t *testing.T, dialect string) {
		for i, f := range takeForms {
			if f.column == "" {
				continue
			}
			t.Run(f.name, func(t *testing.T) {
				p := market(t, dialect, 5000, params[dialect])
				open := sideBySideWith(t, p.Wrapped, 3, form(i, 2))
				if n := number(t, p.Under, "SELECT COUNT(*) FROM items_slots WHERE "+f.column+" <> 0"); n < 2 {
					t.Errorf("%d slots hold a portion of %s", n, f.column)
				}
				for _, tx := range open {
					if err := tx.Commit(); err != nil {
						t.Fatal(err)
					}
				}
			})
		}
	})
}

// set gives the row a total of its own and its slot a portion, and tells whether there was a
// slot. Both are one transaction, whose lock of the row keeps a fold out.
func set(t *testing.T, db *sql.DB, row, slot string) bool {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	affected(t, tx, "UPDATE items SET "+row+" WHERE id = 1")
	if affected(t, tx, "UPDATE items_slots SET "+slot) == 0 {
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		return false
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	return true
}

// A slot that holds what a statement takes, and no more, proves a guard that the total
// satisfies, and none that it fails by one.
func TestPortionsAtTheGuard(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		p := market(t, dialect, 1000, "")
		p.Wrapped.SetMaxOpenConns(1) // one slot
		for _, f := range []struct {
			column, give, take, guard string
			holds                     int // the last number that satisfies the guard
		}{
			{"stock", "stock = 600", "stock = stock - 5", "stock >= ", 605},
			{"stock", "stock = 600", "stock = stock - 5", "stock - 5 >= ", 600},
			{"attendees", "attendees = 400", "attendees = attendees + 5", "attendees + 5 <= capacity - ", 600},
			{"credit", "credit = -200", "credit = credit - 5", "credit >= overdraft + ", 805},
		} {
			for off, want := range []int64{1, 0} {
				sign, total := "", 605
				switch f.column {
				case "attendees":
					sign, total = "-", 395
				case "credit":
					total = -195
				}
				update := "UPDATE items SET " + f.take + " WHERE id = 1 AND " + f.guard
				for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
					_ = sideBySideWith(t, p.Wrapped, 1, update+"0")[0].Commit()
					if set(t, p.Under, f.give, f.column+" = "+sign+"5 WHERE "+f.column+" <> 0") {
						break
					}
					if time.Now().After(deadline) {
						t.Fatalf("no portion of %s came", f.column)
					}
				}
				if n := number(t, p.Wrapped, "SELECT "+f.column+" FROM items WHERE id = 1"); n != total {
					t.Fatalf("%s is %d, want %d", f.column, n, total)
				}
				q := update + strconv.Itoa(f.holds+off)
				tx, err := p.Wrapped.BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				if n := affected(t, tx, q); n != want {
					t.Errorf("%s: %d rows affected, want %d", q, n, want)
				}
				if err := tx.Rollback(); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// others are statements of which the total is to be exact beside the portions.
var others = []string{
	"UPDATE items SET stock = stock + {n} WHERE id = 1",
	"UPDATE items SET credit = credit + {n} WHERE id = 1",
	"UPDATE items SET attendees = attendees - {n} WHERE id = 1 AND attendees >= {n}",
	"UPDATE items SET stock = {n} * 20 WHERE id = 1",
	"UPDATE items SET stock = stock - 10 * {n} WHERE id = 1", // without a guard
	"UPDATE items SET attendees = attendees + 5 * {n} WHERE id = 1",
	"UPDATE items SET attendees = 0, capacity = 40 + {n} WHERE id = 1",
	"UPDATE items SET open = 1 - open, credit = credit + {n} WHERE id = 1",
	"UPDATE items SET open = 1, stock = stock + 4 * {n} WHERE id = 1",
	"DELETE FROM items WHERE id = 1 AND stock = {n}",
}

// Whatever transactions take, give, set, roll back and roll back to a savepoint, one after
// another, with roll-ups between them: each statement affects as many rows as with the plain driver,
// and leaves as much.
func TestPortionsAsPlain(t *testing.T) {
	twin.Each(t, func(t *testing.T, dialect string) {
		for seed := range uint64(4) {
			p := market(t, dialect, 300, "")
			random, connector, portions := rand.New(rand.NewPCG(seed, 14)), twin.Connector(t, p), 0
			for step := range 80 {
				plan := script(random)
				for _, s := range plan {
					t.Logf("%d: %s", step, s)
				}
				plain, wrapped := play(t, p.Plain, plan), play(t, p.Wrapped, plan)
				if plain != wrapped {
					t.Fatalf("seed %d, step %d: plain %s\nwrapped %s", seed, step, plain, wrapped)
				}
				if dialect != "sqlite" {
					portions += number(t, p.Under, "SELECT COUNT(*) FROM items_slots WHERE stock <> 0 OR attendees <> 0 OR credit <> 0")
				}
				if step%20 == 19 {
					if _, err := slotsql.RollUp(t.Context(), connector, slotsql.RollUpOptions{Idle: 1}); err != nil {
						t.Fatal(err)
					}
				}
			}
			if dialect != "sqlite" && portions == 0 {
				t.Error("no portion was moved")
			}
		}
	})
}

// script is a transaction of statements; the last one ends it.
func script(random *rand.Rand) (out []string) {
	for range 1 + random.IntN(3) {
		switch n := 1 + random.IntN(9); {
		case random.IntN(10) == 0:
			out = append(out, "SAVEPOINT one", form(random.IntN(len(takeForms)), n), "ROLLBACK TO SAVEPOINT one")
		case random.IntN(5) == 0:
			out = append(out, strings.ReplaceAll(others[random.IntN(len(others))], "{n}", strconv.Itoa(n)))
		case random.IntN(12) == 0:
			out = append(out, form(random.IntN(len(takeForms)), 60))
		default:
			out = append(out, form(random.IntN(len(takeForms)), n))
		}
	}
	return append(out, []string{"COMMIT", "COMMIT", "COMMIT", "ROLLBACK"}[random.IntN(4)])
}

// play runs a script and returns what it has said, and what it leaves.
func play(t *testing.T, db *sql.DB, script []string) (said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	for _, s := range script {
		switch s {
		case "COMMIT":
			err = tx.Commit()
		case "ROLLBACK":
			err = tx.Rollback()
		default:
			var res sql.Result
			if res, err = tx.ExecContext(ctx, s); err == nil && s[0] != 'S' && s[0] != 'R' {
				n, _ := res.RowsAffected()
				said += fmt.Sprintf("%d ", n)
			}
		}
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	var v [5]int64
	q := "SELECT stock, sold, attendees, credit, open FROM items WHERE id = 1"
	if err := db.QueryRowContext(ctx, q).Scan(&v[0], &v[1], &v[2], &v[3], &v[4]); err != nil && err != sql.ErrNoRows {
		t.Fatal(err)
	}
	return said + fmt.Sprint(v)
}

// 128 clients race in transactions for the last units of each form, and some of them roll back.
func TestPortionsRaceForms(t *testing.T) {
	twin.Servers(t, func(t *testing.T, dialect string) {
		for i, f := range takeForms {
			switch f.name {
			case "two", "seat", "both":
			default:
				continue
			}
			t.Run(f.name, func(t *testing.T) {
				const units = 400
				p := market(t, dialect, units, "")
				sold := race(t, p, form(i, 1), 128)
				sold += race(t, p, form(i, 1), 4)
				if orders := number(t, p.Wrapped, "SELECT COUNT(*) FROM orders"); sold != units || orders != units {
					t.Errorf("%d sold and %d orders of %d units", sold, orders, units)
				}
				var left string
				if err := p.Wrapped.QueryRow("SELECT CONCAT(stock, ' ', sold, ' ', attendees) FROM items").Scan(&left); err != nil {
					t.Fatal(err)
				}
				want := map[string]string{"two": "0 400 0", "seat": "400 0 400", "both": "0 0 400"}[f.name]
				if left != want {
					t.Errorf("stock, sold and attendees are %s, want %s", left, want)
				}
			})
		}
	})
}
