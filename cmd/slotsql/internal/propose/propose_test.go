package propose

import (
	"bytes"
	"github.com/slotsql/slotsql/internal/config"
	"slices"
	"strings"
	"testing"

	"github.com/slotsql/slotsql"
	"github.com/slotsql/slotsql/cmd/slotsql/internal/schemafile"
	"github.com/slotsql/slotsql/cmd/slotsql/internal/workload"
	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/dialect/mysql"
	"github.com/slotsql/slotsql/dialect/postgres"
	"github.com/slotsql/slotsql/dialect/sqlite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var dialects = map[string]dialect.Dialect{"mysql": mysql.New(), "postgres": postgres.New(), "sqlite": sqlite.New()}

// proposed proposes for a schema and statements, each run so often.
func proposed(t *testing.T, d dialect.Dialect, schema string, runs map[string]int64) []*Proposal {
	t.Helper()
	return proposedWith(t, d, schema, runs, func(Table) Transactions { return Transactions{} })
}

func proposedWith(t *testing.T, d dialect.Dialect, schema string, runs map[string]int64, known func(Table) Transactions) []*Proposal {
	t.Helper()
	parsed, err := schemafile.Tables(d, schema)
	if err != nil {
		t.Fatal(err)
	}
	var tables []Table
	for _, p := range parsed {
		tables = append(tables, Table{Table: p, Visible: p.Schema != "stats"})
	}
	all := Collection{}
	for sql, n := range runs {
		all.Add(d, workload.Statement{SQL: sql, Runs: n})
	}
	return Propose(d, tables, all.Sorted(), known)
}

// line writes what is proposed of a table: counters, companions, and what is not.
func line(p *Proposal) string {
	s := p.Table + ":"
	if p.Guess {
		s += " guess"
	}
	if p.Slotless != "" {
		s += " slots: 0:"
	}
	for _, c := range p.Counters {
		if p.Off == "" && c.Off == "" {
			s += " " + c.Column
		} else {
			s += " (" + c.Column + ")"
		}
	}
	for _, c := range p.Companions {
		s += " " + c.Column + "=" + c.Merge
	}
	return s
}

func TestPropose(t *testing.T) {
	for _, c := range []struct {
		name, dialect, schema string
		runs                  map[string]int64
		want                  []string
	}{
		{"counters that go together", "postgres", "CREATE TABLE a (id INT PRIMARY KEY, n BIGINT, m BIGINT, seen TIMESTAMP, s TEXT)",
			map[string]int64{"UPDATE a SET n = n + 1, m = m + 1, seen = now() WHERE id = 1": 3},
			[]string{"a: n m seen=latest"}},
		{"a companion that two increments set in different ways", "postgres", "CREATE TABLE a (id INT PRIMARY KEY, n BIGINT, best BIGINT)",
			map[string]int64{"UPDATE a SET n = n + 1, best = 5 WHERE id = 1": 3, "UPDATE a SET n = n + 1, best = GREATEST(best, 7) WHERE id = 1": 3, "UPDATE a SET n = n + 1 WHERE id = 1": 1},
			[]string{"a: n"}},
		{"the greatest", "postgres", "CREATE TABLE a (id INT PRIMARY KEY, n BIGINT, best BIGINT NOT NULL)",
			map[string]int64{"UPDATE a SET n = n + 1, best = GREATEST(best, $2) WHERE id = $1": 3}, []string{"a: n best=max"}},
		{"a companion that others set more often", "postgres", "CREATE TABLE a (id INT PRIMARY KEY, n BIGINT, s TEXT)",
			map[string]int64{"UPDATE a SET n = n + 1, s = 'x' WHERE id = 1": 3, "UPDATE a SET n = n + 1 WHERE id = 1": 30,
				"UPDATE a SET s = 'y' WHERE id = 1": 50},
			[]string{"a: n"}},
		{"ON UPDATE", "mysql", "CREATE TABLE a (id INT PRIMARY KEY, n BIGINT, changed TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP)",
			map[string]int64{"UPDATE a SET n = n + 1 WHERE id = 1": 3}, []string{"a: n changed=latest"}},
		{"upsert", "mysql", "CREATE TABLE a (d DATE NOT NULL, p INT NOT NULL, n BIGINT NOT NULL, PRIMARY KEY (d, p))",
			map[string]int64{"INSERT INTO a (d, p, n) VALUES ('2026-01-01', 2, 1) ON DUPLICATE KEY UPDATE n = n + VALUES(n)": 3}, []string{"a: n"}},
		{"too narrow", "mysql", "CREATE TABLE a (id INT PRIMARY KEY, n SMALLINT, x DOUBLE)",
			map[string]int64{"UPDATE a SET n = n + 1 WHERE id = 1": 3, "UPDATE a SET x = x + 1 WHERE id = 1": 3}, []string{"a: slots: 0: n (x)"}},
		{"set more often than added to", "sqlite", "CREATE TABLE a (id INTEGER PRIMARY KEY, n INT NOT NULL DEFAULT 0)",
			map[string]int64{"UPDATE a SET n = n + 1 WHERE id = 1": 3, "UPDATE a SET n = 5 WHERE id = 1": 4}, []string{"a: slots: 0: n"}},
		{"set, unknown how often", "sqlite", "CREATE TABLE a (id INTEGER PRIMARY KEY, n INT NOT NULL DEFAULT 0)",
			map[string]int64{"UPDATE a SET n = n + 1 WHERE id = 1": 0, "UPDATE a SET n = 5 WHERE id = 1": 0,
				"UPDATE a SET n = 0": 0}, []string{"a: slots: 0: n"}},
		{"ticket", "postgres", "CREATE TABLE a (id INT PRIMARY KEY, next BIGINT NOT NULL)",
			map[string]int64{"UPDATE a SET next = next + 1 WHERE id = 1 RETURNING next": 3}, []string{"a: slots: 0: next"}},
		{"a bound", "mysql", "CREATE TABLE a (id INT PRIMARY KEY, stock INT NOT NULL, sold INT NOT NULL)",
			map[string]int64{"UPDATE a SET stock = stock - ?, sold = sold + ? WHERE id = ? AND stock >= ?": 3}, []string{"a: slots: 0: stock sold"}},
		{"a version column", "mysql", "CREATE TABLE a (id INT PRIMARY KEY, version INT NOT NULL, s TEXT)",
			map[string]int64{"UPDATE a SET version = version + 1, s = ? WHERE id = ? AND version = ?": 3}, []string{"a: (version)"}},
		{"columns beside a counter, where one connection writes", "sqlite", "CREATE TABLE a (id INTEGER PRIMARY KEY, n INT NOT NULL, seen TEXT)",
			map[string]int64{"UPDATE a SET n = n + 1, seen = CURRENT_TIMESTAMP WHERE id = 1": 3}, []string{"a: slots: 0: n"}},
		{"no key, where one connection writes", "sqlite", "CREATE TABLE a (name TEXT, n INT NOT NULL)",
			map[string]int64{"UPDATE a SET n = n + 1 WHERE name = 'x'": 3}, []string{"a: (n)"}},
		{"the most added to first", "sqlite", "CREATE TABLE a (id INTEGER PRIMARY KEY, n INT); CREATE TABLE b (id INTEGER PRIMARY KEY, n INT)",
			map[string]int64{"UPDATE a SET n = n + 1 WHERE id = 1": 3, "UPDATE b SET n = n + 1 WHERE id = 1": 4}, []string{"b: slots: 0: n", "a: slots: 0: n"}},
		{"no counters", "postgres", "CREATE TABLE a (id INT PRIMARY KEY, n BIGINT, m BIGINT, s TEXT)",
			map[string]int64{"UPDATE a SET n = m + 1 WHERE id = 1": 3, "UPDATE a SET s = s || 'x' WHERE id = 1": 3,
				"UPDATE a SET m = $1 + 1 WHERE id = 1": 3, "SELECT n + 1 FROM a": 3}, nil},
		{"schemas", "postgres", "CREATE TABLE a (id INT PRIMARY KEY, n BIGINT); CREATE SCHEMA stats; CREATE TABLE stats.a (id INT PRIMARY KEY, n BIGINT, m BIGINT)",
			map[string]int64{"UPDATE stats.a SET m = m + 1 WHERE id = 1": 3,
				"UPDATE a SET n = n + 1 WHERE id = 1": 2}, []string{"stats.a: m", "a: n"}},
		{"several in one text", "mysql", "CREATE TABLE a (id INT PRIMARY KEY, n BIGINT)",
			map[string]int64{"BEGIN; UPDATE a SET n = n + 1 WHERE id = 1; COMMIT": 3}, []string{"a: n"}},
		{"slot tables", "sqlite", "CREATE TABLE a (id INTEGER PRIMARY KEY, views INT); CREATE TABLE a_slots (id INT, slot INT, views INT, PRIMARY KEY (id, slot)); CREATE TABLE slotsql_leases (name TEXT PRIMARY KEY, count INT)",
			nil, []string{"a: guess views"}},
		{"names", "sqlite", "CREATE TABLE a (id INTEGER PRIMARY KEY, view_count INT, num_likes INT, likes INT, count TEXT, hits REAL, discount INT, amount INT, account INT, numeral INT, is_counted INT, viewCount INT)",
			nil, []string{"a: guess view_count num_likes likes viewCount"}},
		{"names, set only", "sqlite", "CREATE TABLE a (id INTEGER PRIMARY KEY, view_count INT)", map[string]int64{"UPDATE a SET view_count = 5": 1}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			proposals := proposed(t, dialects[c.dialect], c.schema, c.runs)
			for _, p := range proposals {
				got = append(got, line(p))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			var text bytes.Buffer
			if err := Write(&text, Header{Database: "d"}, proposals); err != nil {
				t.Fatal(err)
			}
			alone, _ := Config(proposals)
			for _, s := range []string{text.String(), alone} {
				if _, err := slotsql.Parse([]byte(s), "slotsql.yaml"); err != nil {
					t.Errorf("%v\n%s", err, s)
				}
			}
		})
	}
}

// slots: 0 is proposed where a log shows that no increment is in a transaction, and slots
// where it does not.
func TestProposeByTransactions(t *testing.T) {
	const schema = "CREATE TABLE a (id INT PRIMARY KEY, n BIGINT NOT NULL, seen TIMESTAMP)"
	plain, guarded := "UPDATE a SET n = n + 1, seen = now() WHERE id = 1", "UPDATE a SET n = n - 1 WHERE id = 1 AND n > 0"
	volatile := "UPDATE a SET n = n + 1 WHERE id = 1 AND random() < 0.5"
	for _, c := range []struct {
		name       string
		known      Transactions
		statements []string
		want       string
	}{
		{"not known", Transactions{}, []string{plain}, "a: n seen=latest"},
		{"none in a transaction", Transactions{Outside: true, Why: "seen"}, []string{plain}, "a: slots: 0: n"},
		{"some in a transaction", Transactions{Outside: true, Inside: true}, []string{plain}, "a: n seen=latest"},
		{"all in transactions", Transactions{Inside: true}, []string{plain}, "a: n seen=latest"},
		{"one that runs alone", Transactions{Outside: true, Why: "seen"}, []string{plain, volatile}, "a: n seen=latest"},
		{"guarded, not known", Transactions{}, []string{guarded}, "a: slots: 0: n"},
		{"guarded, in transactions", Transactions{Inside: true}, []string{guarded}, "a: (n)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			runs := map[string]int64{}
			for _, s := range c.statements {
				runs[s] = 3
			}
			p := proposedWith(t, dialects["postgres"], schema, runs, func(Table) Transactions { return c.known })
			if len(p) != 1 || line(p[0]) != c.want {
				t.Fatalf("got %q, want %q", line(p[0]), c.want)
			}
			if c.known.Why != "" && p[0].Slotless != "" && !strings.Contains(p[0].Slotless, c.known.Why) {
				t.Errorf("it does not say how that is known: %s", p[0].Slotless)
			}
			text, _ := Config(p)
			config, err := config.Parse([]byte(text), "slotsql.yaml")
			if err != nil {
				t.Fatal(err)
			}
			for _, table := range config.Tables() {
				if (table.Slots == 0) != (p[0].Slotless != "") {
					t.Errorf("%d slots in\n%s", table.Slots, text)
				}
			}
		})
	}
}

