package azuresim

import "maps"

// Models are kept as JSON decodes them: objects, lists, strings, float64 and bool.

// dig follows a path of names into a JSON document; nil when a step of it is
// missing.
func dig(v any, path ...string) any {
	for _, step := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[step]
	}
	return v
}

// text reads a string in a JSON document; "" when a step of the path is missing.
func text(v any, path ...string) string {
	t, _ := dig(v, path...).(string)
	return t
}

// asMap is v, or an empty map when v is not one.
func asMap(v any) map[string]any {
	if m, ok := v.(map[string]any); ok {
		return m
	}
	return map[string]any{}
}

// texts are the strings in a JSON list; what is not a string is left out.
func texts(list any) []string {
	items, _ := list.([]any)
	var out []string
	for _, item := range items {
		if text, ok := item.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// list is a JSON list of strings.
func list(texts []string) []any {
	out := make([]any, len(texts))
	for n, text := range texts {
		out[n] = text
	}
	return out
}

// textMap is a JSON object of strings, such as tags.
func textMap(v any) map[string]string {
	out := map[string]string{}
	for k, item := range asMap(v) {
		out[k], _ = item.(string)
	}
	return out
}

// anyMap is a JSON object of strings.
func anyMap(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

// first is the first item of a JSON list, nil when there is none.
func first(v any) any {
	if items, _ := v.([]any); len(items) > 0 {
		return items[0]
	}
	return nil
}

// merge is a deep merge: objects are merged, everything else is replaced, null
// removes nothing. Neither argument is changed.
func merge(into, from map[string]any) map[string]any {
	out := make(map[string]any, len(into))
	maps.Copy(out, into)
	for k, v := range from {
		switch v := v.(type) {
		case nil:
		case map[string]any:
			out[k] = merge(asMap(out[k]), v)
		default:
			out[k] = v
		}
	}
	return out
}

// withoutSecrets is a deep copy of v without what Azure stores and never returns.
func withoutSecrets(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			if k != "customData" && k != "adminPassword" && k != "userData" && k != "protectedSettings" {
				out[k] = withoutSecrets(item)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for n, item := range v {
			out[n] = withoutSecrets(item)
		}
		return out
	}
	return v
}

// cloneObject is a deep copy of a JSON object; nil for nil.
func cloneObject(from map[string]any) map[string]any {
	if from == nil {
		return nil
	}
	return cloneJSON(from).(map[string]any)
}

// cloneJSON is a deep copy of a JSON document.
func cloneJSON(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			out[k] = cloneJSON(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for n, item := range v {
			out[n] = cloneJSON(item)
		}
		return out
	}
	return v
}
