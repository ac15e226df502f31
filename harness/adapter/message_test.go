package adapter

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A program may write a number as a JSON number or as a string of decimal digits. Only the string may have leading
// zeros.
func TestNumbersAsProgramsWriteThem(t *testing.T) {
	for line, want := range map[string]string{
		`{"id":1,"ok":true,"number":7}`: "7", `{"id":1,"ok":true,"number":"007"}`: "007",
		`{"id":1,"ok":true,"number":"-0"}`:                 "-0",
		`{"id":1,"ok":true,"number":18446744073709551617}`: "18446744073709551617",
		`{"id":1,"ok":true,"number":null}`:                 "", `{"id":1,"ok":true}`: "",
	} {
		a, err := parse([]byte(line))
		require.NoError(t, err, line)
		require.EqualValues(t, want, a.Number, line)
	}
	for line, want := range map[string]string{
		`{"id":1,"ok":true,"number":007}`: "it drew the number 007, and JSON has none with zeros before it: leave " +
			"them out, or put it in quotes, see",
		`{"id":1,"ok":true,"number": -01}`: "it drew the number -01, and JSON has none",
		`{"id":1,"ok":true,"number":7.0}`: "the number that it drew: want a whole number in decimal " +
			"digits: 7.0, see",
		`{"id":1,"ok":true,"number":"0x7"}`:  `want a whole number in decimal digits: "0x7", see`,
		`{"id":1,"ok":true,"number":" 7"}`:   "want a whole number",
		`{"id":1,"ok":true,"number":""}`:     "want a whole number",
		`{"id":1,"ok":true,"number":true}`:   "want a whole number",
		`{"id":1,"ok":tru,"number":"007"}`:   "which is not a line of the protocol",
		`{"id":1,"ok":true,"number":"007"},`: "which is not a line of the protocol",
	} {
		_, err := parse([]byte(line))
		require.ErrorContains(t, err, want, line)
		require.NotContains(t, err.Error(), "\n")
	}
}
