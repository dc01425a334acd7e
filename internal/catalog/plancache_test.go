package catalog

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

func (c *PlanCache) count() (entries, bytes int) {
	c.plans.Range(func(k, _ any) bool {
		entries++
		bytes += len(k.(string))
		return true
	})
	return entries, bytes
}

func TestPlanCacheBounds(t *testing.T) {
	var c PlanCache
	p := "a plan"
	if c.Put(strings.Repeat("x", MaxCachedText+1), p); c.Get(strings.Repeat("x", MaxCachedText+1)) != nil {
		t.Error("a text that is too long is kept")
	}
	for _, padding := range []int{0, MaxCachedText - 8} {
		for i := range 3 * MaxCachedPlans {
			text := fmt.Sprintf("%08d", i) + strings.Repeat("x", padding)
			c.Put(text, p)
			c.Put(text, p) // again: not counted twice
			if c.Get(text) != p {
				t.Fatalf("text %d is not found", i)
			}
		}
		if n, bytes := c.count(); n == 0 || n > MaxCachedPlans || bytes > maxCachedBytes || int64(n) != c.entries.Load() ||
			int64(bytes) != c.bytes.Load() {
			t.Errorf("%d entries, %d bytes; counted %d, %d", n, bytes, c.entries.Load(), c.bytes.Load())
		}
		if c.Clear(); c.Get("00000001") != nil {
			t.Error("found after clear")
		}
	}
}

func TestPlanCacheConcurrent(t *testing.T) {
	const writers = 8
	var c PlanCache
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range 2 * MaxCachedPlans {
				text := fmt.Sprint(w, i)
				c.Put(text, text)
				if p := c.Get(text); p != nil && p != text {
					t.Errorf("text %q has the plan of %q", text, p)
				}
			}
		})
	}
	wg.Wait()
	if n, _ := c.count(); n > MaxCachedPlans+writers*writers {
		t.Errorf("%d entries", n)
	}
}