// Names come out of the file as they went in, and nothing of a statement
// becomes configuration.
func TestWriteNames(t *testing.T) {
	names := []string{
		"posts",
		"Posts",
		"my posts",
		"a.b",
		`q"uote`,
		"tick`s",
		"'",
		"it's",
		"on",
		"No",
		"null",
		"1",
		"1e3",
		"0x1",
		"-",
		"- a",
		"#x",
		"a #b",
		"a: b",
		"{a}",
		"[a]",
		"&a",
		"*a",
		"!a",
		"%a",
		"@a",
		"|",
		">",
		"?",
		"ünïcode",
		"日本",
		" edge ",
		"tab\tname",
		"new\nline",
		"true",
		"~",
		".nan",
		"2026-11-21",
		"<<",
		"key",
		"back\\slash",
		"\x01",
		"é\u2028",
	}
	for _, name := range names {
		p := &Proposal{
			Table:      configTable(Table{Table: &schema.Table{Name: name}, Visible: true}),
			Key:        []string{name},
			Counters:   []Counter{{Column: name + "1", Notes: []string{"a\nb: {}"}}, {Column: "x" + name, Off: "no\n  y:"}},
			Companions: []Companion{{name + "2", "latest"}},
			Views:      []string{ConfigName(name + "3")},
			Adds:       []Use{{Statement: Statement{Shape: "UPDATE\n  evil:\n    counters: {n: }\u2028\u0085", Runs: 1}, Reason: "x\ry"}},
			Notes:      []string{"\nevil: {}"},
		}
		q := &Proposal{Table: configTable(Table{Table: &schema.Table{Schema: name, Name: name + "4"}}), Counters: []Counter{{Column: "n"}}}
		var text bytes.Buffer
		if err := Write(
			&text,
			Header{Database: "x\nversion: 2", Sources: []string{"\u2029y: "}},
			[]*Proposal{p, q, {Table: name, Off: "n\no", Counters: []Counter{{Column: name}}}},
		); err != nil {
			t.Fatal(err)
		}
		alone, at := Config([]*Proposal{p, q})
		for _, s := range []string{text.String(), alone} {
			config, err := config.Parse([]byte(s), "slotsql.yaml")
			if err != nil {
				t.Errorf("%q: %v\n%s", name, err, s)
				continue
			}
			tables := config.Tables()
			if len(tables) != 2 || tables[0].Table != name || tables[1].Schema != name || tables[1].Table != name+"4" {
				t.Errorf("%q: %+v", name, tables)
				continue
			}
			got := tables[0]
			if len(got.Key) != 1 || got.Key[0] != name || len(got.Counters) != 1 || got.Counters[0].Column != name+"1" ||
				len(got.Companions) != 1 || got.Companions[0].Column != name+"2" || len(got.Views) != 1 {
				t.Errorf("%q: %+v", name, got)
			}
		}
		lines := strings.Split(alone, "\n")
		for n, place := range at {
			want := place.Column
			if place.Column == "" {
				continue
			}
			if n < 1 || n > len(lines) || !strings.Contains(lines[n-1], scalar(want)) {
				t.Errorf("%q: line %d is not %q", name, n, want)
			}
		}
	}
}

