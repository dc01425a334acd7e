package catalog

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// check holds the generations against their bounds, and returns how many plans there are.
func (c *PlanCache) check(t *testing.T, slack int) (entries int) {
	t.Helper()
	for _, g := range []*generation{c.young.Load(), c.old.Load()} {
		if g == nil {
			continue
		}
		n, bytes := 0, 0
		g.plans.Range(func(k, _ any) bool {
			n++
			bytes += len(k.(string))
			return true
		})
		if n == 0 || n > MaxCachedPlans+slack || bytes > maxCachedBytes || int64(n) != g.entries.Load() || int64(bytes) != g.bytes.Load() {
			t.Errorf("%d entries, %d bytes; counted %d, %d", n, bytes, g.entries.Load(), g.bytes.Load())
		}
		entries += n
	}
	return entries
}

func TestPlanCacheBounds(t *testing.T) {
	var c PlanCache
	p := "a plan"
	if c.Put(strings.Repeat("x", MaxCachedSQL+1), p); c.Get(strings.Repeat("x", MaxCachedSQL+1)) != nil {
		t.Error("a statement that is too long is kept")
	}
	for _, padding := range []int{0, MaxCachedSQL - 8} {
		for i := range 3 * MaxCachedPlans {
			text := fmt.Sprintf("%08d", i) + strings.Repeat("x", padding)
			c.Put(text, p)
			c.Put(text, p) // again: not counted twice
			if c.Get(text) != p {
				t.Fatalf("text %d is not found", i)
			}
		}
		c.check(t, 0)
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
	c.check(t, writers)
}

// A million statements that come once each neither have the cache grow nor drive out one that
// comes between them.
func TestPlanCacheKeepsHot(t *testing.T) {
	var c PlanCache
	const hot = "UPDATE posts SET views = views + 1 WHERE id = ?"
	c.Put(hot, hot)
	for i := range 1_000_000 {
		c.Put(strconv.Itoa(i), i)
		if i%(MaxCachedPlans/2) == 0 && c.Get(hot) != hot {
			t.Fatalf("the hot statement is gone after %d others", i+1)
		}
	}
	if n := c.check(t, 0); n > 2*MaxCachedPlans {
		t.Errorf("%d entries", n)
	}
	if c.Get("1") != nil {
		t.Error("a statement that came once is still there")
	}
}

// What is cleared does not come back from a generation that a caller has seen before.
func TestPlanCacheClear(t *testing.T) {
	var c PlanCache
	for i := range MaxCachedPlans {
		c.Put(strconv.Itoa(i), i)
	}
	c.Put("fills the next generation", 0)
	young := c.young.Load()
	for i := range MaxCachedPlans {
		c.Put("x"+strconv.Itoa(i), i)
	}
	c.Clear()
	c.keep(young, "1", 1)
	if c.Get("1") != nil {
		t.Error("a plan of before Clear is found")
	}
}
