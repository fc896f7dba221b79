package host

import (
	"bytes"
	"io"
	"sync"
)

// mostConsole is how much of a machine's console is kept. Azure keeps a megabyte.
const mostConsole = 1 << 20

// console keeps the end of what a machine writes to its serial console.
type console struct {
	mu   sync.Mutex
	kept []byte
}

// read reads a console until it ends.
func (c *console) read(from io.Reader) {
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		c.write(buffer[:n])
		if err != nil {
			return
		}
	}
}

func (c *console) write(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = append(c.kept, bytes.ReplaceAll(p, []byte("\r"), nil)...)
	if over := len(c.kept) - mostConsole; over > 0 {
		if n := bytes.IndexByte(c.kept[over:], '\n'); n >= 0 { // whole lines
			over += n + 1
		}
		c.kept = append([]byte(nil), c.kept[over:]...)
	}
}

func (c *console) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.kept)
}
