package slotsql

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

func (c *planCache) count() (entries, bytes int) {
	c.plans.Range(func(k, _ any) bool {
		entries++
		bytes += len(k.(string))
		return true
	})
	return entries, bytes
}

func TestPlanCacheBounds(t *testing.T) {
	var c planCache
	p := "a plan"
	if c.put(strings.Repeat("x", maxCachedText+1), p); c.get(strings.Repeat("x", maxCachedText+1)) != nil {
		t.Error("a text that is too long is kept")
	}
	for _, padding := range []int{0, maxCachedText - 8} {
		for i := range 3 * maxCachedPlans {
			text := fmt.Sprintf("%08d", i) + strings.Repeat("x", padding)
			c.put(text, p)
			c.put(text, p) // again: not counted twice
			if c.get(text) != p {
				t.Fatalf("text %d is not found", i)
			}
		}
		if n, bytes := c.count(); n == 0 || n > maxCachedPlans || bytes > maxCachedBytes || int64(n) != c.entries.Load() || int64(bytes) != c.bytes.Load() {
			t.Errorf("%d entries, %d bytes; counted %d, %d", n, bytes, c.entries.Load(), c.bytes.Load())
		}
		if c.clear(); c.get("00000001") != nil {
			t.Error("found after clear")
		}
	}
}

func TestPlanCacheConcurrent(t *testing.T) {
	const writers = 8
	var c planCache
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range 2 * maxCachedPlans {
				text := fmt.Sprint(w, i)
				c.put(text, text)
				if p := c.get(text); p != nil && p != text {
					t.Errorf("text %q has the plan of %q", text, p)
				}
			}
		})
	}
	wg.Wait()
	if n, _ := c.count(); n > maxCachedPlans+writers*writers {
		t.Errorf("%d entries", n)
	}
}
