package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// A place is where suites are built and run.
type place struct {
	work, logs, root string
	bouncer          *pgbouncer // nil: PostgreSQL is reached directly
}

// built is a suite whose tests are a program.
type built struct {
	*suite
	place
	binary, dir string // dir: of its package
}

// build fetches a suite and builds its tests, with the hooks.
func (p place) build(ctx context.Context, s *suite) (*built, error) {
	mod, err := p.module(ctx, &s.source)
	if err != nil {
		return nil, err
	}
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir, cmd.Env = mod, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
		return output(cmd)
	}
	pkg := path.Join(s.source.module, s.pkg)
	facts, err := run("list", "-find", "-f", "{{.Dir}}\n{{.Name}}", pkg)
	if err != nil {
		return nil, err
	}
	dir, name, _ := strings.Cut(facts, "\n")
	if name = strings.TrimSuffix(name, "_test"); !s.inInit {
		name += "_test" // beside the package, whose importers it may import
	}
	goroot, err := run("env", "GOROOT")
	if err != nil {
		return nil, err
	}
	overlay, err := writeOverlay(mod, goroot, dir, name)
	if err != nil {
		return nil, err
	}
	b := &built{suite: s, place: p, binary: filepath.Join(mod, "suite.test"), dir: dir}
	_, err = run("test", "-c", "-vet=off", "-o", b.binary, "-overlay", overlay, pkg)
	return b, err
}

// module makes a module that requires a source at its version, and slotsql from its directory. Versions of others are
// those that the two need.
func (p place) module(ctx context.Context, s *source) (string, error) {
	mod, err := os.MkdirTemp(p.work, "suite-")
	if err != nil {
		return "", err
	}
	// The go command refuses to add files to a module in its cache, but not to one in a directory.
	dir, err := p.fetched(ctx, s)
	if err != nil {
		return "", err
	}
	link := filepath.Join(mod, "fetched")
	if err := os.Symlink(dir, link); err != nil {
		return "", err
	}
	const slotsql = "github.com/slotsql/slotsql"
	directories := map[string]string{
		slotsql:                          p.root,
		slotsql + "/integration/foreign": filepath.Join(p.root, "integration", "foreign"),
		s.module:                         link,
	}
	for _, module := range s.empty {
		directories[module] = filepath.Join(mod, path.Base(module))
		if err := writeEmpty(directories[module], module); err != nil {
			return "", err
		}
	}
	text := "module suite\n\ngo 1.26.0\n"
	for module, dir := range directories {
		version := "v0.0.0"
		if module == s.module {
			version = s.version
		}
		text += fmt.Sprintf("require %s %s\nreplace %[1]s => %[3]q\n", module, version, dir)
	}
	for _, m := range s.with {
		text += "require " + strings.Replace(m, "@", " ", 1) + "\n"
	}
	return mod, os.WriteFile(filepath.Join(mod, "go.mod"), []byte(text), 0o600)
}

// writeEmpty writes a module that has nothing.
func writeEmpty(dir, module string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module "+module+"\n"), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "empty.go"), []byte("package "+path.Base(module)+"\n"), 0o600)
}

// fetched returns the directory of a module.
func (p place) fetched(ctx context.Context, s *source) (string, error) {
	if s.repository == "" {
		out, err := output(exec.CommandContext(ctx, "go", "mod", "download", "-json", s.module+"@"+s.version))
		if err != nil {
			return "", err
		}
		var m struct{ Dir string }
		err = json.Unmarshal([]byte(out), &m)
		return m.Dir, err
	}
	clone := filepath.Join(p.work, path.Base(s.repository)+"-"+s.version)
	if _, err := os.Stat(clone); err != nil {
		cmd := exec.CommandContext(ctx, "git", "-c", "advice.detachedHead=false",
			"clone", "--quiet", "--depth=1", "--branch="+s.version, s.repository, clone)
		if _, err := output(cmd); err != nil {
			return "", err
		}
	}
	head, err := output(exec.CommandContext(ctx, "git", "-C", clone, "rev-parse", "HEAD"))
	if err != nil {
		return "", err
	}
	if head != s.commit {
		return "", fmt.Errorf("%s of %s is %s, not %s", s.version, s.repository, head, s.commit)
	}
	return filepath.Join(clone, filepath.FromSlash(s.directory)), nil
}

func output(cmd *exec.Cmd) (string, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
}
