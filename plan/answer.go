package plan

import (
	"reflect"
	"time"

	"sluice.dev/sluice/cluster"
)

// answersAtOnce is how many requests and buffers one cycle answers, at most: each answer is two calls of the API server.
const answersAtOnce = 100

// answerClaims gives every request and buffer its verdict, and answers those whose object does not say so yet. What is left over is
// answered a second later.
func (d *claiming) answerClaims() {
	d.judgeRequests()
	d.judgeBuffers()
	for _, q := range d.requests {
		d.judge(q.about, q.outcome, q.because...)
		if len(q.answers) > 0 {
			d.answers = append(d.answers, AnswerRequest{Namespace: q.Namespace, Request: q.Name, UID: q.UID, Conditions: q.answers, Because: q.because[0]})
		}
		if q.outcome == ClaimGrows {
			d.wake(d.now.Add(time.Second)) // by then the cloud has said whether it does so
		}
	}
	for _, b := range d.buffers {
		d.judge(b.about, b.outcome, b.because...)
		if len(b.answers) > 0 || !reflect.DeepEqual(b.status, cluster.CapacityBufferStatus{}) {
			d.answers = append(d.answers, AnswerBuffer{Namespace: b.Namespace, Buffer: b.Name, UID: b.UID, Conditions: b.answers, Status: b.status, Because: b.because[0]})
		}
	}
	if len(d.answers) > answersAtOnce {
		d.answers = d.answers[:answersAtOnce]
		d.wake(d.now.Add(time.Second))
	}
}
