package cli

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/suggest"
	"github.com/doublegrant/doublegrant/harness/texttable"
	"github.com/doublegrant/doublegrant/nemesis"
	"github.com/doublegrant/doublegrant/reports"
	"github.com/doublegrant/doublegrant/workloads"
)

// listing is the JSON output of the command list.
type listing struct {
	reports.Head
	Variants []variantInfo      `json:"variants"`
	Faults   []plan.FaultDoc    `json:"faults"`
	Regimes  []workloads.Regime `json:"regimes"`
}

type variantInfo struct {
	ID     string           `json:"id"`
	Doc    string           `json:"doc"`
	Source string           `json:"source"`
	Claim  workloads.Claim  `json:"claim"`
	Flaws  []workloads.Flaw `json:"flaws"`
}

func (a *app) listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list [NAME...]",
		Short: "list variants with their known flaws, faults and regimes; NAME selects those whose names begin with it",
		Example: "  doublegrant list\n" +
			"  doublegrant list variants\n" +
			"  doublegrant list lock/set-nx-px   # variants whose names begin with it, and their flaws\n" +
			"  doublegrant list faults\n" +
			"  doublegrant list kill regimes",
		RunE: func(_ *cobra.Command, args []string) error {
			l, err := wholeListing().choose(args)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(l)
			}
			return a.printListing(l)
		},
	}
}

func wholeListing() listing {
	l := listing{Head: reports.HeadOf("catalogue"), Faults: plan.FaultDocs(), Regimes: workloads.Regimes()}
	for _, v := range workloads.Catalogue() {
		l.Variants = append(l.Variants, variantInfo{v.ID, v.Doc, v.Source, v.Claim, v.Flaws})
	}
	return l
}

// Words for whole parts of the listing.
const (
	allVariants = "variants"
	allFaults   = "faults"
	allRegimes  = "regimes"
)

// choose returns what the words name: a part of the listing, or all entries whose names begin with a word. Without
// words it returns everything.
func (l listing) choose(words []string) (out listing, err error) {
	if len(words) == 0 {
		return l, nil
	}
	for _, word := range words {
		known := slices.ContainsFunc(l.names(), func(name string) bool { return l.means(word, name) })
		if !known && !slices.Contains([]string{allVariants, allFaults, allRegimes}, word) {
			if isBug(word) {
				return out, usage("bugs of libraries are not among the variants: doublegrant bugs lists them")
			}
			meant := suggest.Question("", word, append(l.names(), allVariants, allFaults, allRegimes))
			return out, usage("no variant, fault or regime has a name that begins with %q: %s", word,
				cmp.Or(meant, "doublegrant list shows them all"))
		}
	}
	out.Head = l.Head
	for _, v := range l.Variants {
		if l.chooses(words, v.ID, allVariants) {
			out.Variants = append(out.Variants, v)
		}
	}
	for _, n := range l.Faults {
		if l.chooses(words, n.Name, allFaults) {
			out.Faults = append(out.Faults, n)
		}
	}
	for _, r := range l.Regimes {
		if l.chooses(words, string(r), allRegimes) {
			out.Regimes = append(out.Regimes, r)
		}
	}
	return out, nil
}

// chooses reports whether one of the words selects the entry with the given name. The argument part is the word for all
// entries of its kind, such as faults.
func (l listing) chooses(words []string, name, part string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return w == part || l.means(w, name) })
}

// means reports whether the word selects the entry with the given name. A word that is the whole name of some entry
// selects this entry alone. Any other word selects all entries whose names begin with it. In addition, a name such as
// kill-primary selects the fault kill-HOST, since users put another word in the place of the capitals.
func (l listing) means(word, name string) bool {
	if slices.Contains(l.names(), word) {
		return word == name
	}
	if i := strings.IndexFunc(name, unicode.IsUpper); i > 0 && strings.HasPrefix(word, name[:i]) {
		return true
	}
	return strings.HasPrefix(name, word)
}

func (l listing) names() (all []string) {
	for _, v := range l.Variants {
		all = append(all, v.ID)
	}
	for _, n := range l.Faults {
		all = append(all, n.Name)
	}
	for _, r := range l.Regimes {
		all = append(all, string(r))
	}
	return all
}

func (a *app) printListing(l listing) error {
	if len(l.Variants) > 0 {
		if err := a.printVariants(l.Variants); err != nil {
			return err
		}
	}
	if len(l.Faults) > 0 {
		if err := a.printFaults(l.Faults); err != nil {
			return err
		}
	}
	if len(l.Regimes) == 0 {
		return nil
	}
	var t texttable.Table
	t.Add("REGIME", "WHAT CALLERS OF A SEQUENCE PROPOSE")
	for _, r := range l.Regimes {
		t.Add(string(r), r.Doc())
	}
	a.println("")
	return a.write(&t)
}

func (a *app) printVariants(all []variantInfo) error {
	var variants, flaws texttable.Table
	variants.Add("VARIANT", "CLAIM", "SOURCE", "HOW")
	flaws.Add("VARIANT", "KNOWN FLAW", "WHEN")
	for _, v := range all {
		variants.Add(v.ID, string(v.Claim), v.Source, v.Doc)
		for _, f := range v.Flaws {
			flaws.Add(v.ID, string(f.Class), string(f.When))
		}
	}
	if err := a.write(&variants); err != nil {
		return err
	}
	a.println("")
	return a.write(&flaws)
}

// printFaults prints faults under the headings of their groups, and explains the words in capitals.
func (a *app) printFaults(all []plan.FaultDoc) error {
	var t texttable.Table
	group := ""
	for _, n := range all {
		if n.Group != group {
			group = n.Group
			t.Add("")
			t.Add("FAULTS: "+group, "PARAMETERS", "WHAT IT DOES")
		}
		t.Add(n.Name, orDash(strings.Join(n.Parameters, " ")), n.Doc)
	}
	if err := a.write(&t); err != nil {
		return err
	}
	for _, word := range nemesis.WordsInNames() {
		if !slices.ContainsFunc(all, func(n plan.FaultDoc) bool { return nameHasWord(n, word.Name) }) {
			continue
		}
		var values texttable.Table
		for _, v := range word.Values {
			values.Add("  "+v[0], v[1])
		}
		a.println("")
		for _, line := range texttable.Wrap(word.Name+": "+word.Doc, texttable.Width(a.terminal)) {
			a.println("%s", line)
		}
		if err := a.write(&values); err != nil {
			return err
		}
	}
	return nil
}

// nameHasWord reports whether a word in capitals, such as HOST, is in the fault's name, or is the name of one of its
// parameters.
func nameHasWord(n plan.FaultDoc, word string) bool {
	return strings.Contains(n.Name, word) || slices.ContainsFunc(n.Parameters, func(p string) bool {
		name, _, _ := strings.Cut(p, "=")
		return strings.EqualFold(name, word)
	})
}

// write prints a table that fits the terminal's width.
func (a *app) write(t *texttable.Table) error { return t.Write(a.out, texttable.Width(a.terminal)) }
