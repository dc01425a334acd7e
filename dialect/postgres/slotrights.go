package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var (
	_ dialect.RightsReader   = (*Dialect)(nil)
	_ rewrite.HoldingDialect = (*Dialect)(nil)
)

// rightsQuery asks for the rights of the current role, those of roles that it is a
// member of included. A table that is not there has no row.
const rightsQuery = `
WITH RECURSIVE asked(ord, t, base, slots) AS (
  SELECT a.ord, a.t, pg_catalog.to_regclass(a.t ->> 'base')::pg_catalog.oid, pg_catalog.to_regclass(a.t ->> 'slots')::pg_catalog.oid
  FROM pg_catalog.json_array_elements($1::text::pg_catalog.json) WITH ORDINALITY AS a(t, ord)),
v(ord, oid) AS (
  SELECT ord, base FROM asked
  UNION
  SELECT v.ord, r.ev_class FROM v
  JOIN pg_catalog.pg_depend d ON d.refobjid = v.oid AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
    AND d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass
  JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid),
visible(ord) AS (
  SELECT DISTINCT v.ord FROM v JOIN pg_catalog.pg_class c ON c.oid = v.oid
  WHERE c.relkind IN ('v', 'm') AND pg_catalog.has_any_column_privilege(c.oid, 'SELECT') AND pg_catalog.has_schema_privilege(c.relnamespace, 'USAGE'))
SELECT a.ord::text, pg_catalog.quote_ident(current_user),
  (n.use AND EXISTS (SELECT 1 FROM pg_catalog.json_array_elements_text(a.t -> 'counters') AS c(c) WHERE pg_catalog.has_column_privilege(a.base, c.c, 'SELECT'))
    OR EXISTS (SELECT 1 FROM visible WHERE visible.ord = a.ord))::int::text,
  (n.use AND EXISTS (SELECT 1 FROM pg_catalog.json_array_elements_text(a.t -> 'counters') AS c(c) WHERE pg_catalog.has_column_privilege(a.base, c.c, 'UPDATE')))::int::text,
  (n.use AND NOT EXISTS (SELECT 1 FROM pg_catalog.json_array_elements_text(a.t -> 'read') AS c(c) WHERE NOT pg_catalog.has_column_privilege(a.base, c.c, 'SELECT'))
    AND NOT EXISTS (SELECT 1 FROM pg_catalog.json_array_elements_text(a.t -> 'written') AS c(c) WHERE NOT pg_catalog.has_column_privilege(a.base, c.c, 'UPDATE')))::int::text,
  pg_catalog.has_schema_privilege(s.relnamespace, 'USAGE')::int::text,
  p.may[1]::text, p.may[2]::text, p.may[3]::text, pg_catalog.has_table_privilege(a.slots, 'DELETE')::int::text,
  (NOT pg_catalog.has_table_privilege(a.base, 'SELECT'))::int::text
FROM asked a JOIN pg_catalog.pg_class b ON b.oid = a.base JOIN pg_catalog.pg_class s ON s.oid = a.slots
CROSS JOIN LATERAL (SELECT pg_catalog.has_schema_privilege(b.relnamespace, 'USAGE')) AS n(use)
CROSS JOIN LATERAL (SELECT pg_catalog.array_agg((SELECT pg_catalog.bool_and(pg_catalog.has_column_privilege(a.slots, k.attnum, r.r))::int
    FROM pg_catalog.pg_attribute k WHERE k.attrelid = a.slots AND k.attnum > 0 AND NOT k.attisdropped) ORDER BY r.at)
  FROM (VALUES (1, 'SELECT'), (2, 'INSERT'), (3, 'UPDATE')) AS r(at, r)) AS p(may)`

