package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/nemesis"
	"github.com/doublegrant/doublegrant/workloads"
)

// listing is what list prints as JSON.
type listing struct {
	Variants []variantInfo      `json:"variants"`
	Nemeses  []plan.Nemesis     `json:"nemeses"`
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
		Use:   "list",
		Short: "list variants with their known flaws, nemeses and regimes",
		Args:  exactly(0, "none"),
		RunE: func(*cobra.Command, []string) error {
			l := listing{Nemeses: plan.Nemeses(), Regimes: workloads.Regimes()}
			for _, v := range workloads.Catalogue() {
				l.Variants = append(l.Variants, variantInfo{v.ID, v.Doc, v.Source, v.Claim, v.Flaws})
			}
			if a.json {
				return a.printJSON(l)
			}
			a.printListing(l)
			return nil
		},
	}
}

func (a *app) printListing(l listing) {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "VARIANT\tCLAIM\tSOURCE\tHOW")
	for _, v := range l.Variants {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", v.ID, v.Claim, v.Source, v.Doc)
	}
	fmt.Fprintln(w, "\nVARIANT\tKNOWN FLAW\tWHEN\t")
	for _, v := range l.Variants {
		for _, f := range v.Flaws {
			fmt.Fprintf(w, "%s\t%s\t%s\t\n", v.ID, f.Class, f.When)
		}
	}
	_ = w.Flush() // to standard output
	a.printFaults(l.Nemeses)
	a.println("\nREGIMES\n%v", l.Regimes)
}

// printFaults lists faults under the headings of their groups.
func (a *app) printFaults(all []plan.Nemesis) {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	group := ""
	for _, n := range all {
		if n.Group != group {
			group = n.Group
			fmt.Fprintf(w, "\nFAULTS: %s\tPARAMETERS\tWHAT IT DOES\n", group)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", n.Name, dash(strings.Join(n.Parameters, " ")), n.Doc)
	}
	_ = w.Flush() // to standard output
	for _, word := range nemesis.WordsInNames() {
		a.println("\n%s: %s", word.Name, word.Doc)
		for _, v := range word.Values {
			a.println("  %-20s %s", v[0], v[1])
		}
	}
}
