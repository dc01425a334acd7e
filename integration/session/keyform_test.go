package session

import (
	"testing"
	"time"

	"github.com/slotsql/slotsql/integration/twin"
)

// A key's value may come in a form that the engine converts, so that what is
// compared and what is stored are not the bytes that the argument has.
func TestKeyForms(t *testing.T) {
	keys := map[string][]any{
		"DATE": {
			"2026-01-02",
			"2026-01-02T00:00:00Z",
			"2026-01-02 00:00:00",
			"2026-01-02T10:11:12Z",
			"20260102",
			20260102,
			"26-1-2",
			"2026-01-02T00:00:00+02:00",
			"2026/01/02",
			"x",
			"",
			time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC),
			time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
			[]byte("2026-01-02"),
			"2026-02-31",
			"2026-01-02Z",
			" 2026-01-02",
		},
		"DATETIME": {
			"2026-01-02",
			"2026-01-02T00:00:00Z",
			"2026-01-02 00:00:00",
			"2026-01-02T00:00:00.4Z",
			"2026-01-02T00:00:00.6",
			"20260102000000",
			20260102,
			"26-1-2",
			"2026-01-02T00:00:00+02:00",
			"2026-01-02 00:00:00.000000",
			time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC),
			"2026-01-02 00:00:00 x",
		},
		"DATETIME(3)":                       {"2026-01-02T00:00:00Z", "2026-01-02 00:00:00.0004", "2026-01-02 00:00:00.0006", "2026-01-02"},
		"TIMESTAMP":                         {"2026-01-02T00:00:00Z", "2026-01-02 00:00:00", "2026-01-02T00:00:00+02:00", "2026-01-02"},
		"TIME":                              {"00:00:00", "0:0:0", "000000", 0, "00:00:00Z", "2026-01-02 00:00:00"},
		"YEAR":                              {"2026", 2026, "26", 26, "26x"},
		"VARCHAR(20) CHARACTER SET latin1":  {"2026-01-02", "日本", "é", "e", "E", "??", "2026-01-02 ", "\xe9", "ß", "ss"},
		"VARCHAR(20) CHARACTER SET ascii":   {"2026-01-02", "日本", "é", "??"},
		"VARCHAR(20) COLLATE utf8mb4_bin":   {"2026-01-02", "日本", "é", "e", "É", "e ", "😀"},
		"VARCHAR(20) CHARACTER SET utf8mb3": {"日本", "😀", "?", "????"},
		"VARBINARY(20)":                     {"2026-01-02", "é", "e", "E", "e ", "\x00"},
		"CHAR(3)":                           {"202", "2026", "é", "É", "e", "E ", "", " "},
		"ENUM('2026-01-02','b','é')":        {"2026-01-02", 1, "1", "B", "É", "", 0, "x"},
		"SET('2026-01-02','b')":             {"2026-01-02", 1, "b,2026-01-02", "", 3},
		"DECIMAL(10,2)":                     {"1", 1, "1.00", "1.004", 1.005, "1e0", " 1", "1x"},
		"DOUBLE":                            {"1", 1, "1.00", 1.5, "1e0", "x"},
		"BIGINT":                            {"1", 1, "1.00", "1.4", 1.5, "1e0", " 1", "1x", "0x1", true},
		"BIT(8)":                            {1, "1", []byte{1}, true},
		"UUID": {
			"123e4567-e89b-12d3-a456-426655440000",
			"123E4567E89B12D3A456426655440000",
			"{123e4567-e89b-12d3-a456-426655440000}",
		},
		"INET6": {"::1", "0:0:0:0:0:0:0:1", "::ffff:1.2.3.4"},
		"VARCHAR(20) COLLATE utf8mb4_uca1400_as_cs": {"a", "A", "á", "ª"},
	}
	for typ, values := range keys {
		for _, params := range []string{"", "interpolateParams=true", "sql_mode=''"} {
			t.Run(typ+"/"+params, func(t *testing.T) {
				t.Parallel()
				p := twin.New(t, twin.Options{
					Dialect: "mysql",
					Params:  params,
					Schema:  []string{"CREATE TABLE daily (day " + typ + " NOT NULL PRIMARY KEY, n BIGINT NOT NULL DEFAULT 0)"},
					Config:  "version: 1\nauto_migrate: true\ntables: {daily: {counters: {n: {}}, slots: 4}}\n",
				})
				one := pinned(t, p)
				for round := range 3 {
					for _, v := range values {
						for _, s := range []twin.Statement{
							{SQL: "INSERT INTO daily (day, n) VALUES (?, 1) ON DUPLICATE KEY UPDATE n = n + 1", Args: []any{v}},
							{SQL: "UPDATE daily SET n = n + 10 WHERE day = ?", Args: []any{v}},
							{SQL: "UPDATE daily SET n = n + 100 WHERE day = ?", Args: []any{v}, Prepared: true},
							{SQL: "SELECT n FROM daily WHERE day = ?", Args: []any{v}},
						} {
							one.same(t, s)
						}
						if round == 2 {
							one.same(t, twin.Statement{SQL: "UPDATE daily SET n = n * 2 WHERE day = ?", Args: []any{v}})
							one.same(t, twin.Statement{SQL: "BEGIN"})
							one.same(t, twin.Statement{SQL: "UPDATE daily SET n = n + 10 WHERE day = ?", Args: []any{v}})
							one.same(t, twin.Statement{SQL: "SELECT n FROM daily WHERE day = ?", Args: []any{v}})
							one.same(t, twin.Statement{SQL: "COMMIT"})
						}
						if one.same(t, twin.Statement{SQL: "SELECT HEX(CAST(day AS BINARY)), n FROM daily ORDER BY 1"}); t.Failed() {
							t.Fatalf("key %#v", v)
						}
					}
				}
			})
		}
	}
}

