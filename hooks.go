package slotsql

import (
	"database/sql/driver"
	"reflect"
	"runtime"
	"strings"

	"github.com/slotsql/slotsql/internal/link"
)

// The sessions of a connector are alike, unless code of the application changes them: a hook that
// the parent has been given, or a connector or driver of the application's own. No driver tells
// whether it has hooks, so that is read from the fields of those that are known. A type or field
// that is not known may be or hold one: sessions of such a connector are asked what they are before
// statements on counter tables depend on it.

// parentType says where a connector, or a driver, has what may change sessions.
type parentType struct {
	opening, reset []string // fields with hooks: nil, of the driver's own code, or the application's
	pool           string   // a field that is set if others use its sessions in between
	dsn            string   // a field with a DSN, or the name of a configuration that may have hooks
	inner          string   // a field with the connector or driver that it wraps
	driver         bool     // its driver has hooks
}

var parentTypes = map[string]parentType{
	"github.com/go-sql-driver/mysql.connector": {opening: []string{"cfg.beforeConnect"}},
	"github.com/jackc/pgx/v5/stdlib.connector": {
		opening: []string{"BeforeConnect", "AfterConnect", "ConnConfig.Config.AfterConnect"}, reset: []string{"ResetSession"}, pool: "pool",
	},
	"github.com/jackc/pgx/v5/stdlib.driverConnector": {dsn: "name"},
	"github.com/lib/pq.Connector":                    {},
	"github.com/lib/pq.Driver":                       {},
	"modernc.org/sqlite.connector":                   {driver: true},
	"modernc.org/sqlite.Driver":                      {opening: []string{"connectionHooks"}},
	"github.com/glebarez/go-sqlite.Driver":           {},
	"github.com/mattn/go-sqlite3.SQLiteDriver":       {opening: []string{"ConnectHook"}},
	"github.com/ncruces/go-sqlite3/driver.connector": {opening: []string{"init"}},
	"github.com/XSAM/otelsql.otConnector":            {inner: "Connector"},
	"github.com/XSAM/otelsql.dsnConnector":           {inner: "driver"},
	"github.com/slotsql/slotsql.dsnConnector":        {inner: "driver"},
}

// hooksOf finds out which hooks a connector may have.
func hooksOf(c driver.Connector) link.ParentHooks { return hooksIn(reflect.ValueOf(c)) }

func hooksIn(v reflect.Value) link.ParentHooks {
	unknown := link.ParentHooks{Opening: true, Reset: true}
	connector := v
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return unknown
	}
	pkg := v.Type().PkgPath()
	t, ok := parentTypes[pkg+"."+v.Type().Name()]
	if !ok {
		return unknown
	}
	if t.inner != "" {
		return hooksIn(field(v, t.inner))
	}
	if t.driver {
		if !connector.CanInterface() {
			return unknown
		}
		return hooksIn(reflect.ValueOf(connector.Interface().(driver.Connector).Driver()))
	}
	if pool := field(v, t.pool); t.pool != "" && (!pool.IsValid() || !pool.IsZero()) {
		return unknown
	}
	var h link.ParentHooks
	for _, name := range t.opening {
		h.Opening = h.Opening || hook(field(v, name), pkg)
	}
	for _, name := range t.reset {
		h.Reset = h.Reset || hook(field(v, name), pkg)
	}
	if t.dsn != "" {
		name := field(v, t.dsn)
		h.Opening = name.Kind() != reflect.String || strings.HasPrefix(name.String(), "registeredConnConfig")
	}
	return h
}

// field returns a field, or one of a field. It is invalid if a version of the driver has no such
// field.
func field(v reflect.Value, path string) reflect.Value {
	if path == "" {
		return reflect.Value{}
	}
	for name := range strings.SplitSeq(path, ".") {
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			return reflect.Value{}
		}
		v = v.FieldByName(name)
	}
	return v
}

// hook reports whether a field may hold code of the application. Some drivers begin with functions
// of their own that do nothing.
func hook(v reflect.Value, pkg string) bool {
	switch v.Kind() {
	case reflect.Func:
		if v.IsNil() {
			return false
		}
		f := runtime.FuncForPC(v.Pointer())
		return f == nil || !strings.HasPrefix(f.Name(), pkg+".")
	case reflect.Slice:
		return v.Len() > 0
	}
	return true
}
