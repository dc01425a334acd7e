package bench

import "time"

// reads are the queries of BenchmarkReads. The hot keys are spread over the
// whole table, and over the top of its order as well.
var reads = []struct {
	name, mysql, postgres string
	bar                   bar
}{
	{"point", "SELECT id, title, views FROM posts WHERE id = ?", "SELECT id, title, views FROM posts WHERE id = $1", times(1.3)},
	{
		"fifty",
		"SELECT id, title, views FROM posts WHERE author = ? LIMIT 50",
		"SELECT id, title, views FROM posts WHERE author = $1 LIMIT 50",
		times(1.6),
	},
	{"top10", "SELECT id, title, views FROM posts ORDER BY views DESC LIMIT 10", "", soon},
	{
		"top10 of author",
		"SELECT id, views FROM posts WHERE author = ? ORDER BY views DESC LIMIT 10",
		"SELECT id, views FROM posts WHERE author = $1 ORDER BY views DESC LIMIT 10",
		soon,
	},
	{"top10 computed", "SELECT id, views FROM posts ORDER BY views / (author + 1) DESC, id LIMIT 10", "", times(3)},
	{"page", "SELECT id, views FROM posts ORDER BY views DESC, id LIMIT 20 OFFSET 80", "", soon},
	{"keyset", "SELECT id, views FROM posts WHERE (views, id) < (900000, 5) ORDER BY views DESC, id DESC LIMIT 20", "", soon},
	{"range", "SELECT id, views FROM posts WHERE views > 999000", "", soon},
	{"count", "SELECT COUNT(*) FROM posts WHERE views > 999000", "", soon},
	{"range by row", "SELECT id, views FROM posts WHERE views > (SELECT q.views FROM posts q WHERE q.id = 1389)", "", soon},
	{"range by average", "SELECT id FROM posts WHERE views > (SELECT AVG(q.views) * 1.999 FROM posts q)", "", times(3)},
	{"greatest", "SELECT id, views FROM posts WHERE views = (SELECT MAX(views) FROM posts)", "", soon},
	{
		"range by rank",
		"SELECT id FROM posts WHERE views >= (SELECT views FROM posts ORDER BY views DESC LIMIT 1 OFFSET 99)",
		"",
		soon,
	},
	{"sum of range", "SELECT SUM(views) FROM posts WHERE views > 999000", "", soon},
	{"exists", "SELECT EXISTS (SELECT 1 FROM posts WHERE views = 500000)", "", soon},
	{"max min", "SELECT MAX(views), MIN(views) FROM posts", "", soon},
	{"cte", "WITH h AS (SELECT id FROM posts WHERE views > 999000) SELECT COUNT(*) FROM h", "", soon},
	{"group of range", "SELECT author % 10, COUNT(*) FROM posts WHERE views > 999000 GROUP BY author % 10", "", soon},
	{
		"join by range",
		"SELECT c.id, p.views FROM comments c JOIN posts p ON p.id = c.post_id WHERE p.views > 999000 ORDER BY p.views DESC LIMIT 10",
		"",
		joined,
	},
	{
		"first of join",
		"SELECT p.id, p.views, c.id FROM posts p LEFT JOIN comments c ON c.post_id = p.id ORDER BY p.views DESC LIMIT 10",
		"",
		joined,
	},
	{
		"first of inner join",
		"SELECT p.id, p.views, c.id FROM posts p JOIN comments c ON c.post_id = p.id ORDER BY p.views DESC LIMIT 10",
		"",
		joined,
	},
	{
		"first of some of join",
		"SELECT p.id, p.views, c.id FROM posts p JOIN comments c ON c.post_id = p.id WHERE c.batch < 10 ORDER BY p.views DESC LIMIT 10",
		"",
		joined,
	},
	{
		"first of fixed of join",
		"SELECT p.id, p.views, c.id FROM posts p JOIN comments c ON c.post_id = p.id WHERE c.batch = 7 ORDER BY p.views DESC LIMIT 10",
		"",
		joined,
	},
	{
		"tested in",
		"SELECT c.id FROM comments c WHERE c.post_id IN (SELECT id FROM posts WHERE views > 999000)",
		"",
		joined,
	},
	{
		"tested exists",
		"SELECT c.id FROM comments c WHERE EXISTS (SELECT 1 FROM posts p WHERE p.id = c.post_id AND p.views > 999000)",
		"",
		joined,
	},
	{"ranked", "SELECT id, RANK() OVER (ORDER BY views DESC) AS r FROM posts ORDER BY views DESC LIMIT 10", "", soon},
	{"first values", "SELECT DISTINCT views FROM posts ORDER BY views DESC LIMIT 10", "", soon},
	{"first groups", "SELECT views, COUNT(*) FROM posts GROUP BY views ORDER BY views DESC LIMIT 10", "", soon},
	{"groups of range", "SELECT views, COUNT(*) FROM posts WHERE views > 999000 GROUP BY views", "", soon},
	{"derived", "SELECT COUNT(*) FROM (SELECT id, views FROM posts) AS d WHERE d.views > 999000", "", soon},
	{"join", "SELECT c.id, p.views FROM comments c JOIN posts p ON p.id = c.post_id WHERE c.batch = 7", "", times(2)},
	{"sum", "SELECT SUM(views) FROM posts", "", times(1.5)},
	{"sum inside", "SELECT id, views * 100.0 / (SELECT SUM(views) FROM posts) FROM posts WHERE id = 5", "", times(1.5)},
	{"groups inside", "SELECT g, s FROM (SELECT author % 10 AS g, SUM(views) AS s FROM posts GROUP BY author % 10) AS t ORDER BY s DESC LIMIT 3", "", times(1.5)},
	{"group", "SELECT author % 10, SUM(views), MAX(views) FROM posts WHERE author < 100 GROUP BY author % 10", "", times(1.5)},
	{"groups", "SELECT author % 10, SUM(views), COUNT(*) FROM posts GROUP BY author % 10", "", times(1.5)},
	{"most of it", "SELECT COUNT(*) FROM posts WHERE views > 10", "", nil},
}

// A bar reports whether a read is fast enough; above it, its plan is printed.
type bar func(plain, wrapped time.Duration, keys int) bool

func times(most float64) bar {
	return func(plain, wrapped time.Duration, _ int) bool { return float64(wrapped) <= most*float64(plain) }
}

// soon bounds a read with 1,000 hot keys, and one with more.
func soon(_, wrapped time.Duration, keys int) bool {
	if keys > 1000 {
		return wrapped <= 60*time.Millisecond
	}
	return wrapped <= 10*time.Millisecond
}

// joined bounds a read of two tables: the plain one may take long.
func joined(plain, wrapped time.Duration, keys int) bool {
	return times(3)(plain, wrapped, keys) || soon(plain, wrapped, keys)
}
