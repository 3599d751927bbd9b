package eventsource

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"postino/shared/pipeline"
)

func TestNothingIsReceivedWhileTooManyBytesAreInHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Source{}
		var held atomic.Int64
		held.Store(heldMost - 1)
		if !s.roomFor(t.Context(), &held) {
			t.Error("there was room")
		}
		held.Store(heldMost)
		polling, stop := context.WithCancel(t.Context())
		answered := make(chan bool, 1)
		go func() { answered <- s.roomFor(polling, &held) }()
		synctest.Wait()
		select {
		case <-answered:
			t.Fatal("it went on with too much in hand")
		default:
		}
		held.Store(0)
		if !<-answered {
			t.Error("it did not go on when there was room again")
		}
		held.Store(heldMost)
		stop()
		if s.roomFor(polling, &held) {
			t.Error("it goes on although polling has ended")
		}
	})
}

func TestWhatABatchWeighsIsItsBodies(t *testing.T) {
	if n := bytesOf([]pipeline.Incoming{{Body: "12345"}, {Body: "678"}}); n != 8 {
		t.Errorf("%d bytes", n)
	}
}