// So may the values of other columns in WHERE, and those that stand in the statement.
func TestKeyFormsInText(t *testing.T) {
	for _, params := range []string{"", "sql_mode=''"} {
		t.Run(params, func(t *testing.T) {
			t.Parallel()
			p := twin.New(t, twin.Options{
				Dialect: "mysql",
				Params:  params,
				Schema: []string{
					"CREATE TABLE daily (day DATE NOT NULL, id INT NOT NULL UNIQUE, at DATETIME, n BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (day))",
					"INSERT INTO daily VALUES ('2026-01-02', 1, '2026-01-02', 0), ('2026-01-03', 2, '2026-01-03', 0)",
				},
				Config: "version: 1\nauto_migrate: true\ntables: {daily: {key: [id], counters: {n: {}}, slots: 4}}\n",
			})
			one := pinned(t, p)
			for range 2 {
				for _, query := range []string{
					"UPDATE daily SET n = n + 1 WHERE day = '2026-01-02T00:00:00Z'", "UPDATE daily SET n = n + 1 WHERE day = '2026-01-02'", "UPDATE daily SET n = n * 2 WHERE day = '2026-01-02T00:00:00Z'",
					"UPDATE daily SET n = n + 1 WHERE id = 1 AND day = '2026-01-02T00:00:00Z'", "UPDATE daily SET n = n + 1 WHERE id = 2 AND at < '2026-01-04T00:00:00Z'",
					"UPDATE daily SET n = n + 1 WHERE day IN ('2026-01-02', '2026-01-03T00:00:00Z')", "DELETE FROM daily WHERE day = '2026-01-03T00:00:00Z'",
					"INSERT INTO daily (day, id, n) VALUES ('2026-01-02T00:00:00Z', 1, 1) ON DUPLICATE KEY UPDATE n = n + 1",
				} {
					one.same(t, twin.Statement{SQL: query})
					one.same(t, twin.Statement{SQL: "SELECT * FROM daily ORDER BY id"})
				}
			}
		})
	}
}
