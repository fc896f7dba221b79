package reason

import "time"

// Ends says what ends a wait for this reason: when, where its facts tell a time, and what happens then, in one clause without a full stop.
// Without a time the clause is the event that is waited for. Both are zero for a reason that describes and is no wait. Now is when the
// reason was given.
func (r Reason) Ends(now time.Time) (at time.Time, what string) {
	template := rows[r.Code].ends
	if template == "" && r.Property() != "" { // it knows its time where it tells one
		return r.due(now), r.Remedy()
	}
	if template == "" {
		return time.Time{}, r.Remedy()
	}
	return r.due(now), r.fill(template)
}

// EndsAt is the time of [Reason.Ends] alone.
func (r Reason) EndsAt(now time.Time) time.Time {
	if rows[r.Code].ends == "" && r.Property() == "" {
		return time.Time{}
	}
	return r.due(now)
}

// due is the time that the facts tell: a time of day, or a duration of which a part is over. Zero when they tell none that is to come.
func (r Reason) due(now time.Time) time.Time {
	if at, err := time.Parse(time.RFC3339, r.Facts["until"]); err == nil && at.After(now) {
		return at
	}
	if wait, err := time.ParseDuration(r.Facts["wait"]); err == nil && wait > 0 {
		return now.Add(wait)
	}
	for _, pair := range [][2]string{{"age", "limit"}, {"idle", "limit"}, {"age", "delay"}} {
		over, err := time.ParseDuration(r.Facts[pair[0]])
		if limit, no := time.ParseDuration(r.Facts[pair[1]]); err == nil && no == nil && limit > over {
			return now.Add(limit - over)
		}
	}
	return time.Time{}
}
