package house

import (
	"path/filepath"
	"testing"
)

// TestNoLooseFiles: each test in integration/ is in the folder of what it is about.
func TestNoLooseFiles(t *testing.T) {
	loose, err := filepath.Glob("../*.go")
	if err != nil {
		t.Fatal(err)
	}
	if len(loose) > 0 {
		t.Errorf("%v: move them to a folder of integration/", loose)
	}
}
