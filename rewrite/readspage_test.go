package rewrite_test

import (
	"os"
	"regexp"
	"testing"
)

// The page about reads names golden cases: they must be there.
func TestReadsPage(t *testing.T) {
	page, err := os.ReadFile("../docs/reads.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`((?:read|drain|refused|pass-through|additive-base)/[a-z-]+)`").FindAllSubmatch(page, -1)
	if len(names) < 50 {
		t.Errorf("%d cases", len(names))
	}
	for _, n := range names {
		if _, err := os.Stat("testdata/" + string(n[1]) + ".txtar"); err != nil {
			t.Error(err)
		}
	}
}
