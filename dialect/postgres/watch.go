package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/dialect"
)

var _ dialect.Watcher = (*Dialect)(nil)

// Every change of a definition writes a new version of a catalog row, with the number of its
// transaction in xmin, or adds or deletes one. VACUUM and ANALYZE write theirs in place, and freezing
// leaves xmin readable. So a table's mark counts all rows that describe it, and adds up their xmin: its
// own, those of the tables that inherit from it and of the views over it, and those of its columns'
// domains. A change adds a row that is newer than all others or takes one away, so with as many rows the
// sum is larger. Of the tables above it those rows belong to them that say which ones they are (what they
// are partitioned by decides where its rows are), and which views read them. They are read by one query,
// hence of one state.
//
// Arrays keep the estimate at ten tables, however many there are: at jit_above_cost the server would
// compile the query, which takes a hundred times as long as it runs.
const markQuery = `
WITH RECURSIVE asked(ord, oid) AS (
  SELECT a.ord, pg_catalog.to_regclass(a.name)::pg_catalog.oid
  FROM pg_catalog.json_array_elements_text($1::text::pg_catalog.json) WITH ORDINALITY AS a(name, ord)),
base(oid) AS (SELECT pg_catalog.unnest(ARRAY(SELECT DISTINCT a.oid FROM asked a WHERE a.oid IS NOT NULL))),
reader(of, oid) AS (
  SELECT d.refobjid, w.ev_class
  FROM pg_catalog.pg_rewrite w JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.objid = w.oid
    AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
  WHERE w.oid >= ` + firstOwn + `),
rel(root, oid) AS (
  SELECT b.oid, b.oid FROM base b
  UNION
  SELECT r.root, x.oid FROM rel r JOIN (SELECT v.of, v.oid FROM reader v UNION ALL SELECT h.inhparent, h.inhrelid FROM pg_catalog.pg_inherits h) x(of, oid) ON x.of = r.oid),
up(root, oid) AS (
  SELECT h.inhrelid, h.inhparent FROM pg_catalog.pg_inherits h WHERE h.inhrelid = ANY (ARRAY(SELECT b.oid FROM base b))
  UNION
  SELECT u.root, h.inhparent FROM up u JOIN pg_catalog.pg_inherits h ON h.inhrelid = u.oid),
above(root, oid) AS (
  SELECT u.root, u.oid FROM up u
  UNION
  SELECT o.root, v.oid FROM above o JOIN reader v ON v.of = o.oid),
rels(oids) AS (SELECT ARRAY(SELECT DISTINCT r.oid FROM rel r)),
domain(rel, oid) AS (
  SELECT a.attrelid, t.oid FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid AND t.typtype = 'd'
  WHERE a.attrelid = ANY ((SELECT oids FROM rels)::pg_catalog.oid[]) AND a.attnum > 0 AND a.atttypid >= ` + firstOwn + `
  UNION
  SELECT d.rel, b.oid FROM domain d JOIN pg_catalog.pg_type t ON t.oid = d.oid JOIN pg_catalog.pg_type b ON b.oid = t.typbasetype AND b.typtype = 'd'),
part(rel, kind, oid, version) AS (
  SELECT c.oid, CASE WHEN c.relhassubclass THEN 'p' ELSE 'r' END, c.oid, c.xmin FROM pg_catalog.pg_class c WHERE c.oid = ANY ((SELECT oids FROM rels)::pg_catalog.oid[])
  UNION ALL SELECT a.attrelid, NULL, NULL, a.xmin FROM pg_catalog.pg_attribute a WHERE a.attrelid = ANY ((SELECT oids FROM rels)::pg_catalog.oid[]) AND a.attnum > 0
  UNION ALL SELECT f.adrelid, NULL, NULL, f.xmin FROM pg_catalog.pg_attrdef f WHERE f.adrelid = ANY ((SELECT oids FROM rels)::pg_catalog.oid[])
  UNION ALL SELECT k.conrelid, NULL, NULL, k.xmin FROM pg_catalog.pg_constraint k WHERE k.conrelid = ANY ((SELECT oids FROM rels)::pg_catalog.oid[])
  UNION ALL SELECT i.indrelid, NULL, NULL, i.xmin FROM pg_catalog.pg_index i WHERE i.indrelid = ANY ((SELECT oids FROM rels)::pg_catalog.oid[])
  UNION ALL SELECT i.indrelid, CASE WHEN i.indisprimary THEN 'k' ELSE 'i' END, x.oid, x.xmin FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
    WHERE i.indrelid = ANY ((SELECT oids FROM rels)::pg_catalog.oid[])
  UNION ALL SELECT g.tgrelid, NULL, NULL, g.xmin FROM pg_catalog.pg_trigger g WHERE g.tgrelid = ANY ((SELECT oids FROM rels)::pg_catalog.oid[])
  UNION ALL SELECT w.ev_class, NULL, NULL, w.xmin FROM pg_catalog.pg_rewrite w WHERE w.ev_class = ANY ((SELECT oids FROM rels)::pg_catalog.oid[])
  UNION ALL SELECT h.inhrelid, NULL, NULL, h.xmin FROM pg_catalog.pg_inherits h WHERE h.inhrelid = ANY ((SELECT oids FROM rels)::pg_catalog.oid[])
  UNION ALL SELECT d.rel, 't', t.oid, t.xmin FROM domain d JOIN pg_catalog.pg_type t ON t.oid = d.oid
  UNION ALL SELECT d.rel, NULL, NULL, k.xmin FROM domain d JOIN pg_catalog.pg_constraint k ON k.contypid = d.oid),
every(root, kind, oid, version) AS (
  SELECT r.root, p.kind, p.oid, p.version FROM rel r JOIN part p ON p.rel = r.oid
  UNION ALL SELECT o.root, CASE WHEN c.relhassubclass THEN 'p' ELSE 'r' END, c.oid, c.xmin FROM above o JOIN pg_catalog.pg_class c ON c.oid = o.oid
  UNION ALL SELECT o.root, NULL, NULL, w.xmin FROM above o JOIN pg_catalog.pg_rewrite w ON w.ev_class = o.oid
  UNION ALL SELECT u.root, NULL, NULL, h.xmin FROM up u JOIN pg_catalog.pg_inherits h ON h.inhrelid = u.oid),
mark(root, version, parts) AS (
  SELECT e.root, pg_catalog.concat(e.root, '.', pg_catalog.count(*), '.', pg_catalog.sum(e.version::text::pg_catalog.int8)), pg_catalog.string_agg(e.kind || e.oid, ' ')
  FROM every e GROUP BY e.root)
SELECT a.ord::text, n.nspname::text, c.relname::text, m.version, m.parts
FROM asked a JOIN mark m ON m.root = a.oid JOIN pg_catalog.pg_class c ON c.oid = a.oid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace`

