package resp

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestACommandIsReadWhereverItIsSplit(t *testing.T) {
	first, second := Request("SET", "k", "a\r\n$1 b", ""), Request("GET", "ключ")
	sent := append(append([]byte{}, first...), second...)
	for cut := range first {
		args, size, err := ParseCommand(sent[:cut])
		require.NoError(t, err, "%q", sent[:cut])
		require.Zero(t, size, "%q", sent[:cut])
		require.Nil(t, args)
	}
	args, size, err := ParseCommand(sent)
	require.NoError(t, err)
	require.Equal(t, len(first), size)
	require.Equal(t, []string{"SET", "k", "a\r\n$1 b", ""}, Words(args))
	args, size, err = ParseCommand(sent[size:])
	require.NoError(t, err)
	require.Equal(t, len(second), size)
	require.Equal(t, []string{"GET", "ключ"}, Words(args))
}

func TestWhatIsNoCommandAndNoReplyIsRefused(t *testing.T) {
	for _, sent := range []string{
		"PING\r\n", "\r\n", "\n", "x\n", "+OK\r\n", "*0\r\n", "*-1\r\n", "*x\r\n", "*1x\r\n", "*1\r\n:1\r\n",
		"*1\r\n\r\n", "*1\r\n$-2\r\n",
		"*99999999999999999999\r\n", "*1\r\n$99999999999999999999\r\n",
	} {
		_, size, err := ParseCommand([]byte(sent))
		require.ErrorIs(t, err, ErrProtocol, "%q", sent)
		require.Zero(t, size, "%q", sent)
	}
	for _, reply := range []string{"OK\r\n", "\r\n", "\n", "x\n", "$x\r\n", "$-2\r\n", "*1\r\nOK\r\n", "*-\r\n",
		"%x\r\n", "$99999999999999999999\r\n"} {
		size, err := ReplySize([]byte(reply))
		require.ErrorIs(t, err, ErrProtocol, "%q", reply)
		require.Zero(t, size, "%q", reply)
	}
}

func TestReplies(t *testing.T) {
	for _, c := range []struct{ reply, text string }{
		{"+OK\r\n", "OK"},
		{"-ERR no\r\n", "(error) ERR no"},
		{":-7\r\n", "-7"},
		{"$5\r\nhello\r\n", "hello"},
		{"$0\r\n\r\n", ""},
		{"$4\r\na\r\nb\r\n", "a  b"},
		{"$-1\r\n", "(nil)"},
		{"*-1\r\n", "(nil)"},
		{"*0\r\n", "[]"},
		{"*3\r\n:1\r\n$-1\r\n*2\r\n+a\r\n*1\r\n$1\r\nb\r\n", "[1, (nil), [a, [b]]]"},
		// RESP3
		{"_\r\n", "(nil)"},
		{",1.5\r\n", "1.5"},
		{"#t\r\n", "t"},
		{"(12345678901234567890\r\n", "12345678901234567890"},
		{"=7\r\ntxt:abc\r\n", "txt:abc"},
		{"!5\r\nERR x\r\n", "ERR x"},
		{"%2\r\n+a\r\n:1\r\n+b\r\n_\r\n", "[a, 1, b, (nil)]"},
		{"~2\r\n:1\r\n:2\r\n", "[1, 2]"},
		{">2\r\n+pub\r\n+x\r\n", "[pub, x]"},
	} {
		for cut := range len(c.reply) {
			size, err := ReplySize([]byte(c.reply[:cut]))
			require.NoError(t, err, "%q", c.reply[:cut])
			require.Zero(t, size, "%q", c.reply[:cut])
		}
		size, err := ReplySize([]byte(c.reply + "+next\r\n"))
		require.NoError(t, err)
		require.Equal(t, len(c.reply), size, "%q", c.reply)
		require.Equal(t, c.text, ReplyText([]byte(c.reply+"+next\r\n")), "%q", c.reply)
	}
}

func TestALongReplyIsClipped(t *testing.T) {
	long := "$600\r\n" + strings.Repeat("я", 300) + "\r\n"
	text := ReplyText([]byte(long))
	require.LessOrEqual(t, len(text), maxReply+len("…"))
	require.Contains(t, text, "я…я")
	require.NotContains(t, text, "\uFFFD")
}

func TestIntegers(t *testing.T) {
	n, err := Integer([]byte(":-12\r\n"))
	require.NoError(t, err)
	require.EqualValues(t, -12, n)
	_, err = Integer([]byte("-ERR no\r\n"))
	require.ErrorContains(t, err, `"(error) ERR no", not an integer`)
	_, err = Integer(nil)
	require.Error(t, err)
}

// FuzzWire reads bytes as a reply and as a command.
func FuzzWire(f *testing.F) {
	for _, seed := range []string{
		"", "\r\n", "\n", "x\n", "+OK\r\n", "$3\r\nabc\r\n", "$-1\r\n", "*2\r\n:1\r\n*-1\r\n",
		"%1\r\n+a\r\n_\r\n", "%-1\r\n",
		"*9999999999\r\n", "$9999999999\r\nx", ">1\r\n,1\r\n", "*1\r\n*1\r\n*1\r\n*1\r\n#t\r\n",
		"!3\r\nERR\r\n", "PING\r\n",
		"*1\r\n$4\r\nPING\r\n", "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*1\r\n", "*0\r\n", "*1\r\n$-1\r\n",
		"*1\r\n$9999999999\r\nx",
		"*2\r\n$0\r\n\r\n$2\r\n\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		size, err := ReplySize(b)
		require.True(t, size == 0 || err == nil && 0 < size && size <= len(b), "%d of %d bytes, %v", size, len(b), err)
		if size > 0 {
			ReplyText(b[:size])
			again, err := ReplySize(b[:size])
			require.NoError(t, err)
			require.Equal(t, size, again, "nothing follows them")
			again, err = ReplySize(b[:size-1])
			require.NoError(t, err)
			require.Zero(t, again, "the last is missing")
		}
		args, size, err := ParseCommand(b)
		require.True(t, size == 0 || err == nil && 0 < size && size <= len(b), "%d of %d bytes, %v", size, len(b), err)
		if size > 0 {
			again, n, err := ParseCommand(Request(Words(args)...))
			require.NoError(t, err)
			require.NotZero(t, n)
			require.Equal(t, Words(args), Words(again))
		}
	})
}
