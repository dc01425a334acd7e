package config

// WithoutForeignKeys returns the configuration with foreign_keys: false for
// every table, for migrate --no-foreign-keys.
func WithoutForeignKeys(c *Config) *Config {
	out := *c
	out.tables = c.Tables()
	for i := range out.tables {
		out.tables[i].NoForeignKeys = true
	}
	return &out
}
