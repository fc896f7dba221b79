package plan

// memo is what was found out at some cost, by the questions, from cycle to cycle. What a cycle does not ask is forgotten after it.
type memo[Q comparable, A any] struct{ last, now map[Q]A }

// turn turns to the next cycle.
func (m *memo[Q, A]) turn() { m.last, m.now = m.now, nil }

// forget forgets all answers.
func (m *memo[Q, A]) forget() { m.last, m.now = nil, nil }

// known is the answer to the question, false when there is none.
func (m *memo[Q, A]) known(q Q) (A, bool) {
	a, ok := m.now[q]
	if !ok {
		if a, ok = m.last[q]; ok {
			m.learn(q, a)
		}
	}
	return a, ok
}

// learn notes an answer.
func (m *memo[Q, A]) learn(q Q, a A) {
	if m.now == nil {
		m.now = map[Q]A{}
	}
	m.now[q] = a
}
