package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain lets the test program be the command as well, for what runs it from
// a shell.
func TestMain(m *testing.M) {
	if os.Getenv("SLOTSQL_TEST_COMMAND") != "" {
		main()
	}
	os.Exit(m.Run())
}

// The scripts ask the command itself what may follow.
func TestCompletionScripts(t *testing.T) {
	for shell, sign := range map[string]string{"bash": "complete -o default -F __start_slotsql slotsql",
		"zsh": "#compdef slotsql", "fish": "complete -c slotsql", "powershell": "Register-ArgumentCompleter -CommandName 'slotsql'"} {
		stdout, stderr, code := command(t, "", "completion", shell)
		if code != exitOK || stderr != "" || !strings.Contains(stdout, sign) || !strings.Contains(stdout, "__complete") {
			t.Errorf("%s: %d %s %s", shell, code, stderr, stdout)
		}
	}
	for _, c := range []struct {
		line string
		want []string // lines that must be among the answers
	}{
		{"", []string{"check\tCheck the configuration", "explain\tShow how", "completion\t"}},
		{"ch", []string{"check\t"}},
		{"init --", []string{"--sql\t", "--output\t", "--force\t"}},
		{"check --", []string{"--sql\t", "--fail-on\t", "--driver\t", "--json\t"}},
		{"check --fail-on ", []string{"never", "refused", "drained", "base"}},
		{"migrate --driver p", []string{"postgres"}},
		{"bench --preset ", []string{"quick", "sweep"}},
		{"completion ", []string{"bash\t", "zsh\t", "fish\t", "powershell\t"}},
	} {
		stdout, _, code := command(t, "", append([]string{"__complete"}, strings.Split(c.line, " ")...)...)
		for _, want := range c.want {
			if code != exitOK || !strings.Contains("\n"+stdout, "\n"+want) {
				t.Errorf("%q: %d, no %q in\n%s", c.line, code, want, stdout)
			}
		}
	}
}

// bash itself, with the script, completes a line. The function that the script
// needs of the package bash-completion is written out: machines that run tests
// may lack the package.
func TestCompletionInBash(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	wrapper := "#!/bin/sh\nSLOTSQL_TEST_COMMAND=1 exec '" + self + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "slotsql"), []byte(wrapper), 0o755); err != nil {
		t.Fatal(err)
	}
	script := `_get_comp_words_by_ref() { cur=${COMP_WORDS[COMP_CWORD]}; prev=${COMP_WORDS[COMP_CWORD - 1]}; words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; }
compopt() { :; } # of the shell, for lines that are being typed
source <(slotsql completion bash)
complete_line() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9; COMPREPLY=(); __start_slotsql; echo "${COMPREPLY[@]}"; }
complete_line slotsql expl
complete_line slotsql check --driver my
complete_line slotsql check --fail-on d
`
	cmd := exec.CommandContext(t.Context(), "bash", "--norc", "--noprofile", "-c", script)
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for i, want := range []string{"explain", "mysql", "drained"} {
		if i >= len(lines) || strings.TrimSpace(lines[i]) != want {
			t.Errorf("line %d: want %q, got\n%s", i+1, want, out)
			break
		}
	}
}
