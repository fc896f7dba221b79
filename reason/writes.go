package reason

// What became of a write.
const (
	WriteRefused Code = "WriteRefused"
	WriteFailed  Code = "WriteFailed"
)

var writes = table{
	WriteRefused: {says: "{why}"},
	WriteFailed:  {says: "{action}: {message}"},
}
