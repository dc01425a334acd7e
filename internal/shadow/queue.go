package shadow

import (
	"sync"
	"sync/atomic"
)

// queue is the jobs that wait to be done, by one worker at a time.
type queue struct {
	waiting atomic.Int32 // how many, to be asked without a lock

	mu    sync.Mutex
	jobs  []job
	state queueState
}

type queueState byte

const (
	queueIdle    queueState = iota // there is nothing to do
	queueWorking                   // a worker takes one job after another, or is about to begin
	queueClosed                    // for good: no job is taken or done any more
)

// add puts a job at the end, and calls begin where a worker has to be started: before the
// queue can be closed. It returns false when there are too many jobs, or the queue is closed.
func (q *queue) add(j job, begin func()) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.state == queueClosed || len(q.jobs) >= maxShadowJobs {
		return false
	}
	q.jobs = append(q.jobs, j)
	q.waiting.Store(int32(len(q.jobs)))
	if q.state == queueIdle {
		q.state = queueWorking
		begin()
	}
	return true
}

// next takes the first job; false when the worker is to end.
func (q *queue) next() (j job, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.state == queueClosed {
		return j, false
	}
	if len(q.jobs) == 0 {
		q.state = queueIdle
		return j, false
	}
	j, q.jobs = q.jobs[0], q.jobs[1:]
	q.waiting.Store(int32(len(q.jobs)))
	return j, true
}

// close ends the queue.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.state = queueClosed
}