// firstOwn is the first number that an object gets which the server was not installed with
// (FirstNormalObjectId).
const firstOwn = "16384"

// Marks implements dialect.Watcher.
func (d *Dialect) Marks(ctx context.Context, s dialect.Session, names []dialect.WrittenName) ([]dialect.Mark, error) {
	marks := make([]dialect.Mark, len(names))
	rows, err := s.Query(ctx, markQuery, namesJSON(names))
	if err != nil {
		return nil, fmt.Errorf("postgres: looking at the tables' definitions: %w", err)
	}
	for _, r := range rows {
		i, err := strconv.Atoi(dialect.String(r[0]))
		if err != nil || i < 1 || i > len(names) {
			return nil, fmt.Errorf("postgres: looking at the tables' definitions: there is no table %v", r[0])
		}
		marks[i-1] = dialect.Mark{Schema: dialect.String(r[1]), Name: dialect.String(r[2]), Version: dialect.String(r[3])}
		parts := strings.Fields(dialect.String(r[4]))
		slices.Sort(parts)
		marks[i-1].Parts = strings.Join(slices.Compact(parts), " ")
	}
	return marks, nil
}

// rulesQuery asks for the versions of all rules, those of views included, as a number.
const rulesQuery = "(SELECT pg_catalog.hash_array_extended(pg_catalog.array_agg(w.xmin), 0) FROM pg_catalog.pg_rewrite w WHERE w.oid >= " + firstOwn + ")"

