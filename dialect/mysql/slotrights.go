package mysql

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/rewrite"
	"github.com/slotsql/slotsql/rewrite/schema"
)

var (
	_ dialect.RightsReader   = (*Dialect)(nil)
	_ rewrite.HoldingDialect = (*Dialect)(nil)
)

// The rights on columns are facts of the tables (COLUMNS.PRIVILEGES has those by
// roles, and on the database, too). Only DELETE is not among them: it is asked for
// where an account has not been granted everything.

// maxExplained bounds the tables of one statement: a join has 61 at most.
const maxExplained = 50

// SlotRights implements dialect.RightsReader.
func (d *Dialect) SlotRights(ctx context.Context, s dialect.Session, tables []dialect.SlotTable) ([]dialect.SlotRights, error) {
	held := make([]dialect.HeldRights, len(tables))
	var asked []string
	for i, t := range tables {
		h := &held[i]
		*h = rightsOnBase(t)
		if t.Slots == nil {
			h.Delete = false
			continue
		}
		h.Select = !slices.ContainsFunc(t.Slots.Columns, func(c schema.Column) bool { return c.Denied.Select })
		h.Insert = !slices.ContainsFunc(t.Slots.Columns, func(c schema.Column) bool { return c.Denied.Insert })
		h.Update = !slices.ContainsFunc(t.Slots.Columns, func(c schema.Column) bool { return c.Denied.Update })
		h.Delete = true
		if slices.ContainsFunc(t.Slots.Columns, func(c schema.Column) bool { return c.Denied.References }) {
			if name := slotTable(t.Base); !slices.Contains(asked, name) {
				asked = append(asked, name)
			}
		}
	}
	denied := map[string]bool{}
	for part := range slices.Chunk(asked, maxExplained) {
		if err := d.mayDelete(ctx, s, part); err == nil {
			continue
		} else if !d.DeniedRight(err) {
			return nil, fmt.Errorf("reading the rights on slot tables: %w", err)
		}
		for _, name := range part {
			if err := d.mayDelete(ctx, s, []string{name}); err != nil && d.DeniedRight(err) {
				denied[name] = true
			} else if err != nil {
				return nil, fmt.Errorf("reading the rights on slot tables: %w", err)
			}
		}
	}
	out := make([]dialect.SlotRights, len(tables))
	account := ""
	for i, t := range tables {
		h := held[i]
		h.Delete = h.Delete && !denied[slotTable(t.Base)]
		if h.Folds && h.Select && h.Insert && h.Update && h.Delete {
			continue
		}
		if account == "" {
			var err error
			if account, err = accountOf(ctx, s); err != nil {
				return nil, err
			}
		}
		n := dialect.GrantNames{User: account, Base: baseTable(t.Base), Slots: slotTable(t.Base)}
		n.Read, n.Written = dialect.FoldColumns(t.Base)
		n.Read, n.Written = quoteAll(n.Read), quoteAll(n.Written)
		out[i] = h.Lacking(n)
	}
	return out, addCreate(ctx, s, tables, out)
}

// addCreate adds the rights to create slot tables, where they are asked for.
func addCreate(ctx context.Context, s dialect.Session, tables []dialect.SlotTable, out []dialect.SlotRights) (err error) {
	for i, t := range tables {
		if t.Create {
			if out[i].Create, err = mayCreate(ctx, s, t.Base); err != nil {
				return err
			}
		}
	}
	return nil
}

// rightsOnBase are the rights on a base table, whose columns have them.
func rightsOnBase(t dialect.SlotTable) dialect.HeldRights {
	h := dialect.HeldRights{Use: true, Folds: true, Reads: len(t.Views) > 0}
	read, written := dialect.FoldColumns(t.Base)
	for _, name := range t.Base.Counter.Counters {
		if c := t.Base.Column(name); c != nil {
			h.Reads, h.Counts = h.Reads || !c.Denied.Select, h.Counts || !c.Denied.Update
		}
	}
	for _, name := range read {
		c := t.Base.Column(name)
		h.Folds = h.Folds && c != nil && !c.Denied.Select
	}
	for _, name := range written {
		c := t.Base.Column(name)
		h.Folds = h.Folds && c != nil && !c.Denied.Update
	}
	return h
}

// mayDelete fails when the account may not delete from one of the tables. EXPLAIN
// asks for the rights of the statement, and runs none.
func (d *Dialect) mayDelete(ctx context.Context, s dialect.Session, tables []string) error {
	var aliases, from []string
	for i, t := range tables {
		alias := fmt.Sprintf("slotsql_%d", i)
		aliases, from = append(aliases, alias), append(from, t+" AS "+alias)
	}
	_, err := s.Query(ctx, "EXPLAIN DELETE "+strings.Join(aliases, ", ")+" FROM "+strings.Join(from, " JOIN ")+" WHERE FALSE")
	return err
}

