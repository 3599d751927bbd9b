package sqlitestore

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"postino/shared/access"
	"postino/shared/conformance"
	"postino/shared/embedded/sqlitedb"
	"postino/shared/operator"
	"postino/shared/pipeline"
	"postino/shared/push"
	"postino/shared/snsapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var _ operator.Deliveries = (*Store)(nil)

// fixture is a store that a test can close and open again.
type fixture struct {
	*Store
	dir string
	db  *sqlitedb.DB
}

func (f *fixture) open(t *testing.T) {
	t.Helper()
	var err error
	if f.db, err = sqlitedb.Open(sqlitedb.Options{Dir: f.dir}); err != nil {
		t.Fatal(err)
	}
	if f.Store, err = Open(t.Context(), f.db); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) close(t *testing.T) {
	t.Helper()
	if err := f.db.Close(); err != nil {
		t.Error(err)
	}
}

func (f *fixture) reopen(t *testing.T) {
	t.Helper()
	f.close(t)
	f.open(t)
}

func fresh(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{dir: t.TempDir()}
	f.open(t)
	t.Cleanup(func() { f.close(t) })
	return f
}

// harness runs a suite on the store as port P.
func harness[P any](as func(*fixture) P) conformance.Harness[P] {
	return conformance.Harness[P]{
		Run:  synctest.Test,
		Late: time.Millisecond,
		Open: func(t *testing.T) P { return as(fresh(t)) },
		Reopen: func(t *testing.T, p P) P {
			f := any(p).(*fixture)
			f.reopen(t)
			return as(f)
		},
	}
}

func TestKeysConform(t *testing.T) {
	conformance.ExerciseKeys(t, harness(func(f *fixture) access.Store { return f }))
}

func TestDirectoryConforms(t *testing.T) {
	conformance.ExerciseDirectory(t, harness(func(f *fixture) snsapi.Directory { return f }))
}

func TestDeliveriesConform(t *testing.T) {
	conformance.ExerciseDeliveries(t, harness(func(f *fixture) pipeline.Deliveries { return f }))
}

func TestSlotsConform(t *testing.T) {
	conformance.ExerciseSlots(t, harness(func(f *fixture) pipeline.Slots { return f }))
}

// delivery gives the record of key, and whether there is one.
func (f *fixture) delivery(ctx context.Context, key push.DeliveryKey) (d push.Delivery, found bool, err error) {
	err = f.db.Read(ctx, func(tx *sqlitedb.Tx) error {
		_, kept, err := readDelivery(tx, key)
		if found = kept != nil; found {
			d = *kept
		}
		return err
	})
	return d, found, err
}
