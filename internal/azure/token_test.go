package azure

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

func TestAFederatedTokenIsReadEachTime(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	read := tokenIn(file)
	if _, err := read(context.Background()); err == nil || !strings.Contains(err.Error(), "AZURE_FEDERATED_TOKEN_FILE="+file+": it cannot be read (no such file or directory)") {
		t.Errorf("without a file: %v", err)
	}
	for _, want := range []string{"first", "second"} {
		if err := os.WriteFile(file, []byte(want+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := read(context.Background()); got != want || err != nil {
			t.Errorf("token %q, %v, want %q", got, err, want)
		}
	}
}

// counting gives tokens numbered from a.
type counting struct{ n int }

func (c *counting) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	c.n++
	return azcore.AccessToken{Token: string(rune('a' + c.n - 1)), ExpiresOn: time.Now().Add(time.Hour)}, nil
}

func TestPipelinesShareATokenUntilOneIsRefusedIt(t *testing.T) {
	from := &counting{}
	store := &tokens{from: from}
	one, two := &pipelineTokens{tokens: store}, &pipelineTokens{tokens: store}
	for _, step := range []struct {
		who  *pipelineTokens
		want string
		why  string
	}{
		{one, "a", "the first asks"},
		{two, "a", "the second gets the same"},
		{one, "b", "one that asks again was refused what it had"},
		{two, "b", "and the other gets the new one"},
	} {
		got, err := step.who.GetToken(context.Background(), policy.TokenRequestOptions{})
		if err != nil || got.Token != step.want {
			t.Errorf("%s: token %q, %v, want %q", step.why, got.Token, err, step.want)
		}
	}
	if from.n != 2 {
		t.Errorf("%d tokens were asked for, want 2", from.n)
	}
}
