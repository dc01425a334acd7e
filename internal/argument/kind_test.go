package argument

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"reflect"
	"testing"
	"time"
)

type plainAmount int64

type cents int64

func (c cents) Value() (driver.Value, error) { return fmt.Sprintf("%d.%02d", c/100, c%100), nil }

type shown string

func (s shown) String() string { return "shown as " + string(s) }

// An argument is what its kind says only if no method may make something else of it.
func TestReadArgument(t *testing.T) {
	for _, c := range []struct {
		v    any
		kind argumentKind
		n    int64
		text string
	}{
		{int64(-3), signedArgument, -3, ""},
		{4, signedArgument, 4, ""},
		{int8(-5), signedArgument, -5, ""},
		{plainAmount(6), signedArgument, 6, ""},
		{uint64(1 << 63), unsignedArgument, -1 << 63, ""},
		{uint8(7), unsignedArgument, 7, ""},
		{"8", textArgument, 0, "8"},
		{[]byte("9"), textArgument, 0, "9"},
		{v: nil},
		{v: true},
		{v: 1.5},
		{v: cents(1234)},
		{v: shown("x")},
		{v: time.Second},
		{v: new(int64)},
		{v: sql.NullInt64{Int64: 1, Valid: true}},
	} {
		if kind, n, text := readArgument(c.v); kind != c.kind || n != c.n || text != c.text {
			t.Errorf("%T %v: %d, %d, %q", c.v, c.v, kind, n, text)
		}
	}
	for v, want := range map[any]bool{
		1: true, 1.5: true, true: true, cents(1): true, shown("x"): true,
		"1": false, time.Time{}: false, nil: false,
	} {
		if mayBeNumber(v) != want {
			t.Errorf("%T %v may be a number: %t", v, v, !want)
		}
	}
}

// What the caller changes afterwards does not change what is kept.
func TestKept(t *testing.T) {
	b, list, n := []byte("abc"), []int64{1, 2}, int64(3)
	for _, v := range []any{b, list, &n} {
		before := fmt.Sprint(reflect.Indirect(reflect.ValueOf(v)))
		cp, ok := Kept(v)
		b[0], list[0], n = 'z', 9, 9
		if after := fmt.Sprint(reflect.Indirect(reflect.ValueOf(cp))); !ok || after != before || reflect.TypeOf(cp) != reflect.TypeOf(v) {
			t.Errorf("%T: kept as %v (%t), was %v", v, after, ok, before)
		}
		b[0], list[0], n = 'a', 1, 3
	}
	for _, v := range []any{nil, 1, "x", 1.5, true, time.Now(), sql.NullString{}, sql.NullTime{}, [16]byte{}, cents(1), (*int64)(nil), []byte(nil)} {
		if cp, ok := Kept(v); !ok || !reflect.DeepEqual(cp, v) {
			t.Errorf("%T is kept as %v (%t)", v, cp, ok)
		}
	}
	for _, v := range []any{map[string]int{}, [][]byte{b}, &[]string{"x"}, struct{ p *int }{}} {
		if _, ok := Kept(v); ok {
			t.Errorf("%T is said not to change", v)
		}
	}
}
