package catalog

import (
	"context"
	"unicode/utf8"

	"github.com/slotsql/slotsql/dialect"
	"github.com/slotsql/slotsql/internal/link"
	"github.com/slotsql/slotsql/rewrite"
)

// A session may have other rules for parsing statements than those that its connector opened with:
// MySQL's sql_mode decides what quotes mean, and the character set of statements which bytes are
// characters. The rules are part of the session's namespace: each namespace has its own plans,
// made by the dialect that parses as its sessions do. A statement that may change the rules counts
// as one that may change the namespace (rewrite.Namespace), and the session is asked again before
// the next statement that may concern a counter table.

// dialectIn returns the dialect that parses and writes statements as sessions of that namespace
// do.
func (c *Catalog) dialectIn(namespace string) dialect.Dialect {
	if d, ok := c.Dialect.(dialect.NamespaceAware); ok {
		return d.InNamespace(namespace)
	}
	return c.Dialect
}

// settings are what a namespace's dialect says of its sessions, for what is asked often.
type settings struct {
	foreign      bool // statements are in another character set than UTF-8
	dirty        bool // transactions begin at READ UNCOMMITTED
	serializable bool // they begin at SERIALIZABLE
}

func settingsOf(d rewrite.Dialect) (s settings) {
	s.foreign = d.LexRules().Foreign
	if r, ok := d.(dialect.DirtyReader); ok {
		s.dirty = r.Dirty()
	}
	if r, ok := d.(interface{ Serializable() bool }); ok {
		s.serializable = r.Serializable()
	}
	return s
}

// ReadsDirty reports whether queries of the session may read uncommitted data.
func (v *View) ReadsDirty() bool { return v.Schema != nil && v.Schema.settings.dirty }

// Levels reports whether transactions of the session that are begun without a level may read uncommitted data, and whether they are
// SERIALIZABLE.
func (v *View) Levels() (dirty, serializable bool) {
	if v.Schema == nil {
		return false, false
	}
	return v.Schema.settings.dirty, v.Schema.settings.serializable
}

// Dialect returns the dialect of the session, as far as it is known.
func (v *View) Dialect() rewrite.Dialect {
	if v.Schema == nil {
		return v.Catalog.Dialect
	}
	return v.Schema.Planner.Dialect
}

// ReadsOtherwise reports whether the session may parse statements by other rules than those used
// to plan statements that name no counter table.
func (v *View) ReadsOtherwise() bool {
	if _, ok := v.Catalog.Dialect.(dialect.NamespaceAware); !ok {
		return false
	}
	return v.Facts.Old() || v.Schema != nil && *v.Dialect().LexRules() != *v.Catalog.Dialect.LexRules()
}

// CheckCharset refuses a statement in which a name could be overlooked: one with characters beyond
// ASCII, in a session whose character set for statements is not UTF-8, if a configured table or
// view has such characters in its name.
func (v *View) CheckCharset(ctx context.Context, sql string) error {
	if !v.Catalog.Names.wide.Load() || ascii(sql) {
		return nil
	}
	if err := v.Refresh(ctx); err != nil {
		return err
	}
	if v.Dialect().LexRules().Foreign {
		return errForeignName
	}
	return nil
}

// Nameable refuses a statement on counter tables whose names slotsql could not
// write in the session's character set.
func (v *View) Nameable(p *rewrite.Plan) error {
	if !v.Dialect().LexRules().Foreign {
		return nil
	}
	for _, t := range p.Touched {
		names := append([]string{t.Schema, t.Name, t.Counter.SlotTable.Schema, t.Counter.SlotTable.Name}, t.Counter.Key...)
		for i := range t.Columns {
			names = append(names, t.Columns[i].Name)
		}
		for _, name := range names {
			if !ascii(name) {
				return errForeignName
			}
		}
	}
	return nil
}

var errForeignName = &link.UnsupportedError{
	Reason: "the session's character set is not UTF-8, and a counter table has a name with characters beyond ASCII: connect with charset=utf8mb4",
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
