package house

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// goMod is what `go mod edit -json` prints, as far as TestModules needs it.
type goMod struct {
	Module  struct{ Path string }
	Go      string
	Require []struct{ Path string }
	Replace []struct{ Old, New struct{ Path string } }
}

// TestModules: in a checkout the modules take each other from their directories, scripts/test tests
// each, scripts/release releases those that users import or install, and README says which Go they
// need.
func TestModules(t *testing.T) {
	const root = "../.."
	dirs := map[string]string{} // by the module's path
	mods := map[string]goMod{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "go.mod" {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(p))
		if err != nil {
			return err
		}
		out, err := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json", p).Output()
		if err != nil {
			return err
		}
		var m goMod
		if err := json.Unmarshal(out, &m); err != nil {
			return err
		}
		dir = filepath.ToSlash(dir)
		if want := path.Join(module, dir); m.Module.Path != want {
			t.Errorf("%s/go.mod: the module is %s, not %s", dir, m.Module.Path, want)
		}
		dirs[m.Module.Path], mods[dir] = dir, m
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if line := strings.TrimSuffix(mods["."].Go, ".0"); !strings.Contains(string(readme), "Go "+line+" or newer") {
		t.Errorf("README.md does not say that slotsql needs Go %s", line)
	}

	released := listed(t, "scripts/release", `(?m)^modules='(.*)'$`)
	tested := append(listed(t, "scripts/test", `modules='(.*)'\n`), ".", "cmd/slotsql")
	for dir, m := range mods {
		if slices.Contains(released, dir) && m.Go != mods["."].Go {
			t.Errorf("the module in %s needs Go %s, and the library %s", dir, m.Go, mods["."].Go)
		}
		if dir != "tools" && !slices.Contains(tested, dir) {
			t.Errorf("scripts/test does not test the module in %s", dir)
		}
		users := dir != "tools" && dir != "docs" && !within(dir, "examples/...") && !within(dir, "integration/...")
		if slices.Contains(released, dir) != users {
			t.Errorf("scripts/release: is the module in %s to be released? %v", dir, users)
		}
		replaced := map[string]string{}
		for _, r := range m.Replace {
			replaced[r.Old.Path] = r.New.Path
		}
		for _, r := range m.Require {
			if !within(r.Path, module+"/...") {
				continue
			}
			if dir == "." {
				t.Errorf("the library's module requires %s", r.Path)
			}
			if got := path.Join(dir, replaced[r.Path]); replaced[r.Path] == "" || got != dirs[r.Path] {
				t.Errorf("%s/go.mod takes %s from %q, which is not its directory %s", dir, r.Path, replaced[r.Path], dirs[r.Path])
			}
			if i := slices.Index(released, dir); i >= 0 && !slices.Contains(released[:i], dirs[r.Path]) {
				t.Errorf("scripts/release: %s requires %s, and is not after it", dir, r.Path)
			}
		}
	}
}

// listed returns the words of the first group of a pattern in a file.
func listed(t *testing.T, file, pattern string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", file))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(pattern).FindStringSubmatch(string(text))
	if m == nil {
		t.Fatalf("%s has no list of modules", file)
	}
	return strings.Fields(m[1])
}