// What is found not to fit goes, and the table with its last counter.
func TestDrop(t *testing.T) {
	p := &Proposal{Table: "a", Counters: []Counter{{Column: "n"}, {Column: "m"}}, Companions: []Companion{{"s", "latest"}}}
	p.Drop("s", "is no companion")
	p.Drop("n", "is too narrow")
	if line(p) != "a: (n) m" || p.Proposed("n") || !p.Proposed("m") {
		t.Error(line(p))
	}
	p.Drop("m", "too")
	if line(p) != "a: (n) (m)" || p.Off != "too" || p.Proposed("m") {
		t.Error(line(p))
	}
	q := &Proposal{Table: "a", Counters: []Counter{{Column: "n"}}}
	q.Drop("", "is a view")
	if q.Off != "is a view" || q.Proposed("n") {
		t.Error(line(q))
	}
}

// A save of a whole row gives every column a value; a statement that computes one from
// other columns is not that, whatever else it sets.
func TestFullSave(t *testing.T) {
	const schema = "CREATE TABLE a (id INT PRIMARY KEY, n BIGINT NOT NULL, m BIGINT NOT NULL, version INT NOT NULL, seen BIGINT, s TEXT)"
	for _, c := range []struct {
		sql  string
		save bool
	}{
		{"UPDATE a SET n = $1, m = $2, seen = $3, s = $4 WHERE id = $5", true},
		{"UPDATE a SET n = $1, seen = NOW(), s = $4 WHERE id = $5", true},
		{"UPDATE a SET n = $1, seen = $2, s = $3, version = version + 1 WHERE id = $4", true},
		{"UPDATE a SET n = 0, m = GREATEST(m, seen), seen = GREATEST(seen, $1), s = $2 WHERE id = $3", false},
		{"UPDATE a SET n = 0, seen = GREATEST(m, seen), s = $2, version = $3 WHERE id = $4", false},
		{"UPDATE a SET n = $1, s = $2, seen = (SELECT MAX(seen) FROM a), version = $3 WHERE id = $4", false},
		{"UPDATE a SET n = 0, s = $1 WHERE id = $2", false},
	} {
		p := proposed(t, dialects["postgres"], schema, map[string]int64{
			"UPDATE a SET n = n + 1 WHERE id = 1": 9, c.sql: 1,
		})
		save := len(p) > 0 && slices.ContainsFunc(p[0].Slow, func(u Use) bool { return u.Kind == fullSave })
		if len(p) != 1 || len(p[0].Slow) != 1 || save != c.save {
			t.Errorf("%s: a save of the whole row: %v, want %v: %+v", c.sql, save, c.save, p[0].Slow)
		}
	}
}

// The server's statistics and a file tell of the same runs.
func TestMerge(t *testing.T) {
	d := dialects["mysql"]
	all, file := Collection{}, Collection{}
	all.Add(d, workload.Statement{SQL: "UPDATE `a` SET `n` = `n` + ? WHERE ID = ?", Runs: 100, Time: 5})
	for i := range 3 {
		file.Add(d, workload.Statement{SQL: "update a set n=n+1 where id=7", Runs: 1, Line: i + 1})
	}
	file.Add(d, workload.Statement{SQL: "SELECT 'x'", Runs: 1, Line: 9})
	file.Add(d, workload.Statement{SQL: "ALTER TABLE a ADD COLUMN m INT", Runs: 1, Line: 10})
	all.Merge(file)
	s := all.Sorted()
	if len(s) != 2 || s[0].Runs != 100 || s[0].Line != 1 || s[0].Time != 5 || s[1].Shape != "SELECT ?" || s[1].Line != 9 {
		t.Errorf("%+v %+v", s[0], s[1])
	}
}
