package suite

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Encode returns the suite as text for Decode. It includes the texts of scripts, so that another machine needs no other
// file.
func (s Suite) Encode() ([]byte, error) {
	file := struct {
		Name  string       `yaml:"name"`
		About string       `yaml:"about,omitempty"`
		Runs  []*yaml.Node `yaml:"runs"`
	}{Name: s.Name, About: s.About}
	for _, r := range s.Runs {
		n, err := r.node()
		if err != nil {
			return nil, fmt.Errorf("suite: %w", err)
		}
		file.Runs = append(file.Runs, n)
	}
	return yaml.Marshal(file)
}

// node returns the run as it would stand in a file. It leaves zeros out, since a file must not give zero to a field
// whose zero stands for a default.
func (r Entry) node() (*yaml.Node, error) {
	r.Plan = r.Plan.WithoutFiles()
	var n yaml.Node
	if err := n.Encode(r); err != nil {
		return nil, err
	}
	var kept []*yaml.Node
	for i := 0; i < len(n.Content); i += 2 {
		if v := n.Content[i+1]; v.Kind != yaml.ScalarNode || v.Value != "0" && v.Value != "0s" && v.Value != "" {
			kept = append(kept, n.Content[i], v)
		}
	}
	n.Content = kept
	return &n, nil
}

// Decode reads what Encode returned, as strictly as a file. It opens no file: a script that names one is an error. The
// error wraps plan.ErrUsage.
func Decode(text []byte) (Suite, error) {
	return read("suite", text, func(r *Entry) error {
		if r.Script != nil && (r.Script.File != "" || r.Script.ReleaseFile != "") {
			return r.errorf("script", "it names a file, but a suite read as text has no files: give the script's "+
				"text as source")
		}
		return nil
	})
}