// mayCreate returns what the account lacks to create a slot table. It prepares such a statement, which the
// server refuses as it would refuse to run it.
func mayCreate(ctx context.Context, s dialect.Session, t *schema.Table) ([]dialect.Lack, error) {
	definition, rights := "(id INT)", "CREATE"
	if !t.Counter.SlotTable.NoForeignKey {
		definition, rights = "(id INT, FOREIGN KEY (id) REFERENCES "+baseTable(t)+" (id))", "CREATE, REFERENCES"
	}
	create := strings.ReplaceAll("CREATE TABLE "+slotTable(t)+" "+definition, `\`, `\\`)
	_, err := s.Query(ctx, "PREPARE slotsql_create FROM "+quoteText(create))
	switch {
	case err == nil:
		_, err = s.Query(ctx, "DEALLOCATE PREPARE slotsql_create")
		return nil, err
	case !deniedRight(err):
		return nil, fmt.Errorf("reading the right to create slot tables: %w", err)
	}
	account, err := accountOf(ctx, s)
	if err != nil {
		return nil, err
	}
	return []dialect.Lack{{
		What:  "creating slot table " + t.Counter.SlotTable.Name,
		Grant: "GRANT " + rights + " ON " + quote(cmp.Or(t.Counter.SlotTable.Schema, t.Schema)) + ".* TO " + account,
	}}, nil
}

// accountOf names the account as GRANT does.
func accountOf(ctx context.Context, s dialect.Session) (string, error) {
	rows, err := s.Query(ctx, "SELECT CURRENT_USER()")
	if err != nil || len(rows) == 0 {
		return "", err
	}
	at := strings.LastIndexByte(dialect.String(rows[0][0]), '@')
	if at < 0 {
		return quoteText(dialect.String(rows[0][0])), nil
	}
	return quoteText(dialect.String(rows[0][0])[:at]) + "@" + quoteText(dialect.String(rows[0][0])[at+1:]), nil
}

// Hidden implements dialect.RightsReader: a user without rights on a table gets the error that they
// may not read it, whether it is there or not.
func (d *Dialect) Hidden(ctx context.Context, s dialect.Session, schema, name string) (string, bool, error) {
	if schema == "" {
		srv, err := d.ask(ctx, s)
		if err != nil {
			return "", false, err
		}
		schema = srv.database
	}
	_, err := s.Query(ctx, "SELECT 1 FROM "+fullName(schema, name)+" LIMIT 0")
	// Any other error is that of a table that is not there, or cannot be read.
	return schema, err != nil && d.DeniedRight(err), nil
}

// DeniedRight recognises ER_TABLEACCESS_DENIED_ERROR and ER_COLUMNACCESS_DENIED_ERROR,
// as noSavepoint does.
func (*Dialect) DeniedRight(err error) bool { return deniedRight(err) }

func deniedRight(err error) bool {
	return strings.Contains(err.Error(), "Error 1142") || strings.Contains(err.Error(), "Error 1143")
}

// Held implements rewrite.HoldingDialect by a locking read, which sees what is committed
// and waits for what is not.
func (d *Dialect) Held(t *schema.Table, s rewrite.Scope) string {
	covered, join := "", ""
	if s.Where != "" && len(t.Counter.Key) > 0 {
		covered = coveredKeys(t, s) + " STRAIGHT_JOIN "
		join = slotIndex(t) + " ON " + sameAs("slotsql_s", t.Counter.SlotKey(), "slotsql_k")
	}
	return d.unlimitedText(
		"SELECT 1 FROM " + covered + slotTable(t) + " AS slotsql_s" + join + " WHERE " +
			and(t.Counter.OfTable(quote, "slotsql_s."), "TRUE") + " LIMIT 1 LOCK IN SHARE MODE",
	)
}

// coveredKeys is a derived table of the keys that the scope selects, k1, k2,
// ..., so that the application's predicate sees only its own table's names.
func coveredKeys(t *schema.Table, s rewrite.Scope) string {
	var cols []string
	for i, k := range t.Counter.Key {
		cols = append(cols, fmt.Sprintf("%s.%s AS k%d", s.Qualifier, quote(k), i+1))
	}
	return "(SELECT " + strings.Join(cols, ", ") + " FROM " + s.Ref + " WHERE (" + s.Where + ")) AS slotsql_k"
}
