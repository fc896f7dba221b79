package azure

import (
	"fmt"
	"io"
	"net/http"
)

// maxAnswer is more than Azure's longest answer, the list of all sizes of a region, several times over. Lists of machines come in pages.
const maxAnswer = 64 << 20

// bounded cuts answers that are longer than maxAnswer after they are unpacked, so that nobody who answers in Azure's place, and no fault of it, can
// fill this process's memory.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper]. Reading too long a body ends with a [tooLongError].
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(r)
	if err != nil {
		return resp, err
	}
	tooLong := &tooLongError{host: r.URL.Host}
	if resp.ContentLength > maxAnswer {
		resp.Body.Close() // nothing of it is wanted
		return nil, tooLong
	}
	resp.Body = &boundedBody{ReadCloser: resp.Body, left: maxAnswer, tooLong: tooLong}
	return resp, nil
}

// tooLongError says who answered too much.
type tooLongError struct{ host string }

func (e *tooLongError) Error() string {
	return fmt.Sprintf("%s answers with more than %d MB, which no answer of Azure's is: see to what answers under that name", e.host, maxAnswer>>20)
}

// boundedBody is a body of which no more than left bytes are read.
type boundedBody struct {
	io.ReadCloser
	left    int
	tooLong *tooLongError
}

// Read implements [io.Reader].
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, b.tooLong
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)]) // one more than allowed tells an answer of just that length from a longer one
	if b.left -= n; b.left < 0 {
		return 0, b.tooLong
	}
	return n, err
}