// Glance implements dialect.Watcher: it looks at the catalog rows that marks count, in any session. They are found by the
// numbers that the marks have, so the query joins no catalogs, and the server plans it in a fraction of the time. Versions are
// hashed to 64 bits, since writing them out takes as long as planning. It leaves out what changes only together with rows that it
// looks at: defaults (their columns), first children (their parents), what a table inherits from (its columns; of a partition,
// itself) and the indexes of primary keys (their constraints). It looks at all rules, as a new view changes no table.
func (d *Dialect) Glance(
	ctx context.Context, s dialect.Session, names []dialect.WrittenName, marks []dialect.Mark,
) (dialect.Glance, error) {
	looks := []string{rulesQuery}
	look := func(catalog, number, list string) { // as a join, which hashes the list where the catalog is read in full
		looks = append(looks, "(SELECT pg_catalog.hash_array_extended(pg_catalog.array_agg(c.xmin), 0) FROM pg_catalog."+catalog+
			" c JOIN pg_catalog.unnest(o."+list+") n(oid) ON n.oid = c."+number+")")
	}
	look("pg_class", "oid", "relations")
	look("pg_attribute", "attrelid AND c.attnum > 0", "tables")
	look("pg_constraint", "conrelid", "tables")
	look("pg_index", "indrelid", "tables")
	look("pg_trigger", "tgrelid", "tables")
	parents, domains := numbers(marks, "p"), numbers(marks, "t")
	if len(parents) > 0 {
		look("pg_inherits", "inhparent", "parents")
	}
	if len(domains) > 0 {
		look("pg_type", "oid", "domains")
		look("pg_constraint", "contypid", "domains")
	}
	var lists []string
	for _, of := range [][]string{numbers(marks, "rpi"), numbers(marks, "rp"), parents, domains} {
		lists = append(lists, "'{"+strings.Join(of, ",")+"}'::pg_catalog.oid[]")
	}
	return glance(ctx, s, names, marks, strings.Join(looks, ", ")+
		") FROM (SELECT "+strings.Join(lists, ", ")+" OFFSET 0) AS o(relations, tables, parents, domains)") // 0: the planner counts ten elements, see markQuery
}

// GlanceKept is a Dialect's Glance for which the server runs what it has kept, if the query stays prepared in a session that is the
// connection's alone. The server analyses a kept statement again once a relation that
// it names has changed in any way, and 'now' is the time of its analysis: PostgreSQL reads such a literal
// when it analyses a statement. A constant of type regclass is a name that takes no lock and is followed
// to no table. So the query is the same until a definition changes. A new view does not change the tables that it reads,
// and names may come to mean other tables, so rules and names are looked at; the versions of domains are
// those of their types and constraints.
func GlanceKept(
	ctx context.Context, s dialect.Session, names []dialect.WrittenName, marks []dialect.Mark,
) (dialect.Glance, error) {
	list := func(kinds, as string) string {
		return "'{" + strings.Join(numbers(marks, kinds), ",") + "}'::pg_catalog." + as + "[]"
	}
	constants := make([]string, 0, len(marks))
	for _, n := range numbers(marks, "rpik") {
		constants = append(constants, "'"+n+"'")
	}
	return glance(ctx, s, names, marks, "pg_catalog.pg_backend_pid(), 'now'::pg_catalog.timestamptz,"+
		" CASE WHEN false THEN ARRAY["+strings.Join(constants, ", ")+"]::pg_catalog.regclass[] END, "+
		rulesQuery+", (SELECT pg_catalog.array_agg(k.xmin) FROM pg_catalog.pg_constraint k WHERE k.contypid = ANY ("+list("t", "oid")+")),"+
		" (SELECT pg_catalog.array_agg(t.xmin) FROM pg_catalog.pg_type t WHERE t.oid = ANY ("+list("t", "oid")+")))")
}

