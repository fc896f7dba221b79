package claim

import (
	"reflect"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
)

// answersAtOnce is how many requests and buffers one cycle answers, at most: each answer is two calls of the API server.
const answersAtOnce = 100

// AnswerClaims gives every request and buffer its verdict, and answers those whose object does not say so yet. What is left over is
// answered a second later.
func (d *Claims) AnswerClaims() {
	d.judgeRequests()
	d.judgeBuffers()
	for _, q := range d.requests {
		d.Judge(q.about, q.outcome, q.because...)
		if len(q.answers) > 0 {
			d.Answers = append(d.Answers, action.AnswerRequest{Namespace: q.Namespace, Request: q.Name, UID: q.UID, Conditions: q.answers, Because: q.because[0]})
		}
		if q.outcome == action.ClaimGrows {
			d.Wake(d.Now.Add(time.Second)) // by then the cloud has said whether it does so
		}
	}
	for _, b := range d.buffers {
		d.Judge(b.about, b.outcome, b.because...)
		if len(b.answers) > 0 || !reflect.DeepEqual(b.status, cluster.CapacityBufferStatus{}) {
			d.Answers = append(d.Answers, action.AnswerBuffer{Namespace: b.Namespace, Buffer: b.Name, UID: b.UID, Conditions: b.answers, Status: b.status, Because: b.because[0]})
		}
	}
	if len(d.Answers) > answersAtOnce {
		d.Answers = d.Answers[:answersAtOnce]
		d.Wake(d.Now.Add(time.Second))
	}
}
