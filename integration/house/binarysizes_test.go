package house

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestBinarySizes holds what docs/drivers.md says of the size of a program with the plain driver, and with
// slotsql: it opens a database and pings it. Without symbols, slotsql adds at most 20 MB.
func TestBinarySizes(t *testing.T) {
	t.Parallel()
	const page = "../../docs/drivers.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	plain := map[string]string{
		"mysql": "github.com/go-sql-driver/mysql", "postgres": "github.com/jackc/pgx/v5/stdlib", "sqlite": "modernc.org/sqlite",
	}
	rows := regexp.MustCompile("(?m)^\\| `slotsql/(\\w+)` \\| ([0-9.]+) MB \\| ([0-9.]+) MB \\|").FindAllStringSubmatch(string(text), -1)
	if len(rows) != len(plain) {
		t.Fatalf("%s has the sizes of %d packages, want %d", page, len(rows), len(plain))
	}
	const most = 20
	for _, row := range rows {
		var sizes [2]float64
		for i, imported := range []string{plain[row[1]], module + "/" + row[1]} {
			want, err := strconv.ParseFloat(row[2+i], 64)
			if err != nil {
				t.Fatal(err)
			}
			if sizes[i] = binarySize(t, imported); math.Abs(sizes[i]-want) > max(want/20, 0.3) {
				t.Errorf("%s: a program that imports %s has %.1f MB, and the page says %.1f", page, imported, sizes[i], want)
			}
		}
		if added := sizes[1] - sizes[0]; added > most {
			t.Errorf("slotsql/%s adds %.1f MB to a program, want at most %d", row[1], added, most)
		}
	}
}

// binarySize returns the size of a program in megabytes, on the platform that the page is about.
func binarySize(t *testing.T, imported string) float64 {
	t.Helper()
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	program := fmt.Sprintf(`package main

import (
	"database/sql"
	"os"

	_ %q
)

func main() {
	db, err := sql.Open(os.Args[1], os.Args[2])
	if err == nil {
		err = db.Ping()
	}
	if err != nil {
		panic(err)
	}
}
`, imported)
	if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", binary, source)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, strings.TrimSpace(string(out)))
	}
	info, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	return float64(info.Size()) / 1e6
}
