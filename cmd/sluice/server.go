package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/reason"
)

// askServer lets a running sluice answer.
func askServer(ctx context.Context, server string, about reason.Ref) (report.Explanation, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var x report.Explanation
	address, err := url.Parse(server)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return x, fmt.Errorf("--server=%s: give an address such as http://127.0.0.1:8085", server)
	}
	address = address.JoinPath("api/v1/explain")
	address.RawQuery = url.Values{"kind": {string(about.Kind)}, "name": {about.Name}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return x, fmt.Errorf("--server=%s: %w", server, err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		var cause *url.Error
		if errors.As(err, &cause) {
			err = cause.Err // it names the address again
		}
		return x, fmt.Errorf("--server=%s: %w; is sluice run there, with --address?", server, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return x, fmt.Errorf("--server=%s: read the answer: %w", server, err)
	}
	if resp.StatusCode != http.StatusOK {
		var problem struct{ Error string }
		if json.Unmarshal(body, &problem) == nil && problem.Error != "" {
			return x, errors.New(problem.Error)
		}
		return x, fmt.Errorf("--server=%s answers %s; is it sluice?", server, resp.Status)
	}
	if json.Unmarshal(body, &x) != nil || x.Subject.Kind != about.Kind {
		return x, fmt.Errorf("--server=%s answers something else than an explanation; is it sluice?", server)
	}
	return x, nil
}
