package fabric

import (
	"fmt"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/await"
)

// Impair puts a link fault on all links at the same time, so a link that is stuck does not delay the others. heal
// removes the fault, may be called more than once, and is never nil. Several faults on one link all act until each is
// healed.
//
// If the fault is not valid, Impair returns an error and does nothing. A valid Withhold or Refuse does not fail. All
// other faults are toxics of toxiproxy, and can fail. If a fault fails on several links, Impair returns the first
// error.
//
// The error is ErrStuck for a link whose connections cannot take the toxic because the far side does not read. The
// link's connections were then reset.
func Impair(links []*Link, f harness.LinkFault) (heal func() error, err error) {
	if err := f.Validate(); err != nil {
		return func() error { return nil }, err
	}
	heals := make([]func() error, len(links))
	err = firstError(await.All(len(links), func(i int) (err error) {
		heals[i], err = links[i].impair(f)
		return err
	}))
	return func() error { return firstError(await.All(len(heals), func(i int) error { return heals[i]() })) }, err
}

// impair puts a valid link fault on one link.
func (l *Link) impair(f harness.LinkFault) (heal func() error, err error) {
	switch f.Kind {
	case harness.LinkWithhold:
		return cannotFail(l.Withhold()), nil
	case harness.LinkRefuse:
		return cannotFail(l.Refuse()), nil
	}
	t, err := toxicOf(f)
	if err != nil {
		return cannotFail(func() {}), err
	}
	return l.put(t)
}

func cannotFail(heal func()) func() error {
	return func() error { heal(); return nil }
}

// firstError returns the first of the links' errors, with the number of the others.
func firstError(errs []error) (err error) {
	more := -1
	for _, e := range errs {
		if e == nil {
			continue
		}
		if more++; more == 0 {
			err = e
		}
	}
	if more > 0 {
		return fmt.Errorf("%w; and %d more links", err, more)
	}
	return err
}