// glance asks what names mean, and for more, which ends the list of what is asked for.
func glance(
	ctx context.Context, s dialect.Session, names []dialect.WrittenName, marks []dialect.Mark, more string,
) (dialect.Glance, error) {
	mean := func(names []dialect.WrittenName) string {
		return "(SELECT pg_catalog.array_agg(pg_catalog.to_regclass(a.name)::pg_catalog.oid)" +
			" FROM pg_catalog.json_array_elements_text(" + literal(namesJSON(names)) + "::text::pg_catalog.json) AS a(name)), " // text: read only where it is used
	}
	tell, others := namesThatTell(names, marks)
	ask := mean(tell) + "pg_catalog.to_regnamespace(pg_catalog.quote_ident(pg_catalog.current_schema()))::pg_catalog.oid, "
	for _, schema := range slices.Sorted(maps.Keys(others)) {
		ask += "CASE WHEN pg_catalog.current_schema() IS DISTINCT FROM " + literal(schema) + " THEN " +
			strings.TrimSuffix(mean(others[schema]), ", ") + " END, "
	}
	rows, err := s.Query(ctx, "SELECT pg_catalog.concat_ws(' ', "+ask+more)
	if err != nil {
		return dialect.Glance{}, fmt.Errorf("postgres: looking at the tables' definitions: %w", err)
	}
	return dialect.Glance{State: dialect.String(rows[0][0])}, nil
}

// numbers returns the OIDs of the parts of marks that are of these kinds: r, tables and views; p, tables that may have
// children; k, indexes of primary keys; i, others; t, domains.
func numbers(marks []dialect.Mark, kinds string) (out []string) {
	for _, m := range marks {
		for _, p := range strings.Fields(m.Parts) {
			if strings.ContainsRune(kinds, rune(p[0])) {
				out = append(out, p[1:])
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// namesThatTell returns the names that have to be asked for: the others mean the same tables as long as these do, and no table is
// renamed or moved. Of those with one schema one is enough. So it is of those without that mean tables of one schema (others), while
// that is the first one of the search path.
func namesThatTell(
	names []dialect.WrittenName, marks []dialect.Mark,
) (tell []dialect.WrittenName, others map[string][]dialect.WrittenName) {
	seen, others := map[dialect.WrittenName]bool{}, map[string][]dialect.WrittenName{}
	for i, n := range names {
		of := dialect.WrittenName{Schema: n.Schema, Name: marks[i].Schema}
		switch {
		case marks[i].Name == "" || !seen[of]:
			tell = append(tell, n)
		case n.Schema == "":
			others[of.Name] = append(others[of.Name], n)
		}
		seen[of] = seen[of] || marks[i].Name != ""
	}
	return tell, others
}

// Server implements dialect.Watcher. A standby and its primary have one identifier, and have not started in the same
// microsecond.
func (*Dialect) Server(ctx context.Context, s dialect.Session) (string, error) {
	rows, err := s.Query(ctx, "SELECT pg_catalog.concat_ws(' ', (SELECT c.system_identifier FROM pg_catalog.pg_control_system() c),"+
		" pg_catalog.pg_postmaster_start_time(), session_user)")
	if err != nil {
		return "", fmt.Errorf("postgres: asking which server this is: %w", err)
	}
	return dialect.String(rows[0][0]), nil
}

// namesJSON writes names as a list for json_array_elements_text, quoted as
// to_regclass reads them.
func namesJSON(names []dialect.WrittenName) string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = qualified(n.Schema, n.Name)
	}
	b, _ := json.Marshal(list) // strings always can be written
	return string(b)
}
