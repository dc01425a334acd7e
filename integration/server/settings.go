package server

// A setting is one in which a throwaway server differs from a freshly installed one, apart from where
// its files, its socket and its log are. Whatever is not listed here, tests and benchmarks meet as users do, except that most
// sessions of TestRandomReads have jit=off (integration/random/reads.go says why), and that tests of one setting set it.
type setting struct {
	text, why string
	volatile  bool // not where commits are to reach the disk: see EnvDurable
}

var postgresSettings = []setting{
	{text: "listen_addresses=", why: "no TCP port: tests run side by side, and on machines of others"},
	{text: "max_connections=600", why: "the tests of several packages share one server"},
	{text: "max_prepared_transactions=10", why: "tests of PREPARE TRANSACTION"},
	{text: "fsync=off", why: volatile, volatile: true},
	{text: "synchronous_commit=off", why: volatile, volatile: true},
	{text: "full_page_writes=off", why: volatile, volatile: true},
}

var mariadbSettings = append([]setting{
	{text: "--innodb-log-file-size=32M", why: sizes, volatile: true},
	{text: "--aria-pagecache-buffer-size=8M", why: sizes, volatile: true},
}, innodbSettings...)

var mysqlSettings = append([]setting{
	{text: "--innodb-redo-log-capacity=32M", why: sizes, volatile: true},
	{text: "--skip-log-bin", why: "MySQL writes a binary log by default; MariaDB, and PostgreSQL in its way, do not"},
	{text: "--loose-restrict-fk-on-non-standard-key=OFF", why: "foreign keys to a key that is not unique, which MySQL takes since 8.4 only with this"},
}, innodbSettings...)

var innodbSettings = []setting{
	{text: "--innodb-buffer-pool-size=64M", why: sizes, volatile: true},
	{text: "--key-buffer-size=1M", why: sizes, volatile: true},
	{text: "--innodb-flush-log-at-trx-commit=0", why: volatile, volatile: true},
	{text: "--innodb-flush-method=nosync", why: volatile, volatile: true},
	{text: "--innodb-doublewrite=0", why: volatile, volatile: true},
}

// innodbServing are those of the running server.
var innodbServing = []setting{
	{text: "--skip-networking", why: "no TCP port: tests run side by side, and on machines of others"},
	{text: "--skip-name-resolve", why: "no name server is needed"},
	{text: "--max-connections=900", why: "the tests of several packages share one server"},
	{text: "--character-set-server=utf8mb4", why: "MariaDB 10.11 has latin1, which its packages change to this"},
}

const (
	volatile = "tests need no durability, and are faster without; benchmarks keep it"
	sizes    = "many servers may run at once, and a cluster has three"
)

// words returns the settings for this process.
func words(settings []setting, before ...string) (out []string) {
	for _, s := range settings {
		if !s.volatile || !Durable() {
			out = append(append(out, before...), s.text)
		}
	}
	return out
}
