package sqlitestore_test

import (
	"context"
	"testing"
	"time"

	"postino/shared/embedded/sqlitedb"
	"postino/shared/embedded/sqlitestore"
	"postino/shared/push"
)

func TestReleasedClaimsCanBeTakenAtOnceAndKeepTheirHistory(t *testing.T) {
	ctx := context.Background()
	db, err := sqlitedb.Open(sqlitedb.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s, err := sqlitestore.Open(ctx, db)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	key := push.DeliveryKey{Subscription: "arn:aws:sns:us-east-1:0:t:1b2c", MessageID: "m"}
	first := push.Delivery{Key: key, Attempt: 1, State: push.Finished, UpdatedAt: now, CreatedAt: now, Expires: now.Add(time.Hour),
		Attempts: []push.Attempt{{Number: 1, Class: push.Retryable}}}
	if _, ok, err := s.Create(ctx, first); !ok || err != nil {
		t.Fatal(ok, err)
	}
	claim := push.Delivery{Key: key, Attempt: 2, Owner: "dead process", LeaseEnd: now.Add(time.Minute), UpdatedAt: now, Expires: now.Add(time.Hour)}
	if _, ok, err := s.Claim(ctx, claim, now); !ok || err != nil {
		t.Fatal(ok, err)
	}
	claim.Owner = "new process"
	if _, ok, _ := s.Claim(ctx, claim, now); ok {
		t.Fatal("a live lease was taken")
	}
	if err := s.ReleaseClaims(ctx); err != nil {
		t.Fatal(err)
	}
	got, ok, err := s.Claim(ctx, claim, now)
	if !ok || err != nil || got.Owner != "new process" || len(got.Attempts) != 1 {
		t.Errorf("after the release: %+v, %v, %v", got, ok, err)
	}
}
