package server

import (
	"os"
	"syscall"
)

// memory is where Linux keeps files in memory. A test's databases are hundreds
// of small files that live for a second: making and removing them took a third
// of the servers' time on a disk. What a killed process has written is still
// there, so tests that kill servers lose nothing by it.
const memory = "/dev/shm"

// memoryNeeded is the room that throwaway databases may take.
const memoryNeeded = 4 << 30

// inMemory reports whether throwaway databases are kept in memory: where there
// is room, unless TMPDIR names another place, or commits are to reach the disk.
func inMemory() bool {
	if Durable() || os.Getenv("TMPDIR") != "" || !reachable(memory) {
		return false
	}
	var fs syscall.Statfs_t
	return syscall.Statfs(memory, &fs) == nil && fs.Bavail*uint64(fs.Bsize) >= memoryNeeded
}