// SlotRights implements dialect.RightsReader.
func (d *Dialect) SlotRights(ctx context.Context, s dialect.Session, tables []dialect.SlotTable) ([]dialect.SlotRights, error) {
	type asked struct {
		Base     string   `json:"base"`
		Slots    string   `json:"slots"`
		Counters []string `json:"counters"`
		Read     []string `json:"read"`
		Written  []string `json:"written"`
	}
	var list []asked
	for _, t := range tables {
		read, written := dialect.FoldColumns(t.Base)
		list = append(list, asked{
			qualified(t.Base.Schema, t.Base.Name), slotTable(t.Base),
			// A nil slice would be written as null, which is no list.
			append([]string{}, t.Base.Counter.Counters...), append([]string{}, read...), append([]string{}, written...),
		})
	}
	b, _ := json.Marshal(list) // strings can always be encoded
	rows, err := s.Query(ctx, rightsQuery, string(b))
	if err != nil {
		return nil, fmt.Errorf("postgres: reading the rights on slot tables: %w", err)
	}
	out := make([]dialect.SlotRights, len(tables))
	for _, r := range rows {
		i, err := strconv.Atoi(dialect.String(r[0]))
		if err != nil || i < 1 || i > len(tables) {
			return nil, fmt.Errorf("postgres: reading the rights on slot tables: there is no table %v", r[0])
		}
		has := func(at int) bool { return dialect.String(r[at]) == "1" }
		t := tables[i-1].Base
		h := dialect.HeldRights{
			Reads:  has(2),
			Counts: has(3),
			Folds:  has(4),
			Use:    has(5),
			Select: has(6),
			Insert: has(7),
			Update: has(8),
			Delete: has(9),
		}
		out[i-1] = h.Lacking(grantNames(t, dialect.String(r[1])))
		out[i-1].Columns = has(10)
	}
	for i, t := range tables {
		if t.Create {
			if out[i].Create, err = mayCreate(ctx, s, t.Base); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// mayCreate returns what the role lacks to create a slot table.
func mayCreate(ctx context.Context, s dialect.Session, t *schema.Table) ([]dialect.Lack, error) {
	name := cmp.Or(t.Counter.SlotTable.Schema, t.Schema)
	rows, err := s.Query(ctx, "SELECT pg_catalog.has_schema_privilege($1, 'CREATE')::text, pg_catalog.has_table_privilege($2, 'REFERENCES')::text, pg_catalog.quote_ident(current_user)",
		name, qualified(t.Schema, t.Name))
	if err != nil {
		return nil, fmt.Errorf("postgres: reading the right to create slot tables: %w", err)
	}
	what, user := "creating slot table "+t.Counter.SlotTable.Name, dialect.String(rows[0][2])
	var out []dialect.Lack
	if !yes(rows[0][0]) {
		out = append(out, dialect.Lack{What: what, Grant: "GRANT CREATE ON SCHEMA " + quote(name) + " TO " + user})
	}
	if !t.Counter.SlotTable.NoForeignKey && !yes(rows[0][1]) {
		out = append(out, dialect.Lack{What: what, Grant: "GRANT REFERENCES ON " + qualified(t.Schema, t.Name) + " TO " + user})
	}
	return out, nil
}

func grantNames(t *schema.Table, user string) dialect.GrantNames {
	n := dialect.GrantNames{User: user, Base: qualified(t.Schema, t.Name), Schema: quote(t.Counter.SlotTable.Schema), Slots: slotTable(t)}
	n.Read, n.Written = dialect.FoldColumns(t)
	for _, list := range [][]string{n.Read, n.Written} {
		for i := range list {
			list[i] = quote(list[i])
		}
	}
	return n
}

// Hidden implements dialect.RightsReader: every role sees the catalog.
func (*Dialect) Hidden(_ context.Context, _ dialect.Session, schema, _ string) (string, bool, error) {
	return schema, false, nil
}

// DeniedRight implements dialect.RightsReader. The driver's error type cannot be named
// here, but its text has the class.
func (*Dialect) DeniedRight(err error) bool { return strings.Contains(err.Error(), "42501") }

// Held implements rewrite.HoldingDialect.
func (*Dialect) Held(t *schema.Table, scope rewrite.Scope) string {
	q := "SELECT 1 FROM " + slotTable(t) + " AS " + slotAlias + " WHERE true"
	if of := t.Counter.OfTable(quote, slotAlias+"."); of != "" {
		q += " AND " + of
	}
	if scope.Where != "" && len(t.Counter.Key) > 0 {
		q += fmt.Sprintf(
			" AND (%s) IN (SELECT %s FROM %s WHERE (%s))",
			slotKeyList(t, slotAlias+"."),
			keyList(t, scope.Qualifier+"."),
			scope.Ref,
			scope.Where,
		)
	}
	return q + " LIMIT 1"
}
