package dialect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// PassRows writes the rows of [PassNoter.NotePasses], for an INSERT of name, holder and
// until. ago writes the time that was so many microseconds ago.
func PassRows(begun map[string]time.Duration, ago func(microseconds int64) string) string {
	var rows []string
	for _, name := range slices.Sorted(maps.Keys(begun)) {
		rows = append(rows, fmt.Sprintf("('%s', '', %s)", name, ago(max(begun[name], time.Millisecond).Microseconds())))
	}
	return strings.Join(rows, ", ")
}

// ForgetPasses takes back what [PassNoter.NotePasses] has recorded under those names.
func ForgetPasses(ctx context.Context, s Session, names []string) error {
	return s.Exec(ctx, "DELETE FROM "+LeaseTable+" WHERE name IN ('"+strings.Join(names, "', '")+"')")
}

// ReadPasses makes the result of [PassNoter.Passes] of rows of a name and an age in
// microseconds.
func ReadPasses(rows [][]any) (map[string]time.Duration, error) {
	begun := map[string]time.Duration{}
	for _, r := range rows {
		age, err := strconv.ParseInt(written(r[1]), 10, 64)
		if err != nil {
			return nil, err
		}
		begun[written(r[0])] = time.Duration(age) * time.Microsecond
	}
	return begun, nil
}

// LeaseNames makes the result of [Leaser.Leased] of rows of a name.
func LeaseNames(rows [][]any) map[string]bool {
	held := map[string]bool{}
	for _, r := range rows {
		held[written(r[0])] = true
	}
	return held
}

// written is a value as the database writes it: drivers return bytes or strings.
func written(v any) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}
