package groups

// A form is a statement that executions share, of the one row of a table t.
type form struct {
	name    string
	sql     string   // with ? for arguments
	args    []string // what is drawn for each: "id", "add", "take", "bound", "note", "cents"
	columns string   // what the row is compared by; "" for all counters
	only    []string // the dialects; nil for all
	clamps  bool     // run without strict sql_mode, too
	partly  bool     // some groups are split that all members of would succeed
}

// The table has counters of each width, one under a CHECK, one that may be NULL, one of cents, and
// ordinary columns.
const createTable = `CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL, big BIGINT NOT NULL CHECK (big >= 3), small SMALLINT NOT NULL, maybe INT,
	cents DECIMAL(12,2) NOT NULL, capacity INT, note VARCHAR(20), kind VARCHAR(10) NOT NULL)`

var (
	returning    = []string{"postgres", "sqlite"}
	mysqlOnly    = []string{"mysql"}
	postgresOnly = []string{"postgres"}
)

// counters of SQLite are integers: it computes with others as floating-point numbers.
var forms = []form{
	{name: "literal", sql: "UPDATE t SET n = n + 1 WHERE id = ?", args: []string{"id"}},
	{name: "argument", sql: "UPDATE t SET n = n + ? WHERE id = ?", args: []string{"add", "id"}},
	{name: "subtracted", sql: "UPDATE t SET n = n - ? WHERE id = ?", args: []string{"add", "id"}},
	{name: "turned", sql: "UPDATE t SET n = ? + n, big = big - 2 WHERE id = ?", args: []string{"add", "id"}},
	{name: "signs", sql: "UPDATE t SET n = n - -3, big = (big)+(-2), small = small -(+1) WHERE id = ?", args: []string{"id"}},
	{name: "narrow", sql: "UPDATE t SET small = small + ? WHERE id = ?", args: []string{"large", "id"}, clamps: true},
	{name: "nullable", sql: "UPDATE t SET maybe = maybe + ? WHERE id = ?", args: []string{"add", "id"}, partly: true},
	{name: "coalesced", sql: "UPDATE t SET maybe = COALESCE(maybe, 0) + ?, n = COALESCE(n, 5) - 1 WHERE id = ?", args: []string{"add", "id"}, partly: true},
	{name: "coalesced to argument", sql: "UPDATE t SET maybe = COALESCE(maybe, ?) + ? WHERE id = ?", args: []string{"few", "add", "id"}, partly: true},
	{name: "cents", sql: "UPDATE t SET cents = cents + ?, n = n + 1 WHERE id = ?", args: []string{"cents", "id"}, only: []string{"mysql", "postgres"}},
	{name: "cents guarded", sql: "UPDATE t SET cents = cents - ? WHERE id = ? AND cents >= ?", args: []string{"cents", "id", "same 0"},
		only: []string{"mysql", "postgres"}},
	{name: "beside", sql: "UPDATE t SET n = n + ?, note = ?, kind = 'seen' WHERE id = ?", args: []string{"add", "note", "id"}, columns: "n, note, kind"},
	{name: "beside copied", sql: "UPDATE t SET n = n + ?, capacity = small WHERE id = ?", args: []string{"add", "id"}, columns: "n, capacity"},
	{name: "same beside", sql: "UPDATE t SET n = n + ?, capacity = ? * 2 WHERE id = ?", args: []string{"add", "id", "id"}, columns: "n, capacity"},

	{name: "stock", sql: "UPDATE t SET n = n - ? WHERE id = ? AND n >= ?", args: []string{"take", "id", "same 0"}},
	{name: "above", sql: "UPDATE t SET n = n - 1 WHERE id = ? AND n > 0", args: []string{"id"}},
	{name: "turned bound", sql: "UPDATE t SET n = n - ? WHERE id = ? AND ? <= n AND n < 1000", args: []string{"take", "id", "bound"}},
	{name: "difference", sql: "UPDATE t SET n = n - ? WHERE id = ? AND n - ? >= 0", args: []string{"take", "id", "same 0"}},
	{name: "difference and bound", sql: "UPDATE t SET n = n - ? WHERE id = ? AND n - ? >= ?", args: []string{"take", "id", "few", "bound"}},
	{name: "literal difference", sql: "UPDATE t SET n = n - 2 WHERE id = ? AND n - 2 > -?", args: []string{"id", "bound"}, only: []string{"mysql", "sqlite"}},
	{name: "capacity", sql: "UPDATE t SET n = n + 1 WHERE id = ? AND n < capacity", args: []string{"id"}},
	{name: "capacity or none", sql: "UPDATE t SET n = n + ? WHERE id = ? AND (capacity IS NULL OR n + ? <= capacity)", args: []string{"take", "id", "same 0"}},
	{name: "capacity and more", sql: "UPDATE t SET n = n + ? WHERE id = ? AND capacity + ? > n", args: []string{"add", "id", "few"}},
	{name: "literal and capacity", sql: "UPDATE t SET n = n + 2 WHERE id = ? AND 2 + n <= capacity AND kind = 'a'", args: []string{"id"}},
	{name: "either", sql: "UPDATE t SET n = n + ?, big = big - 1 WHERE id = ? AND (n < ? OR big > 5)", args: []string{"add", "id", "bound"}, partly: true},
	{name: "coalesced bound", sql: "UPDATE t SET maybe = COALESCE(maybe, 0) + ? WHERE id = ? AND COALESCE(maybe, 0) < capacity", args: []string{"take", "id"}, partly: true},
	{name: "not null", sql: "UPDATE t SET maybe = maybe + ? WHERE id = ? AND maybe IS NOT NULL AND maybe < ?", args: []string{"add", "id", "bound"}},

	{name: "drawn", sql: "UPDATE t SET n = n + ? WHERE id = ? RETURNING n, id, kind", args: []string{"add", "id"}, only: returning},
	{name: "drawn range", sql: "UPDATE t SET n = n + ?, big = big - 1 WHERE id = ? RETURNING n + 5 AS later, n - 1 AS last, big, note", args: []string{"add", "id"}, only: returning},
	{name: "drawn all", sql: "UPDATE t SET n = n + 1, kind = 'z' WHERE id = ? RETURNING *", args: []string{"id"}, only: returning},
	{name: "drawn and set", sql: "UPDATE t SET n = n + 1, note = ? WHERE id = ? RETURNING n", args: []string{"note", "id"}, columns: "n, note", only: returning},
	{name: "drawn nullable", sql: "UPDATE t SET maybe = maybe + 1 WHERE id = ? RETURNING maybe", args: []string{"id"}, only: returning, partly: true},
	{name: "drawn guarded", sql: "UPDATE t SET n = n - ? WHERE id = ? AND n >= ? RETURNING n", args: []string{"take", "id", "same 0"}, only: returning},
	{name: "drawn cents", sql: "UPDATE t SET cents = cents + ? WHERE id = ? RETURNING cents", args: []string{"cents", "id"}, only: []string{"postgres"}},

	{name: "upsert", sql: "INSERT INTO t (id, n, big, small, cents, kind) VALUES (?, ?, 7, 8, 9, ?) ON CONFLICT (id) DO UPDATE SET n = t.n + EXCLUDED.n",
		args: []string{"row", "add", "same 0 note"}, only: returning},
	{name: "upsert literal", sql: "INSERT INTO t (id, n, big, small, cents, kind) VALUES (?, 2, 7, 8, 9, 'b') " +
		"ON CONFLICT (id) DO UPDATE SET n = (2) + t.n, kind = 'b'", args: []string{"row"}, columns: "n, kind", only: returning},
	{name: "upsert counters", sql: "INSERT INTO t (id, n, big, small, cents, kind) VALUES (?, ?, 7, ?, 9, 'b') " +
		"ON CONFLICT (id) DO UPDATE SET n = EXCLUDED.n + t.n, small = t.small + EXCLUDED.small", args: []string{"row", "add", "large"}, only: returning},
	{name: "upsert drawn", sql: "INSERT INTO t (id, n, big, small, cents, kind) VALUES (?, 1, 7, 8, 9, 'b') " +
		"ON CONFLICT (id) DO UPDATE SET n = 1 + t.n, kind = excluded.kind RETURNING n, id, kind", args: []string{"row"}, only: returning},
	{name: "upsert drawn argument", sql: "INSERT INTO t (id, n, big, small, cents, kind) VALUES (?, ?, 7, 8, 9, 'b') " +
		"ON CONFLICT (id) DO UPDATE SET n = t.n + EXCLUDED.n RETURNING n AS drawn, big, n - 1 AS last", args: []string{"row", "add"}, only: returning},
	{name: "upsert cents", sql: "INSERT INTO t (id, n, big, small, cents, kind) VALUES (?, 0, 7, 8, ?, 'b') " +
		"ON CONFLICT (id) DO UPDATE SET cents = t.cents + EXCLUDED.cents", args: []string{"row", "cents"}, only: postgresOnly},

	{name: "upsert of others' values", sql: "INSERT INTO t (id, n, big, small, cents, kind, note, capacity) VALUES (?, ?, 7, 8, 9, 'b', ?, ?) " +
		"ON CONFLICT (id) DO UPDATE SET n = t.n + EXCLUDED.n, note = EXCLUDED.note", args: []string{"row", "add", "note", "bound"}, columns: "n, note, capacity", only: returning},

	{name: "upsert from another", sql: "INSERT INTO t (id, n, big, small, cents, kind) VALUES (?, ?, 7, 8, 9, 'b') " +
		"ON CONFLICT (id) DO UPDATE SET n = t.n + ?", args: []string{"row", "bound", "add"}, only: returning},
	{name: "upsert from zero", sql: "INSERT INTO t (id, n, big, small, cents, kind) VALUES (?, 0, 7, ?, 9, 'b') " +
		"ON CONFLICT (id) DO UPDATE SET n = t.n - 2, small = t.small + 1 RETURNING n, id, small", args: []string{"row", "few"}, only: returning, partly: true},
	{name: "upsert cents from another", sql: "INSERT INTO t (id, n, big, small, cents, kind) VALUES (?, 0, 7, 8, ?, 'b') " +
		"ON CONFLICT (id) DO UPDATE SET cents = t.cents + ?", args: []string{"row", "cents", "cents"}, only: postgresOnly},

	{name: "upsert of others' values", sql: "INSERT INTO t (id, n, big, small, cents, kind, note, capacity) VALUES (?, ?, 7, 8, 9, 'b', ?, ?) " +
		"ON DUPLICATE KEY UPDATE note = VALUES(note), n = n + VALUES(n)", args: []string{"row", "add", "note", "bound"}, columns: "n, note, capacity", only: mysqlOnly},
	{name: "upsert from another", sql: "INSERT INTO t (id, n, big, small, cents, kind) VALUES (?, ?, 7, 8, 9, 'b') " +
		"ON DUPLICATE KEY UPDATE n = n + ?", args: []string{"row", "bound", "take"}, only: mysqlOnly},
	{name: "upsert from zero", sql: "INSERT INTO t (id, n, big, small, cents, kind) VALUES (?, 0, 7, ?, 9, 'b') " +
		"ON DUPLICATE KEY UPDATE small = small + 1, n = COALESCE(n, 0) + 3", args: []string{"row", "large"}, only: mysqlOnly, clamps: true},
	{name: "upsert", sql: "INSERT INTO t (id, n, big, small, cents, kind) VALUES (?, ?, 7, 8, 9, ?) ON DUPLICATE KEY UPDATE n = n + VALUES(n)",
		args: []string{"row", "add", "same 0 note"}, only: mysqlOnly},
	{name: "upsert literal", sql: "INSERT INTO t (id, n, big, small, cents, kind) VALUES (?, 2, 7, 8, 9, 'b') " +
		"ON DUPLICATE KEY UPDATE n = (2) + t.n, kind = 'b'", args: []string{"row"}, columns: "n, kind", only: mysqlOnly},
	{name: "upsert counters", sql: "INSERT INTO t (id, n, big, small, cents, kind) VALUES (?, ?, 7, ?, 9, 'b') " +
		"ON DUPLICATE KEY UPDATE small = VALUES(small) + small, n = COALESCE(n, 0) + VALUES(n)", args: []string{"row", "take", "large"}, only: mysqlOnly, clamps: true},
	{name: "upsert cents", sql: "INSERT INTO t (id, n, big, small, cents, kind) VALUES (?, 0, 7, 8, ?, 'b') " +
		"ON DUPLICATE KEY UPDATE cents = cents + VALUES(cents)", args: []string{"row", "cents"}, only: mysqlOnly},

	{name: "compare and set", sql: "UPDATE t SET note = ?, small = small + ? WHERE id = ? AND small = ?",
		args: []string{"note", "few", "id", "version"}, columns: "small, note", partly: true},
	{name: "compare and set next", sql: "UPDATE t SET small = ?, note = ?, n = n + small WHERE id = ? AND t.small = ? AND n > 3",
		args: []string{"next", "note", "id", "version"}, columns: "n, small, note", partly: true},
	{name: "compare and set text", sql: "UPDATE t SET note = ?, kind = 'b' WHERE id = ? AND note = 'x'",
		args: []string{"note or x", "id"}, columns: "note, kind", partly: true},

	{name: "insert ID", sql: "UPDATE t SET n = LAST_INSERT_ID(n + ?) WHERE id = ?", args: []string{"take", "id"}, only: mysqlOnly},
	{name: "insert ID and more", sql: "UPDATE t SET big = big + 1, n = LAST_INSERT_ID(n + 1) WHERE id = ? AND n < ?", args: []string{"id", "bound"}, only: mysqlOnly},
}
